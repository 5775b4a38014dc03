/*
 * check/deparse.h
 *		Sort columns of a plan node in words.
 */
#ifndef GPUSORT_CHECK_DEPARSE_H
#define GPUSORT_CHECK_DEPARSE_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * Returns the sort columns of a Sort or GpuSort as EXPLAIN prints those of a Sort, as strings. context: set
 * to the plan node.
 */
extern List *deparse_sort_keys(const Plan *plan, List *context, bool use_prefix);

/* Returns the grouping columns of a node in the same way. */
extern List *deparse_grouping_keys(const Plan *plan, List *context, bool use_prefix);

/* Returns a column of a node's input. context: set to the plan node above the input. */
extern char *deparse_input_column(const Plan *input, AttrNumber attno, List *context, bool use_prefix);

#endif /* GPUSORT_CHECK_DEPARSE_H */
