/*
 * exec/explain.h
 *		What EXPLAIN prints of a sort, and of the ranks above it.
 */
#ifndef GPUSORT_EXEC_EXPLAIN_H
#define GPUSORT_EXEC_EXPLAIN_H

#include "postgres.h"

#include "base/pg_compat.h"
#include EXPLAIN_HEADERS

#include "exec/node_gpusort.h"

/* All of a GpuSort's properties. */
extern void explain_sort_node(CustomScanState *sort, List *ancestors, ExplainState *es);

/* All of a GpuRank's. */
extern void explain_rank_node(CustomScanState *rank, List *ancestors, ExplainState *es);

#endif /* GPUSORT_EXEC_EXPLAIN_H */
