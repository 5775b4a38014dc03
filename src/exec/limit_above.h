/*
 * exec/limit_above.h
 *		The number of a GpuSort's rows that the Limit above it wants.
 *
 * PostgreSQL tells a Sort its bound, but not a custom scan.  Therefore, when an executor has started, each
 * GpuSort gets the Limit above it, if the Limit bounds the sort.  The sort reads the count of the Limit when
 * the first row is wanted, because a Limit computes its count before it fetches a row.
 */
#ifndef GPUSORT_EXEC_LIMIT_ABOVE_H
#define GPUSORT_EXEC_LIMIT_ABOVE_H

#include "postgres.h"

#include "nodes/execnodes.h"

/* The number of rows that are wanted from the sort. */
typedef struct RowsWanted
{
	uint64 rows;	/* the first rows of the order; 0: all rows */
	bool with_ties; /* and rows equal to the last of these */
} RowsWanted;

/* Once, when the library is loaded. */
extern void limit_above_install_hook(void);

/* A GpuSort's state was made.  When its executor has started, it gets its Limit by set_limit. */
extern void limit_above_expect(void);

/* Returns the number that this Limit wants; all rows if the Limit is NULL. */
extern RowsWanted limit_rows_wanted(const LimitState *limit);

/* Are the first rows of a sort that were wanted before enough for the number that is wanted now? */
extern bool rows_wanted_suffice(const RowsWanted *were, const RowsWanted *are);

#endif /* GPUSORT_EXEC_LIMIT_ABOVE_H */
