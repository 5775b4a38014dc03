/*
 * memory.h
 *		The memory of jobs on a GPU: buffers, and how large they become.
 */
#ifndef GPUSORTD_CUDA_MEMORY_H
#define GPUSORTD_CUDA_MEMORY_H

#include "base/status.h"
#include "daemon/device/layer.h"

/* A growing buffer of the current device that gives back its memory by itself. */
class DeviceMemory
{
public:
	~DeviceMemory()
	{
		release();
	}

	void release()
	{
		devsort_buffer_destroy(buffer);
		buffer = NULL;
	}

	/* Makes exactly `bytes` bytes usable; the content stays. */
	DevSortStatus grow(DevSortBudget *budget, uint64_t most, uint64_t bytes)
	{
		if (buffer == NULL)
			RETURN_IF_FAILED(devsort_buffer_create(budget, most, &buffer));
		return devsort_buffer_grow(buffer, bytes);
	}

	template <typename T>
	T *as() const
	{
		return buffer != NULL ? (T *) devsort_buffer_address(buffer) : NULL;
	}

private:
	DevSortBuffer *buffer = NULL;
};

/* What a failure of the library or of CUDA is for the client. */
Outcome outcome_from(const DevSortStatus &status);

/*
 * What the library is to sort; the pointers are yet to be set, but are not NULL where it looks at that to
 * measure.
 */
DevSortFixedJob fixed_job(const JobShape &shape, uint64_t n);
DevSortStringsJob strings_job(const JobShape &shape, uint64_t n);

/* The workspace of the sort. */
DevSortStatus sort_memory(const JobShape &shape, uint64_t n, size_t *bytes);

/* The workspace for taking apart a chunk with variable keys. */
uint64_t plan_memory(uint64_t rows);

/* Chunks of a job of that size that are worth having on their way at a time. */
int job_lanes(const JobShape &shape, const JobSize &size);

/*
 * Does it keep the buffers of its feed and sort until its end, for the next job?  Else they are given back
 * when it is sorted.
 */
bool job_keeps_buffers(const JobShape &shape, const JobSize &size);

/* An upper bound of all buffers of a job, with this number of ranks of codes. */
uint64_t job_memory(const JobShape &shape, const JobSize &size, uint64_t ranks = 0);

#endif /* GPUSORTD_CUDA_MEMORY_H */
