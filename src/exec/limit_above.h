/*
 * exec/limit_above.h
 *		How many of a GpuSort's rows the Limit above it wants.
 *
 * PostgreSQL tells a Sort its bound, but no custom scan.  So when an executor has started, each GpuSort in it
 * is told which Limit stands above it, if its bound reaches the sort; the sort asks that for its count when
 * the first row is wanted, for a Limit computes it before it asks for a row.
 */
#ifndef GPUSORT_EXEC_LIMIT_ABOVE_H
#define GPUSORT_EXEC_LIMIT_ABOVE_H

#include "postgres.h"

#include "nodes/execnodes.h"

/* What the sort's rows are wanted for. */
typedef struct RowsWanted
{
	uint64 rows;	/* the first so many; 0: all */
	bool with_ties; /* and those equal to the last of them */
} RowsWanted;

/* Once, when the library is loaded. */
extern void limit_above_install_hook(void);

/* A GpuSort's state was made, and can be told by set_limit, once its executor has started. */
extern void limit_above_expect(void);

/* What this Limit wants, or all if it is NULL. */
extern RowsWanted limit_rows_wanted(const LimitState *limit);

/* Are the rows that were wanted, the first of a sort, enough for what is wanted now? */
extern bool rows_wanted_suffice(const RowsWanted *were, const RowsWanted *are);

#endif /* GPUSORT_EXEC_LIMIT_ABOVE_H */
