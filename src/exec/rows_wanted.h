/*
 * exec/rows_wanted.h
 *		The number of a GpuSort's rows that the Limit above it wants.
 *
 * The sort reads the count of the Limit when the first row is wanted, because a Limit computes its count
 * before it fetches a row.
 */
#ifndef GPUSORT_EXEC_ROWS_WANTED_H
#define GPUSORT_EXEC_ROWS_WANTED_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "base/group_rows.h"

/* The number of rows that are wanted from the sort. */
typedef struct RowsWanted
{
	uint64 rows;		 /* the first rows of the order; 0: all rows */
	bool with_ties;		 /* and rows equal to the last of these */
	FirstOfGroups first; /* of each group of rows; its n is 0: all */
} RowsWanted;

/* Returns the number that this Limit wants; all rows if the Limit is NULL. */
extern RowsWanted rows_wanted_by(const LimitState *limit);

/* Are the first rows of a sort that were wanted before enough for the number that is wanted now? */
extern bool rows_wanted_suffice(const RowsWanted *were, const RowsWanted *are);

#endif /* GPUSORT_EXEC_ROWS_WANTED_H */
