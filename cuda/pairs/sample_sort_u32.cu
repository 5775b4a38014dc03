/*
 * sample_sort_u32.cu
 *		The sample sort for keys of 32 bits.
 */
#include "pairs/sample_sort.cuh"

template void sample_sort_measure<uint32_t>(Workspace *, uint64_t);
template DevSortStatus sample_sort<uint32_t>(const PairSortJob<uint32_t> *, const Workspace *, cudaStream_t);
template DevSortStatus sample_sort_queue<uint32_t>(const PairSortJob<uint32_t> *, const Workspace *,
												   const uint32_t **, cudaStream_t);
template DevSortStatus sample_sort_finish<uint32_t>(const PairSortJob<uint32_t> *, const Workspace *,
													cudaStream_t);
