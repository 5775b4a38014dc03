/*
 * exec/not_null.h
 *		Columns of a sort's input in which no row has a NULL.
 */
#ifndef GPUSORT_EXEC_NOT_NULL_H
#define GPUSORT_EXEC_NOT_NULL_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "key/sort_key.h"

/*
 * Notes in the sort columns of this input, or of that of the feeds below it, which of them are never NULL.
 * One process finds it out and tells those that feed its sort: they may see a constraint that is new to it.
 */
extern void not_null_columns(PlanState *input, int ncolumns, SortColumnSpec *columns);

#endif /* GPUSORT_EXEC_NOT_NULL_H */
