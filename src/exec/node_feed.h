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

/*
 * Returns the feed below this Gather's state; NULL: the child is not a feed, or the state is not a Gather's.
 */
extern GpuSortFeedState *node_feed_below(const PlanState *gather);

/*
 * In the first process: sets the sorter and the key that this process, and the workers of the Gather, will
 * feed.  complete_rows: do rows have all sort columns?  NULL: there is no sorter any more.  The sorter must
 * exist until all workers have ended.
 */
extern void node_feed_set_sorter(GpuSortFeedState *state, Sorter *sorter, SortKey *key, bool complete_rows);

/*
 * In the first process: the Gather has returned its last row.  Tells the sorter which workers were lone
 * workers.
 */
extern void node_feed_close(GpuSortFeedState *state);

/*
 * In the first process: was the last row from the Gather a dummy row?  Such a row says that the sorter has
 * all rows, and that workers stay to help to return them.
 */
extern bool node_feed_has_handed_over(const GpuSortFeedState *state);

#endif /* GPUSORT_EXEC_NODE_FEED_H */
