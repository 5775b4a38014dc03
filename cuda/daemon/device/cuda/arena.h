/*
 * arena.h
 *		The buffers, streams and pinned host memory of a job on a GPU, which the next job takes over.
 *
 * Making an arena takes longer than sorting some ten thousand rows.  Therefore a job takes an arena that an
 * earlier job has left, and leaves it to the next job.  An arena with large buffers gives them back first, so
 * that the idle arenas of a device stay within the memory that the layer may keep.  Buffers that have not
 * been used for a while are given back too.
 *
 * What an arena has when a job takes it is counted as kept, for as long as the job runs; what it grows by, as
 * promised to the job.
 */
#ifndef GPUSORTD_CUDA_ARENA_H
#define GPUSORTD_CUDA_ARENA_H

#include <chrono>
#include <list>
#include <mutex>

#include "daemon/device/cuda/memory.h"

/* Chunks of a job that may be on their way to the device at a time; DEVICE_FETCHES that come back. */
#define LANES 4

/* What the device tells of a chunk, in pinned host memory. */
struct LaneAnswer
{
	uint32_t malformed;
	uint32_t key_bytes; /* variable keys: of all, and of all that isn't rows */
	uint32_t part_bytes;
	uint64_t place; /* where a row of the result begins */
};

/* The way of one chunk at a time, to the device or from it. */
struct Lane
{
	cudaStream_t stream = NULL;
	cudaEvent_t done = NULL; /* waited for without spinning */
	DeviceMemory chunk;
	DeviceMemory plan; /* variable keys */
	LaneAnswer *answer = NULL;
	bool busy = false;
	bool counted = false; /* the rows of its chunk have a place in the job */
};

struct Arena
{
	explicit Arena(int its_device) : device(its_device)
	{
	}

	~Arena();

	DevSortStatus open();
	void release_buffers();

	const int device;
	DevSortBudget budget = {};
	uint64_t kept = 0; /* bytes that count as kept, not as promised to the job that has it */
	std::chrono::steady_clock::time_point left; /* by its last job */
	cudaStream_t stream = NULL;
	cudaEvent_t done = NULL;
	LaneAnswer *answers = NULL;
	Lane lanes[LANES];
	DeviceMemory keys;
	DeviceMemory key_offsets; /* variable keys */
	DeviceMemory rows;
	DeviceMemory row_offsets;
	DeviceMemory order;
	DeviceMemory sorted_keys; /* fixed keys; before that ranks of codes */
	DeviceMemory places;	  /* where each row of the result begins */
	DeviceMemory workspace;
};

/* Waits for all that was queued before on this stream: quickly, or without taking a processor meanwhile. */
DevSortStatus stream_wait(cudaStream_t stream, cudaEvent_t done, bool quickly);

/* The idle arenas of one device, and how much all of them may keep. */
class ArenaPool
{
public:
	explicit ArenaPool(int its_device) : device(its_device)
	{
	}

	/* One that is ready, or none. */
	DevSortStatus take(std::unique_ptr<Arena> *arena);

	/* Of a job whose work is done; a broken one is not used again. */
	void give_back(std::unique_ptr<Arena> arena, bool broken);

	/* Gives back the buffers of arenas that have been idle for so long. */
	void release_idle(std::chrono::seconds idle_for);

	/* Keeps at most `bytes` bytes. */
	void limit_kept(uint64_t bytes);

	const int device;

private:
	std::mutex mutex;
	uint64_t limit = 0;						/* bytes that may be kept */
	uint64_t kept = 0;						/* by all arenas, idle or not */
	std::list<std::unique_ptr<Arena>> idle; /* those with buffers first */
};

#endif /* GPUSORTD_CUDA_ARENA_H */
