/*
 * layer.h
 *		What gpusortd needs of devices; there are two kinds.
 *
 * The one in cuda/ sorts on GPUs with the device library; host.cc in host memory, for tests, with faults to
 * inject.  Everything above this interface is the same for both, and knows nothing of CUDA.
 *
 * A job's chunks may come from several threads at a time, and so may its fetches; all other calls come from
 * one at a time, though not always from the same one, and not while a chunk is being taken or a fetch is
 * begun.  Jobs don't know of each other.  All calls but start_fetch wait until they are done: a client fills
 * its next chunks meanwhile.  Nothing throws but std::bad_alloc.
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

/* What is sorted, as BEGIN says. */
struct JobShape
{
	uint32_t key_bytes; /* 0: variable */
	GpusortdAlgorithm algorithm;
	bool words; /* words ride, not rows */
	uint64_t chunk_bytes;
};

/* How much of it. */
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
 * A filled chunk.  Clients can write to it at any time, so nothing in it may be looked at before it was
 * copied.
 */
struct FilledChunk
{
	const uint8_t *base;
	uint64_t rows;	/* 1 or more */
	uint64_t front; /* bytes of entries: rows times an entry's */
	uint64_t back;	/* a multiple of 8, from front to the chunk's bytes */
};

/* Rows of the result. */
struct Window
{
	uint64_t first;
	uint64_t rows;
	uint64_t bytes;
	uint64_t ticket; /* of the fetch that brings it */
};

/* How much memory of a device a job may take.  From any thread. */
class MemoryPromise
{
public:
	virtual ~MemoryPromise() = default;

	virtual uint64_t bytes() const = 0;

	/* To so many bytes, if that is more and there is as much; else it stays as it is: false. */
	virtual bool raise(uint64_t bytes) = 0;

	/* To so many bytes, if that is less. */
	virtual void lower(uint64_t bytes) = 0;
};

class DeviceJob
{
public:
	virtual ~DeviceJob() = default;

	/*
	 * Copies a chunk to the device and takes it apart.  After GPUSORTD_MEMORY_FULL the job is as it was
	 * before and can still be performed; after any other failure it can only be destroyed.
	 */
	virtual Outcome submit(const FilledChunk &chunk) = 0;

	/*
	 * While no chunk is being taken: so much memory is enough for the job as it is, to be sorted and
	 * returned; and lowers the promise to that.  Chunks may come all the same, if it can be raised again.
	 */
	virtual uint64_t least() = 0;
	virtual void trim() = 0;

	/* Sorts, once.  Fills in all of *sorted. */
	virtual Outcome perform(GpusortdSorted *sorted) = 0;

	/*
	 * After perform: finds as many rows from `position` on, or before it, as a chunk holds, and begins to
	 * copy them to the target; a window of no rows only at the end, and then nothing is under way.  position
	 * is at most the job's rows.
	 */
	virtual Outcome start_fetch(uint64_t position, bool backward, uint8_t *target, Window *window) = 0;

	/* Waits for the fetch of that ticket. */
	virtual Outcome finish_fetch(uint64_t ticket) = 0;
};

class DeviceLayer
{
public:
	virtual ~DeviceLayer() = default;

	virtual const char *name() const = 0;

	/* The devices that can be used, of those wanted, or of all if that is empty; or why there is none. */
	virtual Outcome open(const std::vector<int> &wanted, uint64_t chunk_bytes,
						 std::vector<DeviceDescription> *devices) = 0;

	/*
	 * Of so many bytes of the device, what the layer keeps for itself, to have buffers ready for the next
	 * jobs; the rest is promised to jobs.
	 */
	virtual uint64_t keep_memory(int device, uint64_t limit) = 0;

	/*
	 * Gives back what was kept and has not been used for a while.  To be called now and then, from one
	 * thread.
	 */
	virtual void tidy() = 0;

	/* Memory for chunks, as long as it lives; the reverse never fails. */
	virtual Outcome register_memory(void *memory, size_t bytes) = 0;
	virtual void unregister_memory(void *memory) = 0;

	/* An upper bound of the device memory of a job of that size, from its begin to its end. */
	virtual uint64_t memory_needed(const JobShape &shape, const JobSize &size) = 0;

	/*
	 * A job on the device of that number, with an estimate of its size; the promise lives as long as the job.
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
 * The same layer; when_late is called, from a thread of its own, if a call but open takes so many seconds.
 */
std::unique_ptr<DeviceLayer> device_layer_watched(std::unique_ptr<DeviceLayer> layer, unsigned int seconds,
												  const std::function<void()> &when_late);

#endif /* GPUSORTD_DEVICE_LAYER_H */
