/*
 * plan/predict_codes.h
 *		Sorts whose keys have codes in the place of values (key/coded.h): of which columns, and their work.
 */
#ifndef GPUSORT_PLAN_PREDICT_CODES_H
#define GPUSORT_PLAN_PREDICT_CODES_H

#include "postgres.h"

#include "plan/predict_terms.h"

/*
 * Returns the columns whose values get codes, as bits, if the sort is on the cpu device and drops no rows by
 * the order of exact keys; 0: none.  values: the most values of one of them.
 */
extern uint32 predict_coded_columns(const SortShape *shape, double *values);

/* Returns the bytes that values of a column, of this width on average, take in the table of the column. */
extern double predict_values_bytes(double values, double width);

/*
 * Do the tables of `ncolumns` columns fit in the memory of a sort?  largest: the most bytes of one of them.
 */
extern bool predict_tables_fit(double largest, int ncolumns, int processes, double memory);

/* Returns the number of different values of these columns together. */
extern double predict_coded_values(const SortShape *shape, uint32 columns);

/* Returns the bytes of the values of a shape with codes, in tables and while they are ranked; 0: no codes. */
extern double predict_tables_memory(const SortShape *coded);

/* Are all of these columns among those that form the groups? */
extern bool predict_codes_are_within(const SortShape *shape, uint32 columns);

/* Returns the shape of the sort with codes for these columns. */
extern SortShape predict_shape_with_codes(const SortShape *shape, uint32 columns);

/* Counts the look-ups of the coded columns' values in `rows` rows, and the ranks that replace the codes. */
extern void count_codes(const SortShape *coded, double rows, double *counts);

/* Counts the work for each value, which one process does: encoding it, sorting the values. */
extern void count_values(const SortShape *coded, double *counts);

#endif /* GPUSORT_PLAN_PREDICT_CODES_H */
