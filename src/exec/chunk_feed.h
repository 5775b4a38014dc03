/*
 * exec/chunk_feed.h
 *		Rows into chunks: the way from a slot, or from a table's page, to a device.
 */
#ifndef GPUSORT_EXEC_CHUNK_FEED_H
#define GPUSORT_EXEC_CHUNK_FEED_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "device/sorter.h"
#include "key/sort_key.h"

typedef struct SortFeed SortFeed;

/*
 * Below CurrentMemoryContext.  desc: of the rows; unused: columns (attnos) that nothing looks at later, which
 * are left out unless the device needs them, NULL: none.
 */
extern SortFeed *sort_feed_begin(Sorter *sorter, SortKey *key, TupleDesc desc, const Bitmapset *unused);

/*
 * Puts the slot's row, unless it is not wanted.  has_row: is it kept beside its key?  It need not be where
 * keys stand alone and this one says all of the row (key_row_tells); the slot need not have it then.  False:
 * the sorter has failed.
 */
extern bool sort_feed_put(SortFeed *feed, TupleTableSlot *slot, bool has_row);

/* Hands the last chunks to the device, if that goes on, and releases all that the feed holds. */
extern void sort_feed_end(SortFeed *feed);

/* All of it: puts the rows of an input, unless the sorter fails; returns how many were put. */
extern uint64 sort_feed_input(Sorter *sorter, SortKey *key, PlanState *input, const Bitmapset *unused);

#endif /* GPUSORT_EXEC_CHUNK_FEED_H */
