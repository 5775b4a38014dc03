/*
 * plan/predict_parts.h
 *		What the files that count a sort's terms share.
 */
#ifndef GPUSORT_PLAN_PREDICT_PARTS_H
#define GPUSORT_PLAN_PREDICT_PARTS_H

#include "plan/predict.h"

/* What part of accesses in no order to so many bytes misses the cache. */
extern double share_far(const SortShape *shape, double bytes);

/* Bytes of memory beyond the cache: they are touched for the first time, and pages come from the kernel. */
extern double bytes_beyond_cache(double bytes);

/* Comparisons a row that tell so many values apart. */
extern double levels_of(double values);

/*
 * How many rows a sort that wants so many of them has to keep for a while: they are lower than what was seen
 * before.
 */
extern double rows_kept(const SortShape *shape, double rows, double wanted);

/* How many different values the column has in so many rows. */
extern double key_values(const SortKeyShape *key, double rows);

/*
 * Bytes of a string of so many rows that comparisons by the C library look at: all, if many strings agree in
 * their first ones.
 */
extern double compared_bytes(const SortKeyShape *key, double rows);

/* Milliseconds that so many of each term take. */
extern double predict_counts(const CostCounts *counts);

extern void count_launch(const SortShape *shape, CostCounts *counts);

#endif /* GPUSORT_PLAN_PREDICT_PARTS_H */
