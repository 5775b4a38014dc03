/*
 * exec/chunk_feed.h
 *		Puts rows into chunks: the path from a slot, or from a table's page, to a device.
 */
#ifndef GPUSORT_EXEC_CHUNK_FEED_H
#define GPUSORT_EXEC_CHUNK_FEED_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "device/sorter.h"
#include "key/sort_key.h"

typedef struct SortFeed SortFeed;

/*
 * Makes a feed below CurrentMemoryContext. desc: the descriptor of the rows. unused: columns (attnos) that no
 * node reads later; they are left out unless the device needs them.  NULL: none.
 */
extern SortFeed *sort_feed_begin(Sorter *sorter, SortKey *key, TupleDesc desc, const Bitmapset *unused);

/*
 * Puts the slot's row, unless a bound leaves it out.  has_row: is the row kept beside its key?  If keys are
 * stored alone and this key tells the whole row (key_row_tells), the row is not kept, and the slot need not
 * have it.  False: the sorter has failed.
 */
extern bool sort_feed_put(SortFeed *feed, TupleTableSlot *slot, bool has_row);

/*
 * Returns the key that rows have now: the coded one, until coding ends.  If that tells rows which the plain
 * key does not, coding may end in sort_feed_put before the row is put; then that returns false, and the row
 * must be put again.
 */
extern SortKey *sort_feed_key(const SortFeed *feed);

/* Ends coding, if it has not ended: a row comes that a key with codes does not tell. */
extern void sort_feed_end_coding(SortFeed *feed);

/* Gives the last chunks to the device, unless the device has failed, and releases all memory of the feed. */
extern void sort_feed_end(SortFeed *feed);

/*
 * Does all steps: puts the rows of an input, unless the sorter fails.  Returns the number of rows that were
 * put.
 */
extern uint64 sort_feed_input(Sorter *sorter, SortKey *key, PlanState *input, const Bitmapset *unused);

#endif /* GPUSORT_EXEC_CHUNK_FEED_H */
