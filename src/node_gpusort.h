/*
 * node_gpusort.h
 *		The executor node GpuSort.
 */
#ifndef GPUSORT_NODE_GPUSORT_H
#define GPUSORT_NODE_GPUSORT_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

#include "sort_feed.h"
#include "sorter.h"

typedef struct GpuSortState
{
	CustomScanState css;		/* must be first */
	bool		random_access;	/* may be read backwards, again, or from a mark */
	bool		restartable;	/* may the input be read once more? */
	SortKey    *key;
	int			key_width;		/* bytes of a key, by estimate */
	Bitmapset  *unused;			/* columns of the input that need not be kept */
	Sorter	   *sorter;			/* NULL until the first row is asked for */
	bool		returned_rows;	/* any, of this sorter */

	/* For EXPLAIN ANALYZE. */
	const char *device;			/* of the last sort performed; NULL: none was */
	SorterStats stats;			/* of the last sort performed, but its times are of all of them */
	double		feed_ms;		/* all sorts: reading the input, encoding and copying */
} GpuSortState;

/* Methods of the node, to be registered under its name. */
extern const CustomScanMethods gpusort_scan_methods;

/* Is this state a GpuSort's? */
extern bool node_is_gpusort(const PlanState *state);

#endif							/* GPUSORT_NODE_GPUSORT_H */
