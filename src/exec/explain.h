/*
 * exec/explain.h
 *		The output of EXPLAIN for a sort, and for the ranks above it.
 */
#ifndef GPUSORT_EXEC_EXPLAIN_H
#define GPUSORT_EXEC_EXPLAIN_H

#include "postgres.h"

#include "base/pg_compat.h"
#include EXPLAIN_HEADERS

#include "nodes/execnodes.h"

/* Prints all properties of a GpuSort. */
extern void explain_sort_node(CustomScanState *sort, List *ancestors, ExplainState *es);

/* Prints all properties of a GpuRank. */
extern void explain_rank_node(CustomScanState *rank, List *ancestors, ExplainState *es);

#endif /* GPUSORT_EXEC_EXPLAIN_H */
