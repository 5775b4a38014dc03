/*
 * exec/key_statistics.h
 *		The keys of values that the statistics have, to split a sort by.
 */
#ifndef GPUSORT_EXEC_KEY_STATISTICS_H
#define GPUSORT_EXEC_KEY_STATISTICS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "device/sorter.h"
#include "key/sort_key.h"
#include "sort/splitters.h"

/*
 * Of the rows that come to this GpuSort, of that description, with that key; in order, in the query's memory
 * context.  NULL: nothing is known of them.
 */
extern KeySample *key_sample_of_input(const ScanState *sort, const SortKey *key, TupleDesc desc);

#endif /* GPUSORT_EXEC_KEY_STATISTICS_H */
