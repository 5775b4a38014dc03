/*
 * bucket_sort_u32.cu
 *		The bucket sort for keys of 32 bits.
 */
#include "pairs/bucket_sort.cuh"

template void bucket_sort_measure<uint32_t>(Workspace *, uint64_t, int);
template DevSortStatus bucket_sort<uint32_t>(const PairSortJob<uint32_t> *, const Workspace *, cudaStream_t);
