/*
 * shared_job.h
 *		A job, as several connections work on it: one began it, others may help to feed it.
 *
 *		feeding ──perform──► sorting ──► sorted
 *		   └──────────────────┴───────────┴──fail, end──► over
 *
 * Calls go to the device's job beside each other while chunks come.  Who changes the state first keeps others
 * from beginning a call, then waits for those under way.  So nobody holds a lock while a device works, and
 * the device's job is never destroyed under somebody's hands.
 */
#ifndef GPUSORTD_SHARED_JOB_H
#define GPUSORTD_SHARED_JOB_H

#include <condition_variable>

#include "daemon/server/resources.h"

class SharedJob
{
public:
	/* Once admitted, and before anybody else knows of it. */
	Outcome begin(DeviceLayer *layer, const JobSize &expected, std::unique_ptr<Admission> its_admission);

	/* Fills in what JOB says of the job. */
	void describe(GpusortdJob *lent);

	/*
	 * What the device's job does; GPUSORTD_JOB_OVER if it is too late for that, or what the job has failed
	 * of.
	 */
	Outcome submit(const FilledChunk &chunk);
	Outcome perform(GpusortdSorted *sorted);
	Outcome start_fetch(uint64_t position, bool backward, uint8_t *target, Window *window);
	Outcome finish_fetch();

	/*
	 * The job is over; it lets go of the device's memory now, and tells why to whoever asks.  The first
	 * failure counts.
	 */
	void fail(const Outcome &outcome);

	/* The same, without a failure; what is left is the place at the gate, for the caller to leave. */
	std::unique_ptr<Admission> end();

	uint64_t id = 0;
	uint64_t token = 0;
	JobShape shape = {};

private:
	enum class State
	{
		feeding,
		sorting,
		sorted,
		over
	};

	class Use;

	void end_with(const Outcome &outcome);
	void close(std::unique_lock<std::mutex> *lock);

	std::mutex mutex;
	std::condition_variable unused;
	State state = State::feeding;
	int users = 0; /* calls under way */
	Outcome failure;
	std::unique_ptr<Admission> admission;
	std::unique_ptr<DeviceJob> device_job;
};

#endif /* GPUSORTD_SHARED_JOB_H */
