/*
 * plan/cost_table.h
 *		What each term of a sort's time takes, in nanoseconds; tools/calibrate wrote it.
 *
 * AMD EPYC, 2 cores, 2026-11-22.  PostgreSQL 15.18 (Debian 15.18-0+deb12u1), device cpu; 418 sorts.  Ratio of
 * the two times, expected against measured: off by 11 % in the median, 30 % at the 90th percentile.  Terms of
 * the cuda device: NVIDIA H200, 16 cores, 2026-11-22; 30 sorts.
 */
#ifndef GPUSORT_PLAN_COST_TABLE_H
#define GPUSORT_PLAN_COST_TABLE_H

#include "plan/predict.h"

/* how much of a processor each process of a parallel plan after the first adds */
#define COST_PROCESSOR_SHARE 0.5

static const double cost_table[COST_TERMS] = {
	/* a Sort, whatever its rows */
	[COST_PG_START] = 0,
	/* a row copied into a tuple of its own */
	[COST_PG_PUT] = 14.62,
	/* a byte of it */
	[COST_PG_PUT_BYTE] = 0,
	/* a byte of memory, of what is more than a cache */
	[COST_PG_MEMORY_BYTE] = 0.4275,
	/* the only column of a row, put as a datum */
	[COST_PG_PUT_DATUM] = 0,
	/* a numeric abbreviated */
	[COST_PG_CONVERT_NUMERIC] = 9.52,
	/* a string in a bytewise collation abbreviated */
	[COST_PG_CONVERT_TEXT] = 45.05,
	/* a string in an ICU collation abbreviated */
	[COST_PG_CONVERT_ICU] = 298.4,
	/* a byte of it */
	[COST_PG_CONVERT_ICU_BYTE] = 1.516e-12,
	/* a level of integers and dates: comparisons compiled into the sort */
	[COST_PG_LEVEL_INT] = 5.643,
	/* a level of other types that have a comparison function for sorts */
	[COST_PG_LEVEL_PLAIN] = 9.281,
	/* a level of types that are compared through the function manager */
	[COST_PG_LEVEL_FUNCTION] = 7.715,
	/* a level of abbreviated keys */
	[COST_PG_LEVEL_ABBREVIATED] = 5.434,
	/* a level of any of these but functions, if the rows are in order or nearly */
	[COST_PG_LEVEL_NEARLY] = 2.644,
	/* a level in which a later column, or what an abbreviated key left out, decides */
	[COST_PG_TIE] = 12.51,
	/* the same, more for numeric */
	[COST_PG_TIE_NUMERIC] = 25.45,
	/* the same, more for strings in bytewise collations */
	[COST_PG_TIE_TEXT] = 2.06,
	/* the same, more for strings in ICU collations */
	[COST_PG_TIE_ICU] = 44.5,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_PG_TIE_FAR] = 22.17,
	/* a row looked at by a top-N heapsort, beyond putting it and comparing it once */
	[COST_PG_HEAP] = 0,
	/* a byte of it, of what is more than a cache */
	[COST_PG_HEAP_BYTE] = 0.1554,
	/* a comparison in its heap, of types other than numeric and strings */
	[COST_PG_HEAP_LEVEL] = 5.105,
	/* a comparison in it, of any type, as far as the heap is larger than a cache */
	[COST_PG_HEAP_FAR] = 18.37,
	/* a row returned */
	[COST_PG_GET] = 20.94,
	/* the only column of a row returned */
	[COST_PG_GET_DATUM] = 16.59,
	/* a byte of it */
	[COST_PG_GET_BYTE] = 0.02806,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_PG_GET_FAR] = 87.01,
	/* a row written to a temporary file and read back once */
	[COST_PG_SPILL] = 82.5,
	/* a byte of it */
	[COST_PG_SPILL_BYTE] = 0.721,
	/* a row of an incremental sort, more than of another */
	[COST_PG_INCREMENTAL] = 16.14,
	/* a sort of one group or some small ones in it */
	[COST_PG_GROUP] = 178.7,
	/* a row passed from process to process in a Gather Merge */
	[COST_PG_GATHER] = 61.13,
	/* a byte of it */
	[COST_PG_GATHER_BYTE] = 0.2601,
	/* a parallel plan's beginning and end */
	[COST_LAUNCH] = 5.421e+06,
	/* a worker of it */
	[COST_LAUNCH_WORKER] = 8.904e+05,
	/* a unit of the planner's cost, of an input that is in memory */
	[COST_INPUT] = 1338,
	/* a row that an index scan fetches, for each doubling of the table beyond a cache, not measured */
	[COST_INPUT_FETCH] = 60,
	/* a GpuSort, whatever its rows */
	[COST_START] = 0,
	/* an ICU collation made ready for one */
	[COST_START_ICU] = 0,
	/* a row copied beside its key */
	[COST_FEED] = 2.901,
	/* a byte of it */
	[COST_FEED_BYTE] = 0.07169,
	/* a byte of memory, of what is more than a cache */
	[COST_MEMORY_BYTE] = 0.2042,
	/* a column of fixed width encoded */
	[COST_ENCODE_FIXED] = 10.53,
	/* a numeric encoded */
	[COST_ENCODE_NUMERIC] = 23.04,
	/* a string encoded bytewise */
	[COST_ENCODE_TEXT] = 13.07,
	/* a string encoded by an ICU collation */
	[COST_ENCODE_ICU] = 0,
	/* one of the first strings in an ICU collation, more */
	[COST_ENCODE_ICU_EARLY] = 670.4,
	/* a byte of a string's key */
	[COST_KEY_BYTE] = 0.06016,
	/* a byte of a string in an ICU collation, more */
	[COST_ICU_BYTE] = 3.081,
	/* a row with a key of fixed width sorted */
	[COST_SORT_FIXED] = 1.021,
	/* a level of them */
	[COST_SORT_FIXED_LEVEL] = 2.688,
	/* a level of them, if the rows are nearly in order */
	[COST_SORT_NEARLY_LEVEL] = 1.495,
	/* a row with another key sorted */
	[COST_SORT_STRING] = 0,
	/* a level of them */
	[COST_SORT_STRING_LEVEL] = 2.687,
	/* 8 more bytes of such a key looked at, because the first ones tie */
	[COST_SORT_STRING_TIE] = 1.998,
	/* a row returned */
	[COST_RETURN] = 20.25,
	/* a byte of it */
	[COST_RETURN_BYTE] = 0.05098,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_RETURN_FAR] = 3.07,
	/* the same, more if several processes fed it */
	[COST_RETURN_SHARED] = 34.08,
	/* a row written to a sorted run and read back once */
	[COST_SPILL] = 18.29,
	/* a byte of it, and of its key if that is written */
	[COST_SPILL_BYTE] = 1.106,
	/* a level of merging runs */
	[COST_MERGE_LEVEL] = 0,
	/* a row that found no room and is passed to the leader, not measured */
	[COST_PASS] = 200,
	/* a bounded sort, more than another one, whatever its rows */
	[COST_START_BOUND] = 6508,
	/* a row that a bounded sort looks at */
	[COST_BOUND] = 13.62,
	/* one that it keeps, for the time being, more than another sort */
	[COST_BOUND_KEPT] = 37.33,
	/* one of the first that it keeps, more than another one */
	[COST_BOUND_EARLY] = 104.6,
	/* a job, whatever its rows */
	[COST_CUDA_JOB] = 9.965e+05,
	/* a row sorted there */
	[COST_CUDA_SORT] = 0,
	/* a byte of its key, sorted there */
	[COST_CUDA_KEY_BYTE] = 0.7173,
	/* a byte of a row and its key on its way back */
	[COST_CUDA_BYTE] = 0.1176,
	/* a row returned */
	[COST_CUDA_RETURN] = 8.987,
};

#endif /* GPUSORT_PLAN_COST_TABLE_H */
