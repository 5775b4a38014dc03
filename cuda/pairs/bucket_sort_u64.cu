/*
 * bucket_sort_u64.cu
 *		The bucket sort for keys of 64 bits.
 */
#include "pairs/bucket_sort.cuh"

template void bucket_sort_measure<uint64_t>(Workspace *, uint64_t, int);
template DevSortStatus bucket_sort<uint64_t>(const PairSortJob<uint64_t> *, const Workspace *, cudaStream_t);
