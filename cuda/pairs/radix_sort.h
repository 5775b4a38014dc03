/*
 * radix_sort.h
 *		CUB's radix sort behind the interface of pair_sort.h.
 */
#ifndef DEVSORT_RADIX_SORT_H
#define DEVSORT_RADIX_SORT_H

#include "pairs/pair_sort.h"

/*
 * The lean form needs no copy of the pairs in the workspace, but may have to copy the result: right for what
 * is rare or what must fit.  The other form is the one that CUB's own benchmarks measure.
 */
template <typename Key>
void radix_sort_measure(Workspace *workspace, uint64_t n, bool has_values, bool lean);

template <typename Key>
DevSortStatus radix_sort(const PairSortJob<Key> *job, bool lean, const Workspace *workspace,
						 cudaStream_t stream);

#endif /* DEVSORT_RADIX_SORT_H */
