/*
 * sample_sort_wide.cu
 *		The sample sort for keys of 16 bytes.
 */
#include "pairs/sample_sort.cuh"

template void sample_sort_measure<WideKey>(Workspace *, uint64_t);
template DevSortStatus sample_sort<WideKey>(const PairSortJob<WideKey> *, const Workspace *, cudaStream_t);
