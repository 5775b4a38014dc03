/*
 * exec/feed_state.h
 *		The state of a feed, for chunk_feed.c and batch_feed.c.
 */
#ifndef GPUSORT_EXEC_FEED_STATE_H
#define GPUSORT_EXEC_FEED_STATE_H

#include "postgres.h"

#include "exec/chunk_feed.h"
#include "exec/input_rows.h"
#include "exec/row_source.h"
#include "key/coded.h"
#include "monitor/progress.h"
#include "sort/bound.h"
#include "sort/group_bound.h"
#include "sort/value_bound.h"
#include "sort/value_ranks.h"

/* Rows for one part of the sorter, or for all of it if it has none. */
typedef struct FeedPart
{
	Chunk *chunk; /* the one being filled, or NULL */

	/* What of it is counted in the progress view already. */
	uint64 noted_rows;
	Size noted_bytes;
} FeedPart;

struct SortFeed
{
	Sorter *sorter;
	SortKey *key;
	MemoryContext context;	  /* all that the feed holds */
	BoundFilter *filter;	  /* NULL: all rows are wanted */
	GroupFilter *groups;	  /* NULL: all rows of each group are wanted */
	ValueFilter *lowest;	  /* NULL: rows of all values of the first column are wanted */
	const SortKey *coded_key; /* the key with codes */
	SortKeyCoding *coding;	  /* codes in the key now; NULL: none */
	CodedValues *values;	  /* while rows with codes are fed again */
	bool reads_tails;		  /* may the tails of keys be left to the rows? */
	RowSource row;
	InputBatch *batch; /* rows that are looked up together in the filter of groups; NULL: one at a time */
	int nparts;
	FeedPart parts[FLEXIBLE_ARRAY_MEMBER];
};

/* A row that stands in a table's page: a MinimalTuple, except what precedes its infomask. */
typedef struct PageRow
{
	TupleDesc desc;
	HeapTupleHeader header;
	uint32 length; /* of the MinimalTuple */
} PageRow;

/* Counts what was added to the part's chunk since the last time. */
extern void feed_note_progress(SortFeed *feed, FeedPart *part);

static inline void
feed_note_progress_at_times(SortFeed *feed, FeedPart *part)
{
	if (unlikely(part->chunk != NULL && part->chunk->nrows - part->noted_rows >= PROGRESS_ROWS))
		feed_note_progress(feed, part);
}

/* Notes that the last ones of `rows` rows were left out. */
static inline void
feed_note_left_out(SortFeed *feed, uint64 rows, uint64 last)
{
	if (unlikely(rows % PROGRESS_ROWS < last))
		progress_note_fed(feed->sorter, PROGRESS_ROWS, 0);
}

/* Notes that the row with this key is kept. */
static inline void
feed_note_kept(SortFeed *feed, const uint8 *key, Size size)
{
	if (feed->filter != NULL)
		bound_filter_note(feed->filter, key, size);
	if (feed->groups != NULL)
		group_filter_note(feed->groups, key, size);
	if (feed->lowest != NULL)
		value_filter_note(feed->lowest, key);
}

/* Has coding ended with the keys that were made just now, or in another process? */
static inline bool
feed_coding_ends(const SortFeed *feed)
{
	return feed->coding != NULL && unlikely(sort_key_coding_fails(feed->coding)) &&
		   sort_key_coding_ends(feed->coding);
}

/*
 * Puts a row with this key, which is wanted: one that stands in a page, or that of a slot.  False: the sorter
 * has failed; the page's row has to go through a slot, since the chunk has no room.
 */
extern bool feed_put_wanted_of_page(SortFeed *feed, const uint8 *key, Size size, const PageRow *row,
									bool has_row);
extern bool feed_put_wanted_of_slot(SortFeed *feed, const uint8 *key, Size size, TupleTableSlot *slot,
									bool has_row);

#endif /* GPUSORT_EXEC_FEED_STATE_H */
