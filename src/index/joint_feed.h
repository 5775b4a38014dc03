/*
 * index/joint_feed.h
 *		Feeds a build's sort from the heap, by this process and workers of its own.
 */
#ifndef GPUSORT_INDEX_JOINT_FEED_H
#define GPUSORT_INDEX_JOINT_FEED_H

#include "postgres.h"

#include "access/parallel.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "device/sorter.h"
#include "monitor/progress.h"

/* What is scanned, and what for. */
typedef struct HeapFeed
{
	Relation heap;
	Relation index;
	IndexInfo *info; /* ii_BrokenHotChain is set if some process met one */
	SortKey *key;
	Sorter *sorter;
	Progress *progress;

	/* Filled by the scan. */
	double heap_tuples; /* alive ones */
	double index_tuples;
	int workers;			  /* that were launched */
	bool is_loaded;			  /* have they loaded the tuples into pages, too? */
	int loaders;			  /* then: how many of them, this process included */
	double fed_ms;			  /* then: until all were sorted */
	ParallelContext *context; /* of the workers, which have ended, and of what they have left; or NULL */
} HeapFeed;

/* This process alone scans the heap; the sorter may fail meanwhile. */
extern void heap_feed_alone(HeapFeed *feed);

/*
 * With up to so many workers, who sort, and load the index, together if the device can; the sorter was begun
 * with SortRequest.shared.  Must not be called in a parallel worker.
 */
extern void heap_feed_jointly(HeapFeed *feed, int nworkers);

/* When the sorter has ended: releases what the workers have left. */
extern void heap_feed_end(HeapFeed *feed);

#endif /* GPUSORT_INDEX_JOINT_FEED_H */
