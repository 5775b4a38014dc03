/*
 * exec/explain.h
 *		The output of EXPLAIN for a sort, and for the windows above it.
 */
#ifndef GPUSORT_EXEC_EXPLAIN_H
#define GPUSORT_EXEC_EXPLAIN_H

#include "postgres.h"

#include "base/pg_compat.h"
#include EXPLAIN_HEADERS

#include "nodes/execnodes.h"
#include "nodes/extensible.h" /* in 18 it brings ExplainState */

/* Prints all properties of a GpuSort. */
extern void explain_sort_node(CustomScanState *sort, List *ancestors, ExplainState *es);

/* Prints all properties of a GpuSortRanges. */
extern void explain_ranges_node(CustomScanState *ranges, List *ancestors, ExplainState *es);

/* Prints all properties of a GpuWindow. */
extern void explain_window_node(CustomScanState *rank, List *ancestors, ExplainState *es);

#endif /* GPUSORT_EXEC_EXPLAIN_H */
