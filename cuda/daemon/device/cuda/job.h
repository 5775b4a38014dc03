/*
 * job.h
 *		A job on a GPU.
 *
 * feed.cu takes chunks, ranks.cu takes ranks of codes, job.cu sorts, fetch.cu returns rows.
 */
#ifndef GPUSORTD_CUDA_JOB_H
#define GPUSORTD_CUDA_JOB_H

#include <atomic>
#include <condition_variable>

#include "daemon/device/cuda/arena.h"
#include "daemon/device/cuda/chunk_extract.h"
#include "daemon/device/cuda/rank_keys.h"
#include "daemon/device/cuda/result_windows.h"

class CudaJob : public DeviceJob
{
public:
	CudaJob(ArenaPool *arenas, uint64_t device_bytes, const JobShape &asked, const JobSize &expected,
			MemoryPromise *its_promise);
	~CudaJob() override;

	DevSortStatus open();
	Outcome submit(const FilledChunk &chunk) override;
	uint64_t least() override;
	void trim() override;
	Outcome take_ranks(const RankPiece &piece) override;
	Outcome perform(GpusortdSorted *sorted) override;
	Outcome start_fetch(uint64_t position, bool backward, uint8_t *target, Window *window) override;
	Outcome finish_fetch(uint64_t ticket) override;

private:
	void wait_for_all();
	Outcome finish(const DevSortStatus &status);
	DevSortStatus grow(DeviceMemory *memory, uint64_t bytes, uint64_t at_most = 0);
	DevSortStatus wait(const Lane *lane);

	/* feeding */
	DevSortStatus take_lane(uint64_t chunk_rows, Lane **lane);
	void leave_lane(Lane *lane);
	DevSortStatus reserve(Lane *lane, const JobSize &more, JobSize *before);
	bool plan_for(const JobSize &wanted, const JobSize &more);
	DevSortStatus grow_for(const JobSize &wanted);
	DevSortStatus grow_to(const JobSize &size);
	DevSortStatus take_chunk(Lane *lane, const FilledChunk &chunk);
	DevSortStatus take_fixed(Lane *lane, const FilledChunk &chunk, ChunkCopy *copy);
	DevSortStatus take_variable(Lane *lane, const FilledChunk &chunk, ChunkCopy *copy);
	DevSortStatus measure_variable(Lane *lane, const FilledChunk &chunk, ChunkCopy *copy,
								   const ExtractPlan &plan);
	Outcome give_up_chunk(const Lane *lane, const DevSortStatus &status);
	ExtractTarget target(const Lane *lane, const JobSize &before) const;

	/* ranks */
	DevSortStatus copy_ranks(const RankPiece &piece);
	DevSortStatus give_ranks(uint32_t *without_rank);

	/* sorting */
	DevSortStatus sort();
	DevSortStatus sort_fixed(uint64_t workspace_bytes);
	DevSortStatus sort_variable(uint64_t workspace_bytes);
	void give_back_what_sorting_took();
	DevSortStatus plan_rows();
	DevSortRowsJob rows_job() const;

	/* returning */
	DevSortStatus find_place(uint64_t row, uint64_t *place);
	DevSortStatus find_window(uint64_t position, bool backward, Window *window);
	DevSortStatus copy_out(Lane *lane, const Window &window, uint8_t *target);

	ArenaPool *pool;
	uint64_t most; /* bytes of the device: no buffer can be larger */
	JobShape shape;
	MemoryPromise *promise;
	std::unique_ptr<Arena> arena;
	std::atomic<bool> broken{false}; /* a call failed that may have left work behind */
	bool brief;						 /* threads wait for it by spinning */

	/* All up to the next comment is under the mutex while chunks come. */
	std::mutex mutex;
	std::condition_variable lane_left;
	JobSize taken;		  /* chunks under way included */
	JobSize planned;	  /* of such a job all buffers are promised */
	JobSize grown;		  /* the feed's buffers have room for it */
	uint64_t highest = 0; /* bytes of device memory */
	uint64_t feed_us = 0;

	RankColumns coded = {}; /* whose ranks are in sorted_keys until the keys are sorted */

	std::vector<WindowStart> windows;
	std::mutex fetching; /* protects the fields below, and the places that are read from the device */
	uint64_t fetches_started = 0;
};

uint64_t microseconds_since(std::chrono::steady_clock::time_point start);

#endif /* GPUSORTD_CUDA_JOB_H */
