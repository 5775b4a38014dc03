/*
 * exec/ranges_state.h
 *		The state of the executor node GpuSortRanges.
 */
#ifndef GPUSORT_EXEC_RANGES_STATE_H
#define GPUSORT_EXEC_RANGES_STATE_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "device/sorter.h"
#include "exec/group_above.h"
#include "exec/row_group.h"
#include "exec/team.h"
#include "exec/worker_sorts.h"
#include "key/sort_key.h"
#include "monitor/progress.h"

/* The processes that read the input.  The first one that comes decides. */
typedef enum RangesBegun
{
	RANGES_NOT_BEGUN,
	RANGES_BY_TEAM, /* all processes that can map the memory of the sort */
	RANGES_BY_ONE	/* a worker that cannot */
} RangesBegun;

/* The state that the processes share, in the query's dynamic shared memory. */
typedef struct RangesShare
{
	TeamShare team;
	pg_atomic_uint32 begun; /* a RangesBegun */
	WorkerSorts sorts;		/* one: by the process that sorted first, or alone.  Must be last */
} RangesShare;

/* Which rows of the order come next. */
typedef enum RangesStage
{
	RANGES_NOT_SORTED,
	RANGES_ALL,		 /* this process returns all rows */
	RANGES_BETWEEN,	 /* it takes the next range */
	RANGES_SKIPPING, /* the rows of the range that are equal to its first row belong to the range before */
	RANGES_INSIDE,
	RANGES_BEHIND, /* rows behind the end of the range that are equal to the first row there */
	RANGES_DONE
} RangesStage;

typedef struct GpuSortRangesState
{
	CustomScanState css; /* must be first */
	int ncolumns;
	SortColumnSpec *columns;
	Bitmapset *unused; /* columns of the input that no node reads later */
	RowGroup *group;
	GroupAbove *group_above;  /* what the node above wants of each group; NULL: all rows */
	MemoryContext memory;	  /* of one sort */
	SortKey *key;			  /* NULL until the sort begins */
	Sorter *sorter;			  /* NULL: the sort has not begun, or this process has no part in it */
	RangesShare *share;		  /* NULL: there are no other processes */
	ParallelContext *context; /* leader: of the workers; NULL: none */
	RangesStage stage;
	Progress *progress;	  /* leader: NULL until the sort begins; workers: NULL */
	uint64 rows_returned; /* by this process */
	WorkerSorts *sorts;	  /* for EXPLAIN: share->sorts, or a copy; NULL: no sort was done */
} GpuSortRangesState;

#endif /* GPUSORT_EXEC_RANGES_STATE_H */
