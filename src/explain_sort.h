/*
 * explain_sort.h
 *		What EXPLAIN prints of a sort.
 */
#ifndef GPUSORT_EXPLAIN_SORT_H
#define GPUSORT_EXPLAIN_SORT_H

#include "postgres.h"

#include "pg_compat.h"
#include EXPLAIN_HEADERS

#include "node_gpusort.h"

/* The sort columns of a Sort or GpuSort as Sort prints them, strings; context is set to the plan node. */
extern List *explain_sort_keys(const Plan *plan, List *context, bool use_prefix);

/* All of a GpuSort's properties. */
extern void explain_sort_node(GpuSortState *state, List *ancestors, ExplainState *es);

#endif							/* GPUSORT_EXPLAIN_SORT_H */
