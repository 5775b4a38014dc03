/*
 * sample_sort.h
 *		GPU Sample Sort (Leischner, Osipov, Sanders, IPDPS 2010) behind the interface of pair_sort.h.
 */
#ifndef DEVSORT_SAMPLE_SORT_H
#define DEVSORT_SAMPLE_SORT_H

#include "pairs/pair_sort.h"

#ifdef DEVSORT_FAULTS

/* For tests: makes rare ways common, and counts how often they were taken. */
typedef struct SampleRareWays
{
	int oversampling;		/* instead of SAMPLE_OVERSAMPLING */
	int leaf_max_work;		/* instead of LEAF_MAX_WORK */
	bool counts_all_levels; /* the first of two levels too */
	uint64_t oversized;		/* leaves that were distributed again */
	uint64_t hard;			/* leaves that were merge sorted */
	uint64_t by_radix;		/* parts that CUB's radix sort ended */
} SampleRareWays;

extern SampleRareWays sample_rare_ways;
#endif

template <typename Key>
void sample_sort_measure(Workspace *workspace, uint64_t n);

template <typename Key>
DevSortStatus sample_sort(const PairSortJob<Key> *job, const Workspace *workspace, cudaStream_t stream);

/* The two halves of a sort, as pair_sort.h has them. */
template <typename Key>
DevSortStatus sample_sort_queue(const PairSortJob<Key> *job, const Workspace *workspace,
								const uint32_t **unfinished, cudaStream_t stream);
template <typename Key>
DevSortStatus sample_sort_finish(const PairSortJob<Key> *job, const Workspace *workspace,
								 cudaStream_t stream);

#endif /* DEVSORT_SAMPLE_SORT_H */
