/*
 * layer.h
 *		The interface of devices in gpusortd; there are two implementations.
 *
 * The code in cuda/ sorts on GPUs with the device library. host.cc sorts in host memory, for tests, and can
 * inject faults.  Everything above this interface is the same for both, and does not depend on CUDA.
 *
 * Several threads may submit a job's chunks at the same time, and several threads may fetch.  All other calls
 * of a job come from one thread at a time, not always the same, and not while a chunk is being taken or a
 * fetch is begun.  Jobs are independent.  All calls except start_fetch return when their work is done; a
 * client fills its next chunks meanwhile.  Only std::bad_alloc is thrown.
 */
#ifndef GPUSORTD_DEVICE_LAYER_H
#define GPUSORTD_DEVICE_LAYER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/protocol/protocol.h"

/* GPUSORTD_OK, or what went wrong in a code and a sentence for the client. */
struct Outcome
{
	GpusortdCode code = GPUSORTD_OK;
	std::string message;

	bool ok() const
	{
		return code == GPUSORTD_OK;
	}
};

struct DeviceDescription
{
	int number;
	std::string name;
	uint64_t memory_bytes;
};

/* The kind of sort, from BEGIN. */
struct JobShape
{
	uint32_t key_bytes; /* 0: variable */
	GpusortdAlgorithm algorithm;
	uint64_t chunk_bytes;
};

/* The size of a job. */
struct JobSize
{
	uint64_t rows = 0;
	uint64_t key_bytes = 0;
	uint64_t row_bytes = 0;
};

/* More rows than the library can number. */
#define DEVICE_MOST_ROWS UINT64_C(0xFFFF0000)

/* Fetches of one connection that may be under way at a time. */
#define DEVICE_FETCHES 2

/*
 * A filled chunk.  Clients can write to it at any time, so it must be copied before it is read.
 */
struct FilledChunk
{
	const uint8_t *base;
	uint64_t rows;	/* 1 or more */
	uint64_t front; /* bytes of entries: rows times an entry's */
	uint64_t back;	/* a multiple of 8, from front to the chunk's bytes */
};

/* Ranks, which clients can write to at any time. */
struct RankPiece
{
	const uint8_t *base;
	uint32_t offset; /* of the code in a key: within it */
	uint64_t first;	 /* its first code: 0, of the next column, or the one behind the last piece's */
	uint64_t codes;	 /* 1 or more, at most as many as a chunk has room for */
};

/* Rows of the result. */
struct Window
{
	uint64_t first;
	uint64_t rows;
	uint64_t bytes;
	uint64_t ticket; /* of the fetch that brings it */
};

/* The memory of a device that a job may use.  May be called from any thread. */
class MemoryPromise
{
public:
	virtual ~MemoryPromise() = default;

	virtual uint64_t bytes() const = 0;

	/*
	 * Raises the promise to `bytes` bytes, if that is more and memory is left.  False: the promise does not
	 * change.
	 */
	virtual bool raise(uint64_t bytes) = 0;

	/* Lowers the promise to `bytes` bytes, if that is less. */
	virtual void lower(uint64_t bytes) = 0;
};

class DeviceJob
{
public:
	virtual ~DeviceJob() = default;

	/*
	 * Copies a chunk to the device and extracts its keys and rows.  After GPUSORTD_MEMORY_FULL the job is as
	 * it was before and can still be performed; after any other failure it can only be destroyed.
	 */
	virtual Outcome submit(const FilledChunk &chunk) = 0;

	/*
	 * While no chunk is being taken: least returns the memory that is enough to sort and return the present
	 * rows, and trim lowers the promise to it.  More chunks may come later if the promise can be raised
	 * again.
	 */
	virtual uint64_t least() = 0;
	virtual void trim() = 0;

	/*
	 * Copies ranks of codes to the device, after all chunks.  A job with ranks has fixed keys.  After
	 * GPUSORTD_MEMORY_FULL the ranks were not taken, and after any other failure the job can only be
	 * destroyed.
	 */
	virtual Outcome take_ranks(const RankPiece &piece) = 0;

	/* Replaces codes by ranks, if there are any, and sorts, once.  Fills in all of *sorted. */
	virtual Outcome perform(GpusortdSorted *sorted) = 0;

	/*
	 * After perform: finds as many rows from `position` on, or before it, as a chunk holds, and begins to
	 * copy them to the target; a window of no rows only at the end, and then nothing is under way.  position
	 * is at most the job's rows.
	 */
	virtual Outcome start_fetch(uint64_t position, bool backward, uint8_t *target, Window *window) = 0;

	/* Waits for the fetch with this ticket. */
	virtual Outcome finish_fetch(uint64_t ticket) = 0;
};

class DeviceLayer
{
public:
	virtual ~DeviceLayer() = default;

	virtual const char *name() const = 0;

	/*
	 * Opens the usable devices of those that are wanted, or of all if `wanted` is empty.  Fails with the
	 * reason if there is none.
	 */
	virtual Outcome open(const std::vector<int> &wanted, uint64_t chunk_bytes,
						 std::vector<DeviceDescription> *devices) = 0;

	/*
	 * Returns the part of `limit` bytes of the device that the layer keeps for itself, for buffers of the
	 * next jobs.  The rest is promised to jobs.
	 */
	virtual uint64_t keep_memory(int device, uint64_t limit) = 0;

	/*
	 * Gives back kept memory that has not been used for a while.  Call it regularly, from one thread.
	 */
	virtual void tidy() = 0;

	/* Registers memory for chunks. unregister_memory never fails. */
	virtual Outcome register_memory(void *memory, size_t bytes) = 0;
	virtual void unregister_memory(void *memory) = 0;

	/* An upper bound of the device memory of a job of that size, from its begin to its end. */
	virtual uint64_t memory_needed(const JobShape &shape, const JobSize &size) = 0;

	/*
	 * Begins a job on the device with this number. expected: an estimate of its size.  The promise must
	 * outlive the job.
	 */
	virtual Outcome begin(int device, const JobShape &shape, const JobSize &expected, MemoryPromise *promise,
						  std::unique_ptr<DeviceJob> *job) = 0;
};

/*
 * The fault that a test asks for: KIND:STEP, KIND one of alloc, lost, hang, slow, crash; STEP counts the
 * layer's calls from 1.
 */
std::unique_ptr<DeviceLayer> device_layer_host(const std::string &fault, std::string *why_not);
std::unique_ptr<DeviceLayer> device_layer_cuda();

/*
 * Returns a watched layer.  A separate thread calls when_late if a call, except open, takes longer than
 * `seconds` seconds.
 */
std::unique_ptr<DeviceLayer> device_layer_watched(std::unique_ptr<DeviceLayer> layer, unsigned int seconds,
												  const std::function<void()> &when_late);

#endif /* GPUSORTD_DEVICE_LAYER_H */
