/*
 * index/index_feed.h
 *		The values of a heap tuple into a build's sort: the callback of a scan of the heap.
 */
#ifndef GPUSORT_INDEX_INDEX_FEED_H
#define GPUSORT_INDEX_INDEX_FEED_H

#include "postgres.h"

#include "access/itup.h"
#include "utils/relcache.h"

#include "device/sorter.h"
#include "exec/chunk_feed.h"
#include "key/key_row.h"

typedef struct IndexFeed
{
	Relation index;
	SortKey *key;
	Sorter *sorter;
	MemoryContext context; /* all that the feed holds */
	SortFeed *rows;
	uint64 fed; /* tuples that were put */
	TupleTableSlot *slot;
	ItemPointerData tid; /* the slot's */
	IndexRow *row;
} IndexFeed;

/*
 * Below CurrentMemoryContext; key: made of the index, for the sorter's device.  What comes when the sorter
 * has failed is dropped.
 */
extern IndexFeed *index_feed_create(Relation index, SortKey *key, Sorter *sorter);

/* An IndexBuildCallback, with a feed as its state. */
extern void index_feed_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool is_alive,
								void *feed);

/* Hands the last tuples to the sorter, and releases all that the feed holds; how many were put. */
extern uint64 index_feed_end(IndexFeed *feed);

#endif /* GPUSORT_INDEX_INDEX_FEED_H */
