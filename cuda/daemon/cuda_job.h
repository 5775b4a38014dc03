/*
 * cuda_job.h
 *		A job on a GPU.
 */
#ifndef GPUSORTD_CUDA_JOB_H
#define GPUSORTD_CUDA_JOB_H

#include "chunk_extract.h"
#include "cuda_memory.h"

class CudaJob : public DeviceJob
{
public:
	CudaJob(int its_device, const JobShape &asked, uint64_t device_bytes) : device(its_device), shape(asked), most(device_bytes)
	{
	}

	~CudaJob() override;

	DevSortStatus open();
	Outcome submit(const FilledChunk &chunk, uint64_t memory_limit) override;
	Outcome perform(uint64_t memory_limit, GpusortdSorted *sorted) override;
	Outcome fetch(uint64_t position, bool backward, uint8_t *target, uint64_t bytes, Window *window) override;

	JobSize
	size() const override
	{
		return taken;
	}

private:
	DevSortStatus grow(DeviceMemory *memory, uint64_t bytes);
	DevSortStatus take_chunk(const FilledChunk &chunk, bool *malformed);
	DevSortStatus take_fixed(const FilledChunk &chunk, ChunkCopy *copy);
	DevSortStatus take_variable(const FilledChunk &chunk, ChunkCopy *copy, bool *malformed);
	DevSortStatus copy_in(uint8_t *to, const uint8_t *from, uint64_t bytes);
	DevSortStatus read_malformed(bool *malformed);
	ExtractTarget target() const;
	DevSortStatus sort();
	DevSortStatus sort_fixed(uint64_t workspace_bytes);
	DevSortStatus sort_variable(uint64_t workspace_bytes);
	DevSortStatus plan_rows();
	DevSortStatus find_backward(uint64_t position, uint64_t bytes, Window *window);
	DevSortStatus copy_out(uint8_t *to, Window *window);
	DevSortRowsJob rows_job() const;

	int			device;
	JobShape	shape;
	uint64_t	most;			/* no buffer can be larger */
	JobSize		taken;
	DevSortBudget budget = {};
	uint64_t	highest = 0;	/* bytes of device memory */
	uint64_t	feed_us = 0;
	cudaStream_t stream = NULL;
	DeviceMemory staging;
	DeviceMemory keys;
	DeviceMemory key_offsets;	/* variable keys */
	DeviceMemory rows;
	DeviceMemory row_offsets;
	DeviceMemory order;
	DeviceMemory sorted_keys;	/* fixed keys, while they are being sorted */
	DeviceMemory places;		/* where each row of the result begins */
	DeviceMemory workspace;
	DeviceMemory window_memory;
};

#endif							/* GPUSORTD_CUDA_JOB_H */
