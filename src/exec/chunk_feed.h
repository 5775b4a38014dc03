/*
 * exec/chunk_feed.h
 *		Rows into chunks: the way from a slot to a device.
 */
#ifndef GPUSORT_EXEC_CHUNK_FEED_H
#define GPUSORT_EXEC_CHUNK_FEED_H

#include "postgres.h"

#include "executor/tuptable.h"

#include "device/sorter.h"
#include "exec/row_source.h"
#include "monitor/progress.h"

/* Whose rows are fed. */
typedef enum SortFeedSource
{
	SORT_FEED_ALONE,	   /* this process reads all of the input, or what no other could feed */
	SORT_FEED_WITH_OTHERS, /* its part of it, as others do; rows may find no room */
	SORT_FEED_PASSED_ON	   /* what others read and passed on, though the device may have had it before */
} SortFeedSource;

typedef struct SortFeed
{
	Sorter *sorter;
	int part;				/* of the sorter: that of its rows; 0: the first one, or it has no parts */
	struct SortFeed *parts; /* a feed for each part of the sorter, which get all rows; NULL: it has none */
	SortKey *key;
	SortFeedSource source;
	MemoryContext context; /* all that the feed holds */
	BoundFilter *filter;   /* NULL: all rows are wanted */
	bool reads_tails;	   /* may the tails of keys be left to the rows? */
	bool key_first;		   /* is the key wanted before the row is put: for the filter, or for the parts? */
	Chunk *chunk;		   /* the one being filled, or NULL */
	RowSource row;

	/* What of the chunk being filled is counted in the progress view already. */
	uint64 noted_rows;
	Size noted_bytes;
} SortFeed;

/*
 * Below CurrentMemoryContext.  desc: of the rows; unused: columns (attnos) that need not be kept beside the
 * keys, NULL: none.
 */
extern void sort_feed_begin(SortFeed *feed, Sorter *sorter, SortKey *key, TupleDesc desc,
							const Bitmapset *unused, SortFeedSource source);

/*
 * Encodes the slot's key and copies its row, unless it is not wanted.  False: the sorter has failed or, with
 * others, there is no room for this row.
 */
extern bool sort_feed_put(SortFeed *feed, TupleTableSlot *slot);

/*
 * The same of a row that its variable key says all of (key_row_tells), where keys stand alone and all rows
 * are wanted: the slot need not have the row.
 */
extern bool sort_feed_put_alone(SortFeed *feed, TupleTableSlot *slot);

/*
 * Where there is a filter: can't the row with this key be wanted?  Then it is counted as left out.  Else it
 * must be put, and the filter be told so (bound_filter_note).
 */
static inline bool
sort_feed_leave_out(SortFeed *feed, const uint8 *key, Size size)
{
	BoundFilter *filter = feed->filter;

	if (!bound_filter_drops(filter, key, size))
		return false;
	filter->dropped++;
	if (unlikely(filter->dropped % PROGRESS_ROWS == 0))
		progress_note_fed(feed->sorter, PROGRESS_ROWS, 0);
	return true;
}

/* Rows were added to the feed's chunks, or its parts' chunks, past these calls. */
extern void sort_feed_note_progress(SortFeed *feed);

/* Hands the last chunk to the device, if that goes on, and releases all that the feed holds. */
extern void sort_feed_end(SortFeed *feed);

#endif /* GPUSORT_EXEC_CHUNK_FEED_H */
