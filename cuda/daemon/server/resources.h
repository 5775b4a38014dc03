/*
 * resources.h
 *		What jobs share: the memory of the devices, and chunk memory.
 *
 * Device memory is promised, not handed out: the gate keeps account of how much each job was promised, and
 * admits no job for which there is nothing left.  Who comes first is admitted first, even if a later, smaller
 * job would fit already: so no job waits for ever.  A job goes to the device with the most left.  A promise
 * can be raised while the job runs, if there is something left; if not the job is told that the memory is
 * full, and nobody waits for anybody.
 *
 * Chunk memory is a pool of segments, each some chunks in a memfd that is sealed against changes of its size.
 * They are made when first needed, or before that in the background, registered with the devices once, and
 * lent to one connection at a time.  There are large and small ones: helpers, and jobs that will have few
 * rows, get small ones, so that there are enough.  A client may keep its mapping of a segment that is lent to
 * another; all clients are the same user's.
 */
#ifndef GPUSORTD_RESOURCES_H
#define GPUSORTD_RESOURCES_H

#include <atomic>
#include <list>
#include <mutex>
#include <thread>

#include "daemon/device/layer.h"

/* ---- chunk memory ---- */

struct Segment
{
	int fd = -1;
	uint8_t *base = nullptr;
	uint32_t chunks = 0;
};

/* Who takes a segment has the gate's leave: so there are never more than most_chunks lent. */
class SegmentPool
{
public:
	SegmentPool(DeviceLayer *device_layer, uint64_t size_of_chunk, uint32_t most);
	~SegmentPool();

	/*
	 * Makes segments of so many chunks each: the first few before it returns, the others while there is
	 * nothing better to do.
	 */
	void prepare(const std::vector<uint32_t> &sizes, size_t first);

	Outcome take(uint32_t chunks, Segment *segment);
	void give_back(Segment segment);

	const uint64_t chunk_bytes;
	const uint32_t most_chunks;

private:
	bool take_free(uint32_t chunks, Segment *segment);
	Outcome make(uint32_t chunks, Segment *segment);
	Outcome map(Segment *segment);
	bool prepare_one(uint32_t chunks);
	void destroy(Segment segment);

	DeviceLayer *layer;
	std::mutex mutex;
	std::vector<Segment> free_segments;
	uint32_t made_chunks = 0; /* lent, free, or being made */
	std::atomic<bool> ending{false};
	std::thread preparing;
};

/* ---- admission ---- */

struct GateDevice
{
	DeviceDescription description;
	uint64_t limit;
	uint64_t promised;
	uint32_t jobs;
};

class Gate;

/* One job's place in the queue, and then its share.  Left by destroying it, from whatever state. */
class Admission : public MemoryPromise
{
public:
	~Admission() override;

	/* Becomes readable when admitted. */
	int event_fd() const
	{
		return event;
	}

	bool admitted() const;

	/* Once admitted: the device's number, and the bytes promised. */
	int device() const;
	uint64_t bytes() const override;
	bool raise(uint64_t bytes) override;
	void lower(uint64_t bytes) override;

	/* Jobs in the queue before this one. */
	uint64_t before() const;

	const uint32_t chunks; /* of chunk memory */

private:
	friend class Gate;
	Admission(Gate *its_gate, int event_fd, uint64_t bytes, uint32_t its_chunks)
		: chunks(its_chunks), gate(its_gate), event(event_fd), share(bytes)
	{
	}

	Gate *gate;
	int event;
	uint64_t share;				 /* wanted, then promised */
	GateDevice *place = nullptr; /* once admitted */
};

class Gate
{
public:
	Gate(std::vector<GateDevice> all_devices, uint32_t chunks)
		: devices(std::move(all_devices)), free_chunks(chunks)
	{
	}

	/*
	 * Takes a place at the end of the queue, for a job that is expected to need so much; NULL: no files left.
	 */
	std::unique_ptr<Admission> enter(uint64_t bytes, uint32_t chunks);

	/*
	 * Chunk memory for a connection that helps a job which was admitted already: now or not at all, and none
	 * that the head of the queue needs.
	 */
	bool take_chunks(uint32_t chunks);
	void release_chunks(uint32_t chunks);

	std::vector<GateDevice> describe();

private:
	friend class Admission;
	void admit_waiting();
	GateDevice *most_free();

	std::mutex mutex;
	std::vector<GateDevice> devices;
	uint32_t free_chunks;
	std::list<Admission *> queue;
};

#endif /* GPUSORTD_RESOURCES_H */
