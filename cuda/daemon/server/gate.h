/*
 * gate.h
 *		Promises of the devices' memory and of chunk memory to jobs, and the queue of jobs that wait.
 *
 * Device memory is promised, not handed out.  The gate counts the promise of each job, and admits a job only
 * if memory is left for it.  The first job in the queue is admitted first, even if a later, smaller job would
 * already fit, so every job is admitted at some time.  A job goes to the device with the most memory left.
 *
 * The size of a job is an estimate, and may be any number.  Therefore a job that has sent no row is promised
 * at most a fourth of a device.  The promise is raised when rows come, if memory is left.
 *
 * A job rests if its client sends nothing, and tells the gate what it could give back.  If the head of the
 * queue, or a job that needs a larger promise, finds no room, the gate asks enough resting jobs; their
 * connections then give the memory back.  If resting jobs have all memory and cannot give it back, waiting is
 * useless, and the head of the queue is refused.
 *
 * A job therefore waits only for a job whose client is active, or for a copy that is being made.
 */
#ifndef GPUSORTD_GATE_H
#define GPUSORTD_GATE_H

#include <condition_variable>
#include <list>
#include <mutex>

#include "daemon/device/layer.h"

struct GateDevice
{
	DeviceDescription description;
	uint64_t limit;
	uint64_t promised;
	uint32_t jobs;
};

/* The bytes of device memory and the chunks of a job. */
struct Holding
{
	uint64_t bytes = 0;
	uint32_t chunks = 0;
};

class Gate;

/*
 * One job's place in the queue, and later its share.  Destroying it leaves the gate, in any state.  Its owner
 * calls it from one thread; the promise's functions and make_room may be called from several threads.
 */
class Admission : public MemoryPromise
{
public:
	~Admission() override;

	/*
	 * Becomes readable when the job is admitted or refused, and later when it is asked to give something
	 * back.
	 */
	int event_fd() const
	{
		return event;
	}

	bool waits() const;

	/* There is no job left for which waiting would make sense. */
	bool refused() const;

	/*
	 * After admission: the index of the device, its number, the lent chunks, the promised bytes.
	 */
	uint32_t device() const;
	int device_number() const;
	uint32_t chunks_lent() const;
	uint64_t bytes() const override;
	bool raise(uint64_t bytes) override;
	void lower(uint64_t bytes) override;

	/* Limits the promise to `bytes` bytes; 0: no limit. */
	void limit_to(uint64_t bytes);

	/*
	 * After a refused raise: asks resting jobs to make room, and waits a short time for that.  False: there
	 * will be no room.
	 */
	bool make_room();

	/* Jobs in the queue before this one. */
	uint64_t before() const;

	/*
	 * rest: the client sends nothing at the moment, and the job could give back `spare`. wanted: returns the
	 * part of it that other jobs need now or, if the job has rested for `long_enough`, may need soon.
	 */
	void rest(const Holding &spare);
	Holding wanted(bool long_enough);

	/* The job no longer rests, or has not given back the requested memory. */
	void wake();

	/* The promise, or the lent chunks, are free for other jobs from now on. */
	void leave_device();
	void leave_chunks();

private:
	friend class Gate;

	enum class Stand
	{
		waiting,
		admitted,
		refused
	};

	Admission(Gate *its_gate, int event_fd, uint64_t bytes, uint32_t its_chunks)
		: gate(its_gate), event(event_fd), share(bytes), chunks(its_chunks)
	{
	}

	void signal();

	Gate *gate;
	int event;
	Stand stand = Stand::waiting;
	uint64_t share;				 /* wanted bytes, later promised bytes */
	uint32_t chunks;			 /* chunks: wanted, later lent */
	uint64_t most = 0;			 /* maximum of the promise; 0: no limit */
	uint64_t raise_refused = 0;	 /* bytes of the last raise, which was refused */
	GateDevice *place = nullptr; /* once admitted */
	bool on_device = false;		 /* until leave_device */
	bool resting = false;
	Holding spare; /* the part that the job could give back and was not asked for yet */
	Holding asked;
};

class Gate
{
public:
	Gate(std::vector<GateDevice> all_devices, uint32_t chunks);

	/*
	 * Takes a place at the end of the queue. bytes: the expected memory of the job. least: the least memory
	 * with which it can begin. most: its limit.  NULL: no files are left.
	 */
	std::unique_ptr<Admission> enter(uint64_t bytes, uint64_t least, uint64_t most, uint32_t chunks);

	/*
	 * Takes chunk memory for a connection that helps an admitted job.  It never waits, and fails if a job in
	 * the queue waits for chunk memory.
	 */
	bool take_chunks(uint32_t chunks);
	void release_chunks(uint32_t chunks);

	std::vector<GateDevice> describe();

private:
	friend class Admission;

	/* All of these under the lock. */
	void settle();
	bool admit(Admission *next);
	void refuse(Admission *next);
	std::vector<GateDevice *> by_room();
	bool hope_for_memory(uint64_t bytes);
	bool hope_for_chunks(uint32_t chunks);
	bool ask_for_memory(GateDevice *device, uint64_t bytes);
	Admission *best_spare(const GateDevice *device, uint64_t bytes);

	std::mutex mutex;
	std::condition_variable room; /* something has changed */
	std::vector<GateDevice> devices;
	const uint32_t all_chunks;
	uint32_t free_chunks;
	std::list<Admission *> queue;
	std::list<Admission *> admitted;
};

#endif /* GPUSORTD_GATE_H */
