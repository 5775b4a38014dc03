/*
 * sort/group_bound.h
 *		Decides which rows of a sort can still be among the first rows of their group that are wanted.
 *
 * The first columns of the sort form *groups*, and only the first n rows of each group are wanted.  While the
 * rows come, a table of all processes keeps the n lowest keys of each group so far (group_table.h).  A row
 * that comes after n keys that were kept is not wanted.  A row that was kept may turn out not to be wanted
 * later; such rows are cut out of chunks.
 *
 * Each process that feeds the sort has a GroupFilter.  A filter that drops too few rows is switched off.
 *
 * Keys may have codes in the place of values (key/coded.h), if the coded columns belong to the groups: equal
 * codes are equal values.  A group whose equal values have several codes is several groups here, of which
 * more rows are kept.  When coding ends, exact keys have another table from then on, and keys that guess have
 * none.
 *
 * Every row that was noted must have gone to the sort.  It must not be dropped as long as its key is not
 * behind n other ones.
 */
#ifndef GPUSORT_SORT_GROUP_BOUND_H
#define GPUSORT_SORT_GROUP_BOUND_H

#include "postgres.h"

#include "base/group_rows.h"
#include "base/spin.h"
#include "key/types.h"
#include "sort/chunk.h"
#include "sort/group_table.h"

/* In memory of all processes of the sort. */
typedef struct GroupBound
{
	FirstOfGroups first;
	double patience; /* number of rows until the filter of a process must have dropped some */
	bool cuts;		 /* are rows cut out that were kept? */
	GroupTable table;
	bool has_plain;	  /* do keys have codes at first, and then none? */
	GroupTable plain; /* then: of keys without codes */

	slock_t mutex;	   /* protects all that follows */
	uint64 dropped;	   /* number of rows that were dropped or cut out */
	int nswitched_off; /* number of processes that have switched their filter off */
} GroupBound;

typedef struct GroupFilter GroupFilter;

/* Can a filter tell which of these rows are not wanted?  verified: keys only guess at the order. */
extern bool group_bound_is_possible(const FirstOfGroups *first, bool verified);

/*
 * Makes a bound.  arena, memory: of the table (group_table.h); patience: number of rows that may come before
 * a filter that drops few is switched off; cuts: does it pay to cut out rows that were kept, and turned out
 * not to be wanted?  False: there is no memory.
 */
extern bool group_bound_init(GroupBound *bound, const FirstOfGroups *first, const SortKey *key, Arena *arena,
							 Size memory, double patience, bool cuts);

/* Has the filter not been switched off? */
extern bool group_filter_is_on(const GroupFilter *filter);

/* Makes the filter of one process, in CurrentMemoryContext.  key: the one that the bound was made for. */
extern GroupFilter *group_filter_create(GroupBound *bound, SortKey *key);

/* The keys that follow have no codes: they are these plain keys. */
extern void group_filter_end_coding(GroupFilter *filter, SortKey *plain);

/* Adds the filter's counts to the bound. */
extern void group_filter_end(GroupFilter *filter);

/* May the row with this key be dropped?  Fixed keys have the sort's width, and are aligned to 8 bytes. */
extern bool group_filter_drops(GroupFilter *filter, const uint8 *key, Size size);

/*
 * The same for some fixed keys: what is known of all of their groups is fetched into the caches first.
 * Returns the number of rows that may be dropped.
 */
extern int group_filter_drops_of(GroupFilter *filter, const uint64 (*keys)[KEY_MAX_WORDS], int n,
								 bool *dropped);

/* Notes that the row with this key was kept.  Of variable keys it is the last one that was encoded. */
extern void group_filter_note(GroupFilter *filter, const uint8 *key, Size size);

/* Returns the number of rows that were dropped. */
extern uint64 group_filter_dropped(const GroupFilter *filter);

/* Takes the rows that turned out not to be wanted out of a chunk, if its keys are as the filter's. */
extern void group_filter_cut(GroupFilter *filter, Chunk *chunk);

/*
 * Are there likely enough of them among `rows` rows that were not cut before, or are fewer enough, to make
 * room?  filter: NULL if there is none.
 */
extern bool group_filter_may_cut(GroupFilter *filter, uint64 rows, bool for_room);

/* Copies the numbers of all processes that have ended their filter, and those of the table. */
extern void group_bound_get(GroupBound *bound, uint64 *dropped, uint64 *groups, Size *bytes,
							bool *switched_off);

#endif /* GPUSORT_SORT_GROUP_BOUND_H */
