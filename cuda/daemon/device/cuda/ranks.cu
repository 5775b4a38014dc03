/*
 * ranks.cu
 *		Ranks of codes: taking them, and giving them to the keys of a job on a GPU.
 *
 * Ranks stand in the buffer of the sorted keys, which nothing else uses before the sort.  A code takes no
 * more bytes in a key than its rank does, so the ranks of codes that the job's own rows have take no memory
 * of their own.  For more of them the promise is raised.
 */
#include "daemon/device/cuda/job.h"

DevSortStatus
CudaJob::copy_ranks(const RankPiece &piece)
{
	uint64_t before = coded.ranks * RANK_BYTES;
	uint64_t bytes = piece.codes * RANK_BYTES;

	CHECK_CUDA(cudaSetDevice(arena->device), "choosing the device");
	RETURN_IF_FAILED(grow(&arena->sorted_keys, before + bytes));
	CHECK_CUDA(cudaMemcpyAsync(arena->sorted_keys.as<uint8_t>() + before, piece.base, bytes,
							   cudaMemcpyHostToDevice, arena->stream),
			   "copying ranks to the device");
	return stream_wait(arena->stream, arena->done, brief);
}

Outcome
CudaJob::take_ranks(const RankPiece &piece)
{
	std::lock_guard<std::mutex> lock(mutex);
	DevSortStatus status;

	if (!promise->raise(job_memory(shape, planned, coded.ranks + piece.codes)))
		return {GPUSORTD_MEMORY_FULL, "no memory can be promised to the ranks of codes"};
	status = copy_ranks(piece);
	if (status.code == DEVSORT_OK)
		rank_columns_add(&coded, piece.offset, piece.first, piece.codes);
	return finish(status);
}

/* *without_rank is above 0 afterwards if a key has a code without a rank. */
DevSortStatus
CudaJob::give_ranks(uint32_t *without_rank)
{
	uint32_t *answer = &arena->lanes[0].answer->malformed;

	*answer = 0;
	CHECK_CUDA(cudaSetDevice(arena->device), "choosing the device");
	RETURN_IF_FAILED(rank_keys(arena->keys.as<uint8_t>(), taken.rows, shape.key_bytes, &coded,
							   arena->sorted_keys.as<uint32_t>(), answer, arena->stream));
	RETURN_IF_FAILED(stream_wait(arena->stream, arena->done, brief));
	*without_rank = *answer;
	return status_ok();
}
