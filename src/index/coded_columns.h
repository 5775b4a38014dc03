/*
 * index/coded_columns.h
 *		The columns of an index whose values get codes while it is built (key/coded.h).
 */
#ifndef GPUSORT_INDEX_CODED_COLUMNS_H
#define GPUSORT_INDEX_CODED_COLUMNS_H

#include "postgres.h"

#include "utils/rel.h"

#include "key/types.h"

/*
 * Returns the columns of the index's key that get codes, as bits: by the setting, and by statistics if there
 * are any.  *values: the expected number of different values of one of them.
 */
extern uint32 index_coded_columns(Relation heap, Relation index, const SortKey *key, double rows,
								  double *values);

#endif /* GPUSORT_INDEX_CODED_COLUMNS_H */
