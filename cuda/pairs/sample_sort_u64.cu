/*
 * sample_sort_u64.cu
 *		The sample sort for keys of 64 bits.
 */
#include "pairs/sample_sort.cuh"

template void sample_sort_measure<uint64_t>(Workspace *, uint64_t);
template DevSortStatus sample_sort<uint64_t>(const PairSortJob<uint64_t> *, const Workspace *, cudaStream_t);
template DevSortStatus sample_sort_queue<uint64_t>(const PairSortJob<uint64_t> *, const Workspace *,
												   const uint32_t **, cudaStream_t);
template DevSortStatus sample_sort_finish<uint64_t>(const PairSortJob<uint64_t> *, const Workspace *,
													cudaStream_t);
