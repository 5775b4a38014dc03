/*
 * index/joint_feed.h
 *		Feeds a build's sort from the heap, by this process and workers of its own.
 */
#ifndef GPUSORT_INDEX_JOINT_FEED_H
#define GPUSORT_INDEX_JOINT_FEED_H

#include "postgres.h"

#include "access/parallel.h"

#include "index/load.h"

/* What came of a scan of the heap. */
typedef struct HeapFeed
{
	double heap_tuples; /* alive ones */
	double index_tuples;
	int workers;			  /* that were launched */
	bool is_loaded;			  /* have they loaded the tuples into pages, too? */
	int loaders;			  /* then: how many of them, this process included */
	double fed_ms;			  /* then: until all were sorted */
	ParallelContext *context; /* of the workers, which have ended, and of what they have left; or NULL */
} HeapFeed;

/*
 * Scans the heap; the sorter may fail meanwhile.  With up to so many workers, who sort, and load the index,
 * together if the device can; the sorter was begun with SortRequest.processes.share then.  Must not be called
 * in a parallel worker.
 */
extern void heap_feed(const Load *load, HeapFeed *feed, int nworkers);

/* When the sorter has ended: releases what the workers have left. */
extern void heap_feed_end(HeapFeed *feed);

#endif /* GPUSORT_INDEX_JOINT_FEED_H */
