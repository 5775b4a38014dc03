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

typedef struct SortFeed
{
	Sorter	   *sorter;
	SortKey    *key;
	bool		with_others;	/* do other processes feed the same sort? Then rows may find no room */
	Chunk	   *chunk;			/* the one being filled, or NULL */
	RowSource	row;

	/* What of the chunk being filled is counted in the progress view already. */
	uint64		noted_rows;
	Size		noted_bytes;
} SortFeed;

/* unused: columns (attnos) that need not be kept beside the keys, NULL: none. */
extern void sort_feed_begin(SortFeed *feed, Sorter *sorter, SortKey *key, const Bitmapset *unused, bool with_others);

/* Encodes the slot's key and copies its row.  False: the sorter has failed or, with others, there is no room for this row. */
extern bool sort_feed_put(SortFeed *feed, TupleTableSlot *slot);

/* Hands the last chunk to the device. */
extern void sort_feed_end(SortFeed *feed);

#endif							/* GPUSORT_EXEC_CHUNK_FEED_H */
