/*
 * sample_sort.h
 *		GPU Sample Sort (Leischner, Osipov, Sanders, IPDPS 2010) behind the interface of pair_sort.h.
 */
#ifndef DEVSORT_SAMPLE_SORT_H
#define DEVSORT_SAMPLE_SORT_H

#include "pair_sort.h"

template <typename Key>
void		sample_sort_measure(Workspace *workspace, uint64_t n);

template <typename Key>
DevSortStatus sample_sort(const PairSortJob<Key> *job, const Workspace *workspace, cudaStream_t stream);

#endif							/* DEVSORT_SAMPLE_SORT_H */
