/*
 * index/index_feed.h
 *		Puts the values of a heap tuple into a build's sort: the callback of a scan of the heap.
 */
#ifndef GPUSORT_INDEX_INDEX_FEED_H
#define GPUSORT_INDEX_INDEX_FEED_H

#include "postgres.h"

#include "access/itup.h"
#include "utils/relcache.h"

#include "device/sorter.h"
#include "exec/chunk_feed.h"
#include "key/types.h"

typedef struct IndexFeed
{
	Relation index;
	Sorter *sorter;
	MemoryContext context; /* all memory of the feed */
	SortFeed *rows;
	uint64 fed; /* tuples that were put */
	TupleTableSlot *slot;
	ItemPointerData tid; /* the tid of the slot's tuple */
	IndexRow *row;
} IndexFeed;

/*
 * Makes a feed below CurrentMemoryContext. key: the index's key, for the sorter's device.  Tuples that come
 * after the sorter has failed are dropped.
 */
extern IndexFeed *index_feed_create(Relation index, SortKey *key, Sorter *sorter);

/* An IndexBuildCallback, with a feed as its state. */
extern void index_feed_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool is_alive,
								void *feed);

/*
 * Gives the last tuples to the sorter, and releases the feed's memory.  Returns the number of tuples that
 * were put.
 */
extern uint64 index_feed_end(IndexFeed *feed);

#endif /* GPUSORT_INDEX_INDEX_FEED_H */
