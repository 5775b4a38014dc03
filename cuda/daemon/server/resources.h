/*
 * resources.h
 *		Host memory that jobs share: chunk memory, and memory for the results and chunks of idle jobs.
 *
 * Chunk memory is a pool of slabs, each some chunks in a memfd that is sealed against changes of its size.
 * Slabs are made when they are first needed, or earlier in the background.  They are registered with the
 * devices once, and lent to one connection at a time.  There are large and small slabs.  Joiners, and jobs
 * with few rows, get small slabs, so that there are enough.  A client may keep its mapping of a slab that is
 * lent to another client; all clients belong to the same user.
 *
 * If other jobs need the place of a slab whose connection rests, the slab is retired.  It is no longer
 * pinned, and the connection keeps it until its end, with rows that its client has not yet read.  Retired
 * slabs and the results of resting jobs use idle memory, which is limited.
 */
#ifndef GPUSORTD_RESOURCES_H
#define GPUSORTD_RESOURCES_H

#include <atomic>
#include <mutex>
#include <thread>

#include "daemon/device/layer.h"

/* ---- chunk memory ---- */

struct Slab
{
	int fd = -1;
	uint8_t *base = nullptr;
	uint32_t chunks = 0;
	bool retired = false; /* not pinned, and no longer in the pool */
};

/* A connection takes a slab only after the gate has admitted its job, so at most most_chunks are lent. */
class SlabPool
{
public:
	SlabPool(DeviceLayer *device_layer, uint64_t size_of_chunk, uint32_t most);
	~SlabPool();

	/*
	 * Makes slabs with these numbers of chunks: the first `first` slabs before it returns, and the others in
	 * the background.
	 */
	void prepare(const std::vector<uint32_t> &sizes, size_t first);

	Outcome take(uint32_t chunks, Slab *slab);
	void give_back(Slab slab);

	/* The slab leaves the pool, which may make another one in its place. */
	void retire(Slab *slab);

	const uint64_t chunk_bytes;
	const uint32_t most_chunks;

private:
	bool take_free(uint32_t chunks, Slab *slab);
	Outcome make(uint32_t chunks, Slab *slab);
	Outcome map(Slab *slab);
	bool prepare_one(uint32_t chunks);
	void destroy(Slab slab);

	DeviceLayer *layer;
	std::mutex mutex;
	std::vector<Slab> free_slabs;
	uint32_t made_chunks = 0; /* lent, free, or being made */
	std::atomic<bool> ending{false};
	std::thread preparing;
};

/* ---- idle memory ---- */

/* The limit of idle memory, and the used part.  May be called from any thread. */
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

/* A part of the idle memory.  The destructor gives it back. */
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

	/*
	 * Takes idle memory up to `wanted` bytes, including the bytes that it already has; false: there is not
	 * enough.
	 */
	bool take(IdleMemory *from, uint64_t wanted);
	void give_back();

private:
	IdleMemory *memory = nullptr;
	uint64_t bytes = 0;
};

#endif /* GPUSORTD_RESOURCES_H */
