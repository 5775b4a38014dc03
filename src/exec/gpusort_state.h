/*
 * exec/gpusort_state.h
 *		The state of the executor node GpuSort.
 */
#ifndef GPUSORT_EXEC_GPUSORT_STATE_H
#define GPUSORT_EXEC_GPUSORT_STATE_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "device/sorter.h"
#include "exec/own_workers.h"
#include "exec/rows_wanted.h"
#include "exec/worker_sorts.h"
#include "key/sort_key.h"
#include "monitor/progress.h"
#include "sort/splitters.h"

/* The changes of the catalogs that this session has seen. */
typedef struct CatalogsSeen
{
	CommandId command; /* the current command of this transaction */
	SubTransactionId subtransaction;
	uint64 messages; /* invalidation messages that this session has received */
} CatalogsSeen;

typedef struct GpuSortState
{
	CustomScanState css; /* must be first */
	bool random_access;	 /* may the rows be read backwards, again, or from a mark? */
	bool restartable;	 /* may the input be read again? */
	bool few_read;		 /* will only a few rows be read, at positions? */
	LimitState *limit;	 /* the Limit above the sort that bounds it; NULL: none */
	/* the node above, if it wants the first rows of each group; NULL: all rows */
	struct GroupAbove *group_above;
	RowsWanted wanted; /* the number of the sorter's rows that is wanted */
	/* the feed below the Gather that is the input; NULL: the input is no Gather above a feed */
	struct GpuSortFeedState *feed;
	OwnWorkers own_workers; /* workers that the Gather launches only for this sort */
	int ncolumns;
	SortColumnSpec *columns;
	SortKey *key;			   /* NULL until the first row is fetched */
	CatalogsSeen described;	   /* the state when the key was described, or was found current */
	int key_width;			   /* estimated bytes of a key */
	KeySample *sample;		   /* sample of the keys, for a sort that is split; NULL: not made yet, or none */
	Bitmapset *unused;		   /* columns of the input that no node reads later */
	Sorter *sorter;			   /* NULL until the first row is fetched */
	bool performed;			   /* does the sorter return rows? */
	bool coding_ended;		   /* did values come too seldom for codes, so that the input was read again? */
	bool values_full;		   /* because there was no memory for more of them? */
	bool began_reading;		   /* has this sorter begun to read the input? */
	bool returned_rows;		   /* has this sorter returned a row? */
	uint64 rows_returned;	   /* rows that this sorter returned, including rows returned again */
	Progress *progress;		   /* NULL until the first row is fetched */
	WorkerSorts *worker_sorts; /* the sorts of the node's other processes; NULL: no workers were launched */

	/* For EXPLAIN ANALYZE. */
	const char *device; /* device of the last completed sort; NULL: no sort was completed */
	/* times and transfers: of all ended sorts; other fields: of the last one */
	SorterStats past;
	double feed_ms;				 /* total of all sorts: reading the input, encoding and copying */
	const char *fallback;		 /* reason of the last fallback; NULL: there was none */
	const char *fallback_device; /* the device that failed then */
} GpuSortState;

/*
 * Returns the statistics of the node's sorts: times and transfers of all sorts, other fields of the last
 * sort.
 */
extern void gpusort_state_get_stats(const GpuSortState *state, SorterStats *stats);

#endif /* GPUSORT_EXEC_GPUSORT_STATE_H */
