/*
 * pair_sort.h
 *		Sorting (key, value) pairs whose key is one unsigned integer: what everything wider is made of.
 *
 * Internal.  Key is uint32_t, uint64_t or WideKey, values are uint32_t.  WideKey, 16 bytes, is for sample
 * sort alone: whatever algorithm is asked for.  Sorting other keys of 16 to 32 bytes (wide_sort.cu) and
 * strings (strings/sort.cu) means sorting pairs with keys of 64 bits, several times if need be.
 */
#ifndef DEVSORT_PAIR_SORT_H
#define DEVSORT_PAIR_SORT_H

#include "base/workspace.h"

/*
 * n pairs at keys, values, which are overwritten; the result is at sorted_keys, sorted_values.  values and
 * sorted_values are both NULL when keys alone are sorted.  n is at most DEVSORT_MAX_ROWS, 0 is allowed.
 */
template <typename Key>
struct PairSortJob
{
	DevSortAlgorithm algorithm; /* DEVSORT_AUTO: sample sort, the fastest */
	uint64_t n;
	Key *keys;
	uint32_t *values;
	Key *sorted_keys;
	uint32_t *sorted_values;
	bool big_endian; /* keys are byte strings in memcmp order, not native integers */
	bool keys_crowd; /* are keys of a short sort expected to be close to others?  Decides on time alone. */
	uint64_t seed;
	int samples; /* bucket sort's s; 0: the tuned one */
	const DevSortStages *stages;
};

/*
 * Takes what pair_sort needs for up to n pairs, with or without values, from the workspace (or measures it).
 */
template <typename Key>
void pair_sort_measure(Workspace *workspace, DevSortAlgorithm algorithm, uint64_t n, bool has_values,
					   int samples);

/*
 * Sorts in a workspace whose rest is at least what pair_sort_measure takes; leaves workspace->used as it was.
 * pair_sort_queue and pair_sort_finish, one after the other.
 */
template <typename Key>
DevSortStatus pair_sort(const PairSortJob<Key> *job, const Workspace *workspace, cudaStream_t stream);

/*
 * Queues a sort, of which now and then a part is left to pair_sort_finish: if *unfinished, a number in the
 * workspace, is not 0 when the queue comes to its end.  unfinished becomes NULL where nothing ever is left.
 * So more may be queued behind the sort before anybody waits, if it looks at the number first.
 */
template <typename Key>
DevSortStatus pair_sort_queue(const PairSortJob<Key> *job, const Workspace *workspace,
							  const uint32_t **unfinished, cudaStream_t stream);

/*
 * Sorts what pair_sort_queue, of the same job and workspace, has left, if anything; both are as it left them.
 * Waits for the stream.  Not to be called where unfinished is NULL.
 */
template <typename Key>
DevSortStatus pair_sort_finish(const PairSortJob<Key> *job, const Workspace *workspace, cudaStream_t stream);

/* Is there such an algorithm? */
static inline DevSortStatus
check_algorithm(DevSortAlgorithm algorithm)
{
	if ((int) algorithm < DEVSORT_AUTO || (int) algorithm > DEVSORT_RADIX)
		return status_make(DEVSORT_INVALID, "algorithm %d does not exist; allowed are %d to %d",
						   (int) algorithm, (int) DEVSORT_AUTO, (int) DEVSORT_RADIX);
	return status_ok();
}

/* Tells the caller's stage hook; no-op without one. */
static inline void
stage_begin(const DevSortStages *stages, const char *stage, cudaStream_t stream)
{
	if (stages)
		stages->begin(stages->arg, stage, stream);
}

#endif /* DEVSORT_PAIR_SORT_H */
