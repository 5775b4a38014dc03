/*
 * shared_job.h
 *		A job, as several connections work on it: one began it, others may help to feed it, and fetch, too.
 *
 *		feeding ──take_ranks──► ranking ──perform──► sorting ──► sorted
 *		   │                       │                    │           │
 *		   └───────────────────────┴────────────────────┴───────────┴──fail, end──► over
 *
 * Without ranks a job goes from feeding to sorting.
 *
 * While chunks come, several threads may call the device's job at the same time.  A thread that changes the
 * state first prevents new calls, and then waits for the calls under way.  Therefore no thread holds a lock
 * while a device works, and the device's job is never destroyed during a call.
 *
 * A job whose connections have been idle for a while can give back memory of the device.  While it is being
 * fed, it gives back the unused part of its promise.  When it is sorted, it gives back all memory, because
 * the result is copied to host memory.
 */
#ifndef GPUSORTD_SHARED_JOB_H
#define GPUSORTD_SHARED_JOB_H

#include <chrono>
#include <condition_variable>
#include <functional>

#include "daemon/device/host_result.h"
#include "daemon/server/gate.h"
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
	Outcome take_ranks(const RankPiece &piece);
	Outcome perform(GpusortdSorted *sorted);
	Outcome start_fetch(uint64_t position, bool backward, uint8_t *target, Window *window);
	Outcome finish_fetch(uint64_t ticket);

	/* Of the result; 0 until the job is sorted. */
	uint64_t rows();

	/*
	 * Only for the connection that began the job. spare: the bytes of the promise that the job could give
	 * back because it was not used for `unused_for`.  give_back: gives them back.  A result is copied window
	 * by window until a call interrupts it; copied windows need not be copied again.
	 */
	uint64_t spare(std::chrono::milliseconds unused_for, const IdleMemory &idle);
	Outcome give_back(std::chrono::milliseconds unused_for, IdleMemory *idle,
					  const std::function<bool()> &interrupted);

	/* The job's place at the gate; NULL: it never got one. */
	Admission *place() const
	{
		return admission.get();
	}

	/*
	 * Ends the job: it frees the device's memory now.  Later calls return the reason.  The first failure
	 * counts.
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
		ranking, /* no chunk comes any more */
		sorting,
		sorted,
		over
	};

	class Use;

	void go_on_to(State next);
	void end_with(const Outcome &outcome);
	void close(std::unique_lock<std::mutex> *lock);
	bool is_idle(std::chrono::milliseconds unused_for) const;
	void trim(std::chrono::milliseconds unused_for);
	Outcome set_aside(IdleMemory *idle, const std::function<bool()> &interrupted);

	std::mutex mutex;
	std::condition_variable unused;
	State state = State::feeding;
	int users = 0; /* calls under way */
	std::chrono::steady_clock::time_point last_used = std::chrono::steady_clock::now();
	Outcome failure;
	std::unique_ptr<Admission> admission;
	std::unique_ptr<DeviceJob> device_job;

	/* Of the sorted job, under the mutex. */
	uint64_t result_rows = 0;
	int fetches = 0; /* under way */

	/* For the sorted job.  Only the connection that began the job uses these fields, except in close. */
	uint64_t result_bytes = 0;
	std::unique_ptr<HostResult> aside; /* so far */
	IdleShare idle_share;			   /* that it takes, or will take */
	bool stays = false;				   /* on the device: there is no host memory for it */
};

#endif /* GPUSORTD_SHARED_JOB_H */
