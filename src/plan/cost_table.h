/*
 * plan/cost_table.h
 *		What each term of a sort's time takes, in nanoseconds; tools/calibrate wrote it.
 *
 * AMD EPYC, 2 cores, 2026-11-22.  PostgreSQL 15.18 (Debian 15.18-0+deb12u1), device cpu; 422 sorts.  Ratio of
 * the two times, expected against measured: off by 12 % in the median, 39 % at the 90th percentile.
 */
#ifndef GPUSORT_PLAN_COST_TABLE_H
#define GPUSORT_PLAN_COST_TABLE_H

#include "plan/predict.h"

static const double cost_table[COST_TERMS] = {
	/* a Sort, whatever its rows */
	[COST_PG_START] = 0,
	/* a row copied into a tuple of its own */
	[COST_PG_PUT] = 4.577,
	/* a byte of it */
	[COST_PG_PUT_BYTE] = 0.07758,
	/* a byte of memory, of what is more than a cache */
	[COST_PG_MEMORY_BYTE] = 0.4209,
	/* the only column of a row, put as a datum */
	[COST_PG_PUT_DATUM] = 0,
	/* a numeric abbreviated */
	[COST_PG_CONVERT_NUMERIC] = 0,
	/* a string in a bytewise collation abbreviated */
	[COST_PG_CONVERT_TEXT] = 45.57,
	/* a string in an ICU collation abbreviated */
	[COST_PG_CONVERT_ICU] = 299.1,
	/* a byte of it */
	[COST_PG_CONVERT_ICU_BYTE] = 1.242e-12,
	/* a level of integers and dates: comparisons compiled into the sort */
	[COST_PG_LEVEL_INT] = 6.327,
	/* a level of other types that have a comparison function for sorts */
	[COST_PG_LEVEL_PLAIN] = 10.69,
	/* a level of types that are compared through the function manager */
	[COST_PG_LEVEL_FUNCTION] = 7.986,
	/* a level of abbreviated keys */
	[COST_PG_LEVEL_ABBREVIATED] = 5.548,
	/* a level of any of these but functions, if the rows are in order or nearly */
	[COST_PG_LEVEL_NEARLY] = 2.832,
	/* a level in which a later column, or what an abbreviated key left out, decides */
	[COST_PG_TIE] = 11.6,
	/* the same, more for numeric */
	[COST_PG_TIE_NUMERIC] = 24.83,
	/* the same, more for strings in bytewise collations */
	[COST_PG_TIE_TEXT] = 2.013,
	/* the same, more for strings in ICU collations */
	[COST_PG_TIE_ICU] = 43.91,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_PG_TIE_FAR] = 20.28,
	/* a row looked at by a top-N heapsort, beyond putting it and comparing it once */
	[COST_PG_HEAP] = 0,
	/* a row returned */
	[COST_PG_GET] = 23.11,
	/* the only column of a row returned */
	[COST_PG_GET_DATUM] = 18.02,
	/* a byte of it */
	[COST_PG_GET_BYTE] = 0.01641,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_PG_GET_FAR] = 85.12,
	/* a row written to a temporary file and read back once */
	[COST_PG_SPILL] = 80.9,
	/* a byte of it */
	[COST_PG_SPILL_BYTE] = 0.5817,
	/* a row of an incremental sort, more than of another */
	[COST_PG_INCREMENTAL] = 1.686,
	/* a sort of one group or some small ones in it */
	[COST_PG_GROUP] = 456.2,
	/* a row passed from process to process in a Gather Merge */
	[COST_PG_GATHER] = 62.95,
	/* a byte of it */
	[COST_PG_GATHER_BYTE] = 0.2251,
	/* a parallel plan's beginning and end */
	[COST_LAUNCH] = 6.279e+06,
	/* a worker of it */
	[COST_LAUNCH_WORKER] = 3.709e+04,
	/* a unit of the planner's cost, of an input that is in memory */
	[COST_INPUT] = 1325,
	/* a GpuSort, whatever its rows */
	[COST_START] = 0,
	/* an ICU collation made ready for one */
	[COST_START_ICU] = 3671,
	/* a row copied beside its key */
	[COST_FEED] = 5.888,
	/* a byte of it */
	[COST_FEED_BYTE] = 0.1636,
	/* a byte of memory, of what is more than a cache */
	[COST_MEMORY_BYTE] = 0.1417,
	/* a column of fixed width encoded */
	[COST_ENCODE_FIXED] = 1.212,
	/* a numeric encoded */
	[COST_ENCODE_NUMERIC] = 22.2,
	/* a string encoded bytewise */
	[COST_ENCODE_TEXT] = 3.689,
	/* a string encoded by an ICU collation */
	[COST_ENCODE_ICU] = 0,
	/* one of the first strings in an ICU collation, more */
	[COST_ENCODE_ICU_EARLY] = 689.3,
	/* a byte of a string's key */
	[COST_KEY_BYTE] = 0.2163,
	/* a byte of a string in an ICU collation, more */
	[COST_ICU_BYTE] = 2.607,
	/* a row with a key of fixed width sorted */
	[COST_SORT_FIXED] = 4.402,
	/* a level of them */
	[COST_SORT_FIXED_LEVEL] = 2.805,
	/* a level of them, if the rows are nearly in order */
	[COST_SORT_NEARLY_LEVEL] = 1.527,
	/* a row with another key sorted */
	[COST_SORT_STRING] = 0,
	/* a level of them */
	[COST_SORT_STRING_LEVEL] = 2.561,
	/* 8 more bytes of such a key looked at, because the first ones tie */
	[COST_SORT_STRING_TIE] = 0,
	/* a row returned */
	[COST_RETURN] = 20.28,
	/* a byte of it */
	[COST_RETURN_BYTE] = 0.04798,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_RETURN_FAR] = 4.165,
	/* the same, more if several processes fed it */
	[COST_RETURN_SHARED] = 33.09,
	/* a row written to a sorted run and read back once */
	[COST_SPILL] = 21.09,
	/* a byte of it and its key */
	[COST_SPILL_BYTE] = 1.058,
	/* a level of merging runs */
	[COST_MERGE_LEVEL] = 0,
	/* a row that found no room and is passed to the leader, not measured */
	[COST_PASS] = 200,
	/* a bounded sort, more than another one, whatever its rows */
	[COST_START_BOUND] = 1.104e+05,
	/* a row that a bounded sort looks at */
	[COST_BOUND] = 15.85,
	/* one that it keeps, for the time being, more than another sort */
	[COST_BOUND_KEPT] = 53.1,
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
