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

typedef struct IndexFeed IndexFeed;

/*
 * Takes a tuple, with a marked tid, for which the sort had no room, or which comes when there is nothing to
 * be fed: the next call may take its memory.
 */
typedef void (*IndexFeedPass)(IndexFeed *feed, IndexTuple tuple, void *arg);

struct IndexFeed
{
	Relation index;
	SortKey *key;
	Sorter *sorter; /* NULL: all tuples are passed */
	IndexFeedPass pass;
	void *pass_arg;
	MemoryContext context; /* all that the feed holds */
	SortFeed rows;
	bool is_open; /* may rows be put? */
	uint64 fed;	  /* tuples that were put or passed */
	TupleTableSlot *slot;
	ItemPointerData tid; /* the slot's */
	IndexRow *row;
};

/*
 * Below CurrentMemoryContext, closed at first; key: made of the index, for the sorter's device.  Without a
 * pass function a sorter that refuses a row has failed, and what comes after that is dropped.
 */
extern IndexFeed *index_feed_create(Relation index, SortKey *key, Sorter *sorter, IndexFeedPass pass,
									void *pass_arg);

/* From now on tuples are put into the sorter. */
extern void index_feed_open(IndexFeed *feed, SortFeedSource source);

/* They are passed, until it is opened once more. */
extern void index_feed_close(IndexFeed *feed);

/* An IndexBuildCallback, with a feed as its state. */
extern void index_feed_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool is_alive,
								void *feed);

/* Puts a tuple that another process passed. */
extern void index_feed_put_tuple(IndexFeed *feed, IndexTuple tuple);

/* Closes the feed and releases all that it holds. */
extern void index_feed_end(IndexFeed *feed);

#endif /* GPUSORT_INDEX_INDEX_FEED_H */
