/*
 * exec/not_null.h
 *		Columns of a sort's input in which no row has a NULL.
 */
#ifndef GPUSORT_EXEC_NOT_NULL_H
#define GPUSORT_EXEC_NOT_NULL_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "key/types.h"

/*
 * Sets not_null in the sort columns of this input, or of the input of the feeds below it.  One process
 * decides this and tells the processes that feed its sort, because they may see a newer constraint.
 */
extern void not_null_columns(PlanState *input, int ncolumns, SortColumnSpec *columns);

#endif /* GPUSORT_EXEC_NOT_NULL_H */
