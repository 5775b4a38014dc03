/*
 * exec/node_gpusort.h
 *		The executor node GpuSort.
 */
#ifndef GPUSORT_EXEC_NODE_GPUSORT_H
#define GPUSORT_EXEC_NODE_GPUSORT_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

#include "device/sorter.h"
#include "exec/limit_above.h"
#include "exec/own_workers.h"
#include "exec/worker_sorts.h"
#include "key/sort_key.h"
#include "monitor/progress.h"
#include "sort/splitters.h"

/* What had happened to the catalogs by then. */
typedef struct CatalogsSeen
{
	CommandId command; /* of this transaction */
	SubTransactionId subtransaction;
	uint64 messages; /* that this session has had of others */
} CatalogsSeen;

typedef struct GpuSortState
{
	CustomScanState css;		   /* must be first */
	bool random_access;			   /* may be read backwards, again, or from a mark */
	bool restartable;			   /* may the input be read once more? */
	LimitState *limit;			   /* above it, whose bound reaches it; NULL: none */
	RowsWanted wanted;			   /* of the sorter's rows */
	struct GpuSortFeedState *feed; /* below the Gather that is the input; NULL: an input of another kind */
	OwnWorkers own_workers;		   /* which that launches for this sort alone */
	int ncolumns;
	SortColumnSpec *columns;
	SortKey *key;			/* NULL until the first row is asked for */
	CatalogsSeen described; /* when the key was described, or found to be current */
	int key_width;			/* bytes of a key, by estimate */
	KeySample *sample;	  /* of the keys, for a sort that is split; NULL: not looked for, or there is none */
	Bitmapset *unused;	  /* columns of the input that need not be kept */
	Sorter *sorter;		  /* NULL until the first row is asked for */
	bool performed;		  /* does the sorter return rows? */
	bool began_reading;	  /* the input, for this sorter */
	bool returned_rows;	  /* any, of this sorter */
	uint64 rows_returned; /* by this sorter, those returned again included */
	Progress *progress;	  /* NULL until the first row is asked for */
	WorkerSorts *workers; /* what the node's other processes do; NULL: none were launched */

	/* For EXPLAIN ANALYZE. */
	const char *device; /* of the last sort performed; NULL: none was */
	/* of the sorts that are over; the rest of it is of the last one, but for times and transfers */
	SorterStats past;
	double feed_ms;				 /* all sorts: reading the input, encoding and copying */
	const char *fallback;		 /* why a device was given up, the last time; NULL: none was */
	const char *fallback_device; /* that one */
} GpuSortState;

/* Methods of the node, to be registered under its name. */
extern const CustomScanMethods gpusort_scan_methods;

/* What the node's sorts did so far: times and transfers of all of them, the rest of the last one. */
extern void node_gpusort_get_stats(const GpuSortState *state, SorterStats *stats);

/* Is this state a GpuSort's? */
extern bool node_is_gpusort(const PlanState *state);

#endif /* GPUSORT_EXEC_NODE_GPUSORT_H */
