/*
 * exec/key_statistics.h
 *		The keys of values from the statistics, to split a sort.
 */
#ifndef GPUSORT_EXEC_KEY_STATISTICS_H
#define GPUSORT_EXEC_KEY_STATISTICS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "device/sorter.h"
#include "key/sort_key.h"
#include "sort/splitters.h"

/*
 * Returns keys of the rows of this GpuSort's input, in order, in the query's memory context. key: the sort
 * key. desc: the descriptor of the rows.  NULL: there are no statistics.
 */
extern KeySample *key_sample_of_input(const ScanState *sort, const SortKey *key, TupleDesc desc);

#endif /* GPUSORT_EXEC_KEY_STATISTICS_H */
