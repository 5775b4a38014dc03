/*
 * row_numbers.h
 *		The payload of rows that have none of their own: 0, 1, 2, ...
 */
#ifndef DEVSORT_ROW_NUMBERS_H
#define DEVSORT_ROW_NUMBERS_H

#include "base/status.h"

/* Writes 0 .. n - 1; n may be 0. */
DevSortStatus row_numbers_fill(uint32_t *rows, uint64_t n, cudaStream_t stream);

#endif /* DEVSORT_ROW_NUMBERS_H */
