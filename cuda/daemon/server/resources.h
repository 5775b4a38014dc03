/*
 * resources.h
 *		Host memory that jobs share: chunk memory, and memory for what idle jobs leave behind.
 *
 * Chunk memory is a pool of segments, each some chunks in a memfd that is sealed against changes of its size.
 * They are made when first needed, or before that in the background, registered with the devices once, and
 * lent to one connection at a time.  There are large and small ones: helpers, and jobs that will have few
 * rows, get small ones, so that there are enough.  A client may keep its mapping of a segment that is lent to
 * another; all clients are the same user's.
 *
 * A segment of a connection that rests is retired, if others need its place: it is no longer pinned, and the
 * connection keeps it to its end, with whatever its client has yet to read there.  That, and the results of
 * jobs that rest, is idle memory, of which there is a limit.
 */
#ifndef GPUSORTD_RESOURCES_H
#define GPUSORTD_RESOURCES_H

#include <atomic>
#include <mutex>
#include <thread>

#include "daemon/device/layer.h"

/* ---- chunk memory ---- */

struct Segment
{
	int fd = -1;
	uint8_t *base = nullptr;
	uint32_t chunks = 0;
	bool retired = false; /* not pinned, and not of the pool any more */
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

	/* The segment leaves the pool, which may make another one in its place. */
	void retire(Segment *segment);

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

/* ---- idle memory ---- */

/* How much there is of it, and how much is taken.  From any thread. */
class IdleMemory
{
public:
	explicit IdleMemory(uint64_t most) : limit(most)
	{
	}

	bool has_room(uint64_t bytes) const
	{
		return bytes <= limit - taken;
	}

	uint64_t bytes() const
	{
		return taken;
	}

private:
	friend class IdleShare;
	bool take(uint64_t bytes);
	void give_back(uint64_t bytes);

	const uint64_t limit;
	std::atomic<uint64_t> taken{0};
};

/* Some of it, given back by its destructor. */
class IdleShare
{
public:
	IdleShare() = default;
	IdleShare(const IdleShare &) = delete;
	IdleShare &operator=(const IdleShare &) = delete;

	~IdleShare()
	{
		give_back();
	}

	/* What it has already counts; false: there is not as much. */
	bool take(IdleMemory *from, uint64_t wanted);
	void give_back();

private:
	IdleMemory *memory = nullptr;
	uint64_t bytes = 0;
};

#endif /* GPUSORTD_RESOURCES_H */
