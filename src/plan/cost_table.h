/*
 * plan/cost_table.h
 *		What each term of a sort's time takes, in nanoseconds; tools/calibrate wrote it.
 *
 * AMD EPYC, 2 cores, 2026-11-22.  PostgreSQL 15.18 (Debian 15.18-0+deb12u1), device cpu; 422 sorts.  Ratio of
 * the two times, expected against measured: off by 11 % in the median, 32 % at the 90th percentile.
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
	[COST_PG_PUT] = 6.932,
	/* a byte of it */
	[COST_PG_PUT_BYTE] = 0.09773,
	/* a byte of memory, of what is more than a cache */
	[COST_PG_MEMORY_BYTE] = 0.4085,
	/* the only column of a row, put as a datum */
	[COST_PG_PUT_DATUM] = 0,
	/* a numeric abbreviated */
	[COST_PG_CONVERT_NUMERIC] = 2.635,
	/* a string in a bytewise collation abbreviated */
	[COST_PG_CONVERT_TEXT] = 44.01,
	/* a string in an ICU collation abbreviated */
	[COST_PG_CONVERT_ICU] = 297.8,
	/* a byte of it */
	[COST_PG_CONVERT_ICU_BYTE] = 1.283e-12,
	/* a level of integers and dates: comparisons compiled into the sort */
	[COST_PG_LEVEL_INT] = 5.735,
	/* a level of other types that have a comparison function for sorts */
	[COST_PG_LEVEL_PLAIN] = 9.743,
	/* a level of types that are compared through the function manager */
	[COST_PG_LEVEL_FUNCTION] = 7.683,
	/* a level of abbreviated keys */
	[COST_PG_LEVEL_ABBREVIATED] = 5.335,
	/* a level of any of these but functions, if the rows are in order or nearly */
	[COST_PG_LEVEL_NEARLY] = 2.626,
	/* a level in which a later column, or what an abbreviated key left out, decides */
	[COST_PG_TIE] = 11.39,
	/* the same, more for numeric */
	[COST_PG_TIE_NUMERIC] = 25.73,
	/* the same, more for strings in bytewise collations */
	[COST_PG_TIE_TEXT] = 2.249,
	/* the same, more for strings in ICU collations */
	[COST_PG_TIE_ICU] = 44.61,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_PG_TIE_FAR] = 23.14,
	/* a row looked at by a top-N heapsort, beyond putting it and comparing it once */
	[COST_PG_HEAP] = 0.1697,
	/* a comparison in its heap, of types other than numeric and strings */
	[COST_PG_HEAP_LEVEL] = 10.09,
	/* a comparison in it, of any type, as far as the heap is larger than a cache */
	[COST_PG_HEAP_FAR] = 22.38,
	/* a row returned */
	[COST_PG_GET] = 22.32,
	/* the only column of a row returned */
	[COST_PG_GET_DATUM] = 16.91,
	/* a byte of it */
	[COST_PG_GET_BYTE] = 0.01821,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_PG_GET_FAR] = 85.89,
	/* a row written to a temporary file and read back once */
	[COST_PG_SPILL] = 94.43,
	/* a byte of it */
	[COST_PG_SPILL_BYTE] = 0.7088,
	/* a row of an incremental sort, more than of another */
	[COST_PG_INCREMENTAL] = 7.032,
	/* a sort of one group or some small ones in it */
	[COST_PG_GROUP] = 316.2,
	/* a row passed from process to process in a Gather Merge */
	[COST_PG_GATHER] = 67.04,
	/* a byte of it */
	[COST_PG_GATHER_BYTE] = 0.2461,
	/* a parallel plan's beginning and end */
	[COST_LAUNCH] = 5.785e+06,
	/* a worker of it */
	[COST_LAUNCH_WORKER] = 1.848e+05,
	/* a unit of the planner's cost, of an input that is in memory */
	[COST_INPUT] = 1321,
	/* a row that an index scan fetches from anywhere in a table larger than a cache, not measured */
	[COST_INPUT_FETCH] = 600,
	/* a GpuSort, whatever its rows */
	[COST_START] = 0,
	/* an ICU collation made ready for one */
	[COST_START_ICU] = 0,
	/* a row copied beside its key */
	[COST_FEED] = 1.739,
	/* a byte of it */
	[COST_FEED_BYTE] = 0.09405,
	/* a byte of memory, of what is more than a cache */
	[COST_MEMORY_BYTE] = 0.1661,
	/* a column of fixed width encoded */
	[COST_ENCODE_FIXED] = 10.8,
	/* a numeric encoded */
	[COST_ENCODE_NUMERIC] = 20.93,
	/* a string encoded bytewise */
	[COST_ENCODE_TEXT] = 13.08,
	/* a string encoded by an ICU collation */
	[COST_ENCODE_ICU] = 0,
	/* one of the first strings in an ICU collation, more */
	[COST_ENCODE_ICU_EARLY] = 674,
	/* a byte of a string's key */
	[COST_KEY_BYTE] = 0,
	/* a byte of a string in an ICU collation, more */
	[COST_ICU_BYTE] = 3.082,
	/* a row with a key of fixed width sorted */
	[COST_SORT_FIXED] = 0,
	/* a level of them */
	[COST_SORT_FIXED_LEVEL] = 2.81,
	/* a level of them, if the rows are nearly in order */
	[COST_SORT_NEARLY_LEVEL] = 1.59,
	/* a row with another key sorted */
	[COST_SORT_STRING] = 0,
	/* a level of them */
	[COST_SORT_STRING_LEVEL] = 2.696,
	/* 8 more bytes of such a key looked at, because the first ones tie */
	[COST_SORT_STRING_TIE] = 2.36,
	/* a row returned */
	[COST_RETURN] = 19.91,
	/* a byte of it */
	[COST_RETURN_BYTE] = 0.05269,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_RETURN_FAR] = 3.89,
	/* the same, more if several processes fed it */
	[COST_RETURN_SHARED] = 34.52,
	/* a row written to a sorted run and read back once */
	[COST_SPILL] = 18.97,
	/* a byte of it and its key */
	[COST_SPILL_BYTE] = 1.117,
	/* a level of merging runs */
	[COST_MERGE_LEVEL] = 0,
	/* a row that found no room and is passed to the leader, not measured */
	[COST_PASS] = 200,
	/* a bounded sort, more than another one, whatever its rows */
	[COST_START_BOUND] = 3.209e+04,
	/* a row that a bounded sort looks at */
	[COST_BOUND] = 15.95,
	/* one that it keeps, for the time being, more than another sort */
	[COST_BOUND_KEPT] = 88.59,
	/* a job, whatever its rows, not measured */
	[COST_CUDA_JOB] = 2e+06,
	/* a row sorted there, not measured */
	[COST_CUDA_SORT] = 2,
	/* a byte of a row and its key on its way back, not measured */
	[COST_CUDA_BYTE] = 0.02,
	/* a row returned, not measured */
	[COST_CUDA_RETURN] = 13,
};

#endif /* GPUSORT_PLAN_COST_TABLE_H */
