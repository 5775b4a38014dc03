/*
 * key/prepare.h
 *		Prepares the encoders of described columns.
 */
#ifndef GPUSORT_KEY_PREPARE_H
#define GPUSORT_KEY_PREPARE_H

#include "key/column.h"

/* Prepares the encoders of the column's values, or of their components, in CurrentMemoryContext. */
extern void sort_key_prepare_column(SortKeyColumn *col);

#endif /* GPUSORT_KEY_PREPARE_H */
