/*
 * plan/predict_terms.h
 *		The terms of a prediction: their counts and times, and what the files that count them have in common.
 *
 * Nothing in the files named predict needs a running server: tools/calibrate links them into a separate
 * program.
 */
#ifndef GPUSORT_PLAN_PREDICT_TERMS_H
#define GPUSORT_PLAN_PREDICT_TERMS_H

#include "postgres.h"

#include "plan/sort_shape.h"

typedef enum CostTerm
{
#define COST_TERM(name, ns, what) COST_##name,
#include "plan/cost_terms.h"
#undef COST_TERM
	COST_TERMS
} CostTerm;

/* The counts of each term. */
typedef struct CostCounts
{
	double first[COST_TERMS]; /* until the first row */
	double rest[COST_TERMS];  /* for all other rows */
} CostCounts;

/* Milliseconds. */
typedef struct SortTime
{
	double first;
	double rest;
} SortTime;

/* Returns how many times as much work all processes do as one process would. */
extern double running_processes(const SortShape *shape);

/* Returns the share of random accesses to `bytes` bytes that miss the cache. */
extern double share_far(const SortShape *shape, double bytes);

/*
 * Returns the bytes of memory beyond the cache.  They are touched for the first time, and the kernel makes
 * their pages.
 */
extern double bytes_beyond_cache(double bytes);

/* Returns the comparisons for each row that distinguish this number of values. */
extern double levels_of(double values);

/*
 * Returns the number of rows that a bounded sort keeps for a while, because they are lower than the rows
 * before. wanted: the bound.
 */
extern double rows_kept(const SortShape *shape, double rows, double wanted);

/* Returns the number of different values of the column in `rows` rows. */
extern double key_values(const SortKeyShape *key, double rows);

/*
 * Returns the bytes of a string that comparisons by the C library read: all, if many strings agree in their
 * first bytes.
 */
extern double compared_bytes(const SortKeyShape *key, double rows);

/* Returns the milliseconds of these counts of each term. */
extern double predict_counts(const CostCounts *counts);

/* Counts the launch of a sort's processes. */
extern void count_launch(const SortShape *shape, CostCounts *counts);

/* Returns the additional accesses to the table of an index scan, as a count of COST_INPUT_FETCH. */
extern double count_fetches(const SortShape *shape);

/* Returns the time of these counts, for the processes of this shape. */
extern SortTime predict_sort(const SortShape *shape, const CostCounts *counts);

/* Returns the milliseconds of this count of a term. */
extern double predict_term(CostTerm term, double count);

#endif /* GPUSORT_PLAN_PREDICT_TERMS_H */
