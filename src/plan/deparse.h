/*
 * plan/deparse.h
 *		Sort columns of a plan node in words.
 */
#ifndef GPUSORT_PLAN_DEPARSE_H
#define GPUSORT_PLAN_DEPARSE_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* The sort columns of a Sort or GpuSort as Sort prints them, strings; context is set to the plan node. */
extern List *deparse_sort_keys(const Plan *plan, List *context, bool use_prefix);

/* The columns that a node forms groups by, or that a hash join takes of its outer input, in the same way. */
extern List *deparse_grouping_keys(const Plan *plan, List *context, bool use_prefix);

/* A column of a node's input, that is, of what is below the plan node that the context is set to. */
extern char *deparse_input_column(const Plan *input, AttrNumber attno, List *context, bool use_prefix);

#endif /* GPUSORT_PLAN_DEPARSE_H */
