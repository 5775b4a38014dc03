/*
 * gate.h
 *		Who may have how much of the devices' memory, and of chunk memory; and who waits for it.
 *
 * Device memory is promised, not handed out: the gate keeps account of how much each job was promised, and
 * admits no job for which there is nothing left.  Who comes first is admitted first, even if a later, smaller
 * job would fit already: so no job waits for ever.  A job goes to the device with the most left.
 *
 * What a job expects is an estimate, and may be any number.  So nobody is promised more than a fourth of a
 * device before it has sent a row; the promise is raised as rows come, if there is something left.
 *
 * A job whose client wants nothing of it rests, and says what it could give back.  When the head of the
 * queue, or a job that wants its promise raised, finds no room, the gate asks as many of those that rest as
 * it takes; their connections do the rest, by themselves.  Where all that others have is held by jobs that
 * rest and can't give it back, it is no use to wait: the head of the queue is refused.
 *
 * So nobody waits but for a job whose client is busy with it, or for a copy that is being made.
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

/* Of a job: bytes of device memory, and chunks. */
struct Holding
{
	uint64_t bytes = 0;
	uint32_t chunks = 0;
};

class Gate;

/*
 * One job's place in the queue, and then its share.  Left by destroying it, from whatever state.  Its owner
 * calls it from one thread, but for the promise's functions and make_room.
 */
class Admission : public MemoryPromise
{
public:
	~Admission() override;

	/* Becomes readable when it is admitted, or refused; and later when it is asked to give something back. */
	int event_fd() const
	{
		return event;
	}

	bool waits() const;

	/* There is nobody left for whom it would make sense to wait. */
	bool refused() const;

	/*
	 * Once admitted: the device, by its place among all and its number; the chunks lent, the bytes promised.
	 */
	uint32_t device() const;
	int device_number() const;
	uint32_t chunks_lent() const;
	uint64_t bytes() const override;
	bool raise(uint64_t bytes) override;
	void lower(uint64_t bytes) override;

	/* The promise is not raised to more than so many bytes; 0: to what there is. */
	void limit_to(uint64_t bytes);

	/*
	 * After a raise that was refused: has jobs that rest make room for it, and waits for that, not for long.
	 * False: there will be none.
	 */
	bool make_room();

	/* Jobs in the queue before this one. */
	uint64_t before() const;

	/*
	 * The client wants nothing of the job at the moment; asked, it could give back so much.  wanted: what of
	 * that others need now; or, if it has rested for `long_enough`, might need before long.
	 */
	void rest(const Holding &spare);
	Holding wanted(bool long_enough);

	/* The job rests no more, or has not given back what it was asked for. */
	void wake();

	/* What it was promised, or lent, is others' from now on. */
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
	uint64_t share;				 /* wanted, then promised */
	uint32_t chunks;			 /* of chunk memory; the same */
	uint64_t most = 0;			 /* what it may be raised to; 0: to what there is */
	uint64_t raise_refused = 0;	 /* the last raise was, to so many bytes */
	GateDevice *place = nullptr; /* once admitted */
	bool on_device = false;		 /* until leave_device */
	bool resting = false;
	Holding spare; /* of what it could give back, that which it was not asked for yet */
	Holding asked;
};

class Gate
{
public:
	Gate(std::vector<GateDevice> all_devices, uint32_t chunks);

	/*
	 * Takes a place at the end of the queue, for a job that is expected to need so much, and can't begin with
	 * less than `least` and is not to have more than `most`; NULL: no files left.
	 */
	std::unique_ptr<Admission> enter(uint64_t bytes, uint64_t least, uint64_t most, uint32_t chunks);

	/*
	 * Chunk memory for a connection that helps a job which was admitted already: now or not at all, and not
	 * if somebody in the queue waits for it.
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
