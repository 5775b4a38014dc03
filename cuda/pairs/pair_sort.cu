/*
 * pair_sort.cu
 *		Chooses the algorithm: sample sort, unless another one was asked for.
 *
 * 2^27 pairs with a 4-byte value, `gpubench headline` on an H200 (2026-11-29): 4-byte keys 3.61 ms by sample
 * sort, 3.73 by CUB's radix sort, 10.2 by bucket sort; 8-byte keys 4.49, 10.1, 13.
 */
#include "base/tuning.cuh"
#include "pairs/bucket_sort.h"
#include "pairs/radix_sort.h"
#include "pairs/sample_sort.h"
#include "primitives/key_order.cuh"

#ifdef DEVSORT_FAULTS
SampleRareWays sample_rare_ways = {SAMPLE_OVERSAMPLING, LEAF_MAX_WORK, false, 0, 0, 0};
#endif

template <typename Key>
void
pair_sort_measure(Workspace *workspace, DevSortAlgorithm algorithm, uint64_t n, bool has_values, int samples)
{
	switch (algorithm)
	{
		case DEVSORT_BUCKET:
			bucket_sort_measure<Key>(workspace, n, samples);
			break;
		case DEVSORT_RADIX:
			radix_sort_measure<Key>(workspace, n, has_values, false);
			break;
		default:
			sample_sort_measure<Key>(workspace, n);
	}
}

template <typename Key>
DevSortStatus
pair_sort_queue(const PairSortJob<Key> *job, const Workspace *workspace, const uint32_t **unfinished,
				cudaStream_t stream)
{
	*unfinished = NULL;
	switch (job->algorithm)
	{
		case DEVSORT_BUCKET:
			return bucket_sort(job, workspace, stream);
		case DEVSORT_RADIX:
			return radix_sort(job, false, workspace, stream);
		default:
			return sample_sort_queue(job, workspace, unfinished, stream);
	}
}

template <typename Key>
DevSortStatus
pair_sort_finish(const PairSortJob<Key> *job, const Workspace *workspace, cudaStream_t stream)
{
	return sample_sort_finish(job, workspace, stream);
}

template <typename Key>
DevSortStatus
pair_sort(const PairSortJob<Key> *job, const Workspace *workspace, cudaStream_t stream)
{
	const uint32_t *unfinished;

	RETURN_IF_FAILED(pair_sort_queue(job, workspace, &unfinished, stream));
	return unfinished ? pair_sort_finish(job, workspace, stream) : status_ok();
}

/* Keys of 16 bytes are sorted by sample sort alone. */
template <>
void
pair_sort_measure<WideKey>(Workspace *workspace, DevSortAlgorithm, uint64_t n, bool, int)
{
	sample_sort_measure<WideKey>(workspace, n);
}

template <>
DevSortStatus
pair_sort<WideKey>(const PairSortJob<WideKey> *job, const Workspace *workspace, cudaStream_t stream)
{
	return sample_sort(job, workspace, stream);
}

template void pair_sort_measure<uint32_t>(Workspace *, DevSortAlgorithm, uint64_t, bool, int);
template void pair_sort_measure<uint64_t>(Workspace *, DevSortAlgorithm, uint64_t, bool, int);
template DevSortStatus pair_sort<uint32_t>(const PairSortJob<uint32_t> *, const Workspace *, cudaStream_t);
template DevSortStatus pair_sort<uint64_t>(const PairSortJob<uint64_t> *, const Workspace *, cudaStream_t);
template DevSortStatus pair_sort_queue<uint64_t>(const PairSortJob<uint64_t> *, const Workspace *,
												 const uint32_t **, cudaStream_t);
template DevSortStatus pair_sort_finish<uint64_t>(const PairSortJob<uint64_t> *, const Workspace *,
												  cudaStream_t);
