/*
 * index/joint_feed.h
 *		Feeds a build's sort from the heap, by this process and its own workers.
 */
#ifndef GPUSORT_INDEX_JOINT_FEED_H
#define GPUSORT_INDEX_JOINT_FEED_H

#include "postgres.h"

#include "access/parallel.h"

#include "index/load.h"

/* The result of a scan of the heap. */
typedef struct HeapFeed
{
	double heap_tuples; /* live tuples */
	double index_tuples;
	int workers;			  /* number of launched workers */
	bool is_loaded;			  /* have the processes also loaded the tuples into pages? */
	int loaders;			  /* then: the number of processes that loaded, including this one */
	double fed_ms;			  /* then: milliseconds until all tuples were sorted */
	ParallelContext *context; /* context of the ended workers and their shared memory; or NULL */
} HeapFeed;

/*
 * Scans the heap with up to nworkers workers; the sorter may fail meanwhile.  If the device allows it, the
 * workers also sort and load the index together with this process; then the sorter must have been begun with
 * SortRequest.processes.share.  Must not be called in a parallel worker.
 */
extern void heap_feed(const Load *load, HeapFeed *feed, int nworkers);

/* When the sorter has ended: releases the workers' shared memory. */
extern void heap_feed_end(HeapFeed *feed);

#endif /* GPUSORT_INDEX_JOINT_FEED_H */
