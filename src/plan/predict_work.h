/*
 * plan/predict_work.h
 *		The work of a GpuSort, by device, and what the devices' work has in common.
 *
 * A device is a DeviceWork in a file of its own.
 */
#ifndef GPUSORT_PLAN_PREDICT_WORK_H
#define GPUSORT_PLAN_PREDICT_WORK_H

#include "postgres.h"

#include "plan/predict_terms.h"

typedef struct DeviceWork
{
	/* Returns the number of rows for which there is room. */
	double (*room)(const SortShape *shape);

	/* Returns the bytes of memory for this number of rows, regardless of the limit. */
	double (*memory)(const SortShape *shape, double rows);

	/* Returns the bytes of temporary files for rows for which there is no room. */
	double (*temp)(const SortShape *shape, double rows);

	/* Counts the sorting and the return of rows that were fed. */
	void (*count)(const SortShape *shape, double rows, CostCounts *counts);
} DeviceWork;

extern const DeviceWork predict_on_cpu;
extern const DeviceWork predict_on_cuda;

/* Return bytes of a row: of its tuple; of all that is kept of it; in a run. */
extern double work_tuple_bytes(const SortShape *shape);
extern double work_stored_bytes(const SortShape *shape);
extern double work_run_bytes(const SortShape *shape);

/* Does the device keep keys, and no rows? */
extern bool work_keeps_keys_alone(const SortShape *shape);

/* Returns the class by which a column is encoded: images of strings are made in the same way for all. */
extern SortKeyClass work_encoded_class(const SortKeyShape *key);

/*
 * Returns the number of wanted rows, if others are dropped: for that their keys must say the order; else -1.
 * A shape with codes has the number that its first column tells (predict_codes.c).
 */
extern double work_bound(const SortShape *shape);

/* Does this column have codes in place of its values (predict_codes.h)? */
extern bool work_has_code(const SortShape *shape, int column);

/* Counts the columns of `rows` rows that are encoded; a column that has codes is not. */
extern void count_encoding(const SortShape *shape, double rows, double *counts);

/*
 * Counts rows that are compared by the columns whose order is verified. far: the share of the rows that miss
 * the cache.
 */
extern void count_verification(const SortShape *shape, double times, double far, double *counts);

/* Count the same for one column; the first one what is done once, for the first of `rows` strings. */
extern void count_first_strings_of(const SortShape *shape, const SortKeyShape *key, double rows,
								   double *counts);
extern void count_encoding_of(const SortKeyShape *key, double rows, double *counts);
extern void count_verification_of(const SortKeyShape *key, double rows, double times, double far,
								  double *counts);

/* Counts rows that are returned in the sequence in which they stand. */
extern void count_returned(const SortShape *shape, double rows, double *counts);

/*
 * Counts runs that this number of processes write, and merge until there are few.  Then one process merges
 * the runs, and returns the rows.
 */
extern void count_runs(const SortShape *shape, double rows, double runs, double writers, CostCounts *counts);

#endif /* GPUSORT_PLAN_PREDICT_WORK_H */
