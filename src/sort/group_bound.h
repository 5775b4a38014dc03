/*
 * sort/group_bound.h
 *		Decides which rows of a sort can still be among the first rows of their group that are wanted.
 *
 * The first columns of the sort form *groups*, and only the first n rows of each group are wanted.  While the
 * rows come, a table keeps the n lowest keys of each group so far.  A row that comes after n keys that were
 * kept is not wanted.  A row that was kept may turn out not to be wanted later; the feed cuts such rows out
 * of a chunk before it hands the chunk over.
 *
 * Each process that feeds the sort has a table of its own, a GroupFilter.  The table has limited memory: when
 * it is full, a new group takes the place of another one.  A filter that knows nothing of a group lets its
 * rows pass, so any table is right.  A filter that drops too few rows is switched off.
 *
 * A filter only counts on rows that went to the sort, and not on rows of another process.
 */
#ifndef GPUSORT_SORT_GROUP_BOUND_H
#define GPUSORT_SORT_GROUP_BOUND_H

#include "postgres.h"

#include "storage/spin.h"

#include "base/group_rows.h"
#include "key/types.h"
#include "sort/chunk.h"

/* In memory of all processes of the sort. */
typedef struct GroupBound
{
	FirstOfGroups first;
	Size memory;	 /* bytes of the table of each process */
	double patience; /* number of rows until the filter of a process must have dropped some */
	bool cuts;		 /* are rows cut out that were kept? */

	slock_t mutex;	   /* protects all that follows */
	uint64 dropped;	   /* number of rows that were dropped or cut out */
	uint64 groups;	   /* number of groups in the largest table */
	int nswitched_off; /* number of processes that have switched their filter off */
} GroupBound;

typedef struct GroupFilter GroupFilter;

/* Can a filter tell which of these rows are not wanted, of a sort by this key? */
extern bool group_bound_is_possible(const FirstOfGroups *first, const SortKey *key);

/* Returns the bytes of the tables of all processes, of a sort that may use `limit` bytes. */
extern Size group_bound_memory(Size limit);

/*
 * Makes a bound.  memory: bytes of the tables of all processes; patience: number of rows that may come before
 * a filter that drops few is switched off; cuts: does it pay to cut out rows that were kept, and turned out
 * not to be wanted?
 */
extern void group_bound_init(GroupBound *bound, const FirstOfGroups *first, Size memory, int processes,
							 double patience, bool cuts);

/* Has the filter not been switched off? */
extern bool group_filter_is_on(const GroupFilter *filter);

/* Makes the filter of one process, in CurrentMemoryContext. */
extern GroupFilter *group_filter_create(GroupBound *bound, SortKey *key);

/* Adds the filter's counts to the bound. */
extern void group_filter_end(GroupFilter *filter);

/*
 * May the row with this key be dropped?  Fixed keys have the sort's width, and are aligned to 8 bytes.  The
 * row must be noted if it is kept, before the filter is asked again.
 */
extern bool group_filter_drops(GroupFilter *filter, const uint8 *key, Size size);

/* Fetches into the caches what the filter knows of the group of a fixed key. */
extern void group_filter_fetch(const GroupFilter *filter, const uint64 *key);

/* Notes that the row that the filter was last asked about was kept. */
extern void group_filter_note(GroupFilter *filter);

/* Returns the number of rows that were dropped. */
extern uint64 group_filter_dropped(const GroupFilter *filter);

/*
 * Takes the rows that turned out not to be wanted out of a chunk.  group_filter_cut_filled does so with a
 * chunk that was filled after the one before it, if there are likely enough of these rows; has it?
 */
extern void group_filter_cut(GroupFilter *filter, Chunk *chunk);
extern bool group_filter_cut_filled(GroupFilter *filter, Chunk *chunk);

/* Are there likely enough of them among `rows` rows that were not cut before?  NULL: there are none. */
extern bool group_filter_may_cut(GroupFilter *filter, uint64 rows);

/* Copies the numbers of all processes that have ended their filter. */
extern void group_bound_get(GroupBound *bound, uint64 *dropped, uint64 *groups, bool *switched_off);

#endif /* GPUSORT_SORT_GROUP_BOUND_H */
