/*
 * exec/node_feed.h
 *		The executor node GpuSortFeed: in each process of a parallel plan, it feeds the sort of the GpuSort
 *		above the Gather.
 */
#ifndef GPUSORT_EXEC_NODE_FEED_H
#define GPUSORT_EXEC_NODE_FEED_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

#include "device/sorter.h"
#include "key/sort_key.h"

typedef struct GpuSortFeedState GpuSortFeedState;

/* Methods of the node, to be registered under its name. */
extern const CustomScanMethods gpusort_feed_scan_methods;

/* The feed that is the child of this Gather's state; NULL: it is none, or no Gather. */
extern GpuSortFeedState *node_feed_below(const PlanState *gather);

/*
 * In the first process: this sorter, with this key, is to be fed, here and in the workers that the Gather is
 * going to start, with rows that hold all their sort columns or not; NULL: it is gone.  The sorter must stay
 * until all workers have ended.
 */
extern void node_feed_set_sorter(GpuSortFeedState *state, Sorter *sorter, SortKey *key, bool complete_rows);

/* In the first process: the Gather has returned its last row; the sorter is told what it needs to know. */
extern void node_feed_close(GpuSortFeedState *state);

/*
 * In the first process: is the row that the Gather returned last none, but says that the sorter has all rows
 * and that workers stay to help to return them?
 */
extern bool node_feed_has_handed_over(const GpuSortFeedState *state);

#endif /* GPUSORT_EXEC_NODE_FEED_H */
