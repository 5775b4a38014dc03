/*
 * bucket_sort.h
 *		GPU Bucket Sort (Dehne, Zaboli, "Deterministic Sample Sort For GPUs", 2010) behind the interface of
 *		pair_sort.h.
 */
#ifndef DEVSORT_BUCKET_SORT_H
#define DEVSORT_BUCKET_SORT_H

#include "pairs/pair_sort.h"

template <typename Key>
void bucket_sort_measure(Workspace *workspace, uint64_t n, int samples);

template <typename Key>
DevSortStatus bucket_sort(const PairSortJob<Key> *job, const Workspace *workspace, cudaStream_t stream);

#endif /* DEVSORT_BUCKET_SORT_H */
