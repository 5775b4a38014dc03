/*
 * plan/cost_table.h
 *		What each term of a sort's time takes, in nanoseconds; tools/calibrate wrote it.
 *
 * AMD EPYC, 2 cores, 2026-11-22.  PostgreSQL 15.18 (Debian 15.18-0+deb12u1), device cpu; 442 sorts.  Ratio of
 * the two times, expected against measured: off by 13 % in the median, 34 % at the 90th percentile.  Terms of
 * the cuda device: NVIDIA H200, 16 cores, 2026-11-22; 30 sorts.  Terms of text that the C library compares:
 * 68 sorts, later that day; off by 12 % in the median, 50 % at the 90th percentile.  PostgreSQL's byte of
 * memory and its far row (COST_PG_MEMORY_BYTE, COST_PG_GET_FAR) were 0.25 and 49: by tables in order, of
 * which all rows are near, with and without a LIMIT of half of them, more of both together is the memory's.
 * Those of arrays, ranges and composite types (COST_PG_LEVEL_MADE, COST_ENCODE_MADE) are by hand: a sort each
 * of a million int4[], daterange and (int, text, numeric).  COST_START was 0: by sorts of 1000 rows, which
 * bench/sort_grid has.  COST_PG_HEAP_ICU was 32: by the ten first of 100,000 and a million rows.  Terms of
 * groups (COST_HASH_ROW to COST_ORDERED_GROUP) are by hand: of a million rows, with 1000 to a million groups,
 * by DISTINCT and GROUP BY.  COST_RETURN_SHARED was 39.03, when that memory was made and freed by every sort:
 * fitted again on an Intel Xeon, 2 cores, 2026-11-24, the other terms kept; 78 sorts, of 100,000 and a
 * million rows.
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
	[COST_PG_PUT] = 4.8,
	/* a byte of it */
	[COST_PG_PUT_BYTE] = 0,
	/* a byte of memory, of what is more than a cache */
	[COST_PG_MEMORY_BYTE] = 0.4,
	/* the only column of a row, put as a datum */
	[COST_PG_PUT_DATUM] = 0,
	/* a numeric abbreviated */
	[COST_PG_CONVERT_NUMERIC] = 24.38,
	/* a string in a bytewise collation abbreviated */
	[COST_PG_CONVERT_TEXT] = 42.39,
	/* a string in an ICU collation abbreviated */
	[COST_PG_CONVERT_ICU] = 257.4,
	/* a byte of it */
	[COST_PG_CONVERT_ICU_BYTE] = 5.363e-14,
	/* a level of integers and dates: comparisons compiled into the sort */
	[COST_PG_LEVEL_INT] = 5.63,
	/* a level of other types that have a comparison function for sorts */
	[COST_PG_LEVEL_PLAIN] = 8.497,
	/* a level of types that are compared through the function manager */
	[COST_PG_LEVEL_FUNCTION] = 7.222,
	/* a level of arrays, ranges and composite types */
	[COST_PG_LEVEL_MADE] = 95,
	/* a level of abbreviated keys */
	[COST_PG_LEVEL_ABBREVIATED] = 5.255,
	/* a level of any of these but functions, if the rows are in order or nearly */
	[COST_PG_LEVEL_NEARLY] = 2.458,
	/* a level in which a later column, or what an abbreviated key left out, decides */
	[COST_PG_TIE] = 8.32,
	/* the same, more for numeric */
	[COST_PG_TIE_NUMERIC] = 38.03,
	/* the same, more for strings in bytewise collations */
	[COST_PG_TIE_TEXT] = 5.301,
	/* the same, more for strings in ICU collations */
	[COST_PG_TIE_ICU] = 36.52,
	/* the same, more for strings that the C library compares */
	[COST_PG_TIE_LIBC] = 6.197,
	/* a byte of one that is looked at, in locales other than C.UTF-8 */
	[COST_PG_TIE_LIBC_BYTE] = 3.281,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_PG_TIE_LIBC_FAR] = 44.1,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_PG_TIE_FAR] = 23.27,
	/* a row looked at by a top-N heapsort, beyond putting it and comparing it once */
	[COST_PG_HEAP] = 0,
	/* a byte of it, of what is more than a cache */
	[COST_PG_HEAP_BYTE] = 0.09095,
	/* a row compared in it with the last one wanted, more for strings in ICU collations */
	[COST_PG_HEAP_ICU] = 0,
	/* a comparison in its heap, of types other than numeric and strings */
	[COST_PG_HEAP_LEVEL] = 5.059,
	/* a comparison in it, of any type, as far as the heap is larger than a cache */
	[COST_PG_HEAP_FAR] = 14.84,
	/* a row returned */
	[COST_PG_GET] = 23.99,
	/* the only column of a row returned */
	[COST_PG_GET_DATUM] = 14.54,
	/* a byte of it */
	[COST_PG_GET_BYTE] = 0,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_PG_GET_FAR] = 28,
	/* a row written to a temporary file and read back once */
	[COST_PG_SPILL] = 62.88,
	/* a byte of it */
	[COST_PG_SPILL_BYTE] = 0.6428,
	/* a row of an incremental sort, more than of another */
	[COST_PG_INCREMENTAL] = 7.881,
	/* a sort of one group or some small ones in it */
	[COST_PG_GROUP] = 153.8,
	/* a row passed from process to process in a Gather Merge */
	[COST_PG_GATHER] = 53,
	/* a byte of it */
	[COST_PG_GATHER_BYTE] = 0.2837,
	/* a row that is hashed to find its group */
	[COST_HASH_ROW] = 45,
	/* a column of it */
	[COST_HASH_COLUMN] = 10,
	/* the same, of a value that is no number of fixed width */
	[COST_HASH_STRING] = 70,
	/* a group looked for in a table larger than a cache, if not that of the row before */
	[COST_HASH_FAR] = 225,
	/* a group added and returned */
	[COST_HASH_GROUP] = 240,
	/* a row in order compared with the one before it, to form groups */
	[COST_ORDERED_ROW] = 30,
	/* a group returned of these */
	[COST_ORDERED_GROUP] = 60,
	/* a parallel plan's beginning and end */
	[COST_LAUNCH] = 5.396e+06,
	/* a worker of it */
	[COST_LAUNCH_WORKER] = 9.894e+04,
	/* a unit of the planner's cost, of an input that is in memory */
	[COST_INPUT] = 1115,
	/* a row that an index scan fetches, for each doubling of the table beyond a cache */
	[COST_INPUT_FETCH] = 107.1,
	/* a GpuSort, whatever its rows */
	[COST_START] = 5e+04,
	/* an ICU collation made ready for one, not measured */
	[COST_START_ICU] = 0,
	/* a row copied beside its key */
	[COST_FEED] = 5.759,
	/* a byte of it */
	[COST_FEED_BYTE] = 0.05085,
	/* a byte of memory, of what is more than a cache */
	[COST_MEMORY_BYTE] = 0.1272,
	/* a column of fixed width encoded */
	[COST_ENCODE_FIXED] = 7.783,
	/* a numeric encoded */
	[COST_ENCODE_NUMERIC] = 16.82,
	/* a string encoded bytewise */
	[COST_ENCODE_TEXT] = 10.18,
	/* a string encoded by an ICU collation */
	[COST_ENCODE_ICU] = 10.9,
	/* one of the first strings in an ICU collation, more, not measured */
	[COST_ENCODE_ICU_EARLY] = 670.4,
	/* an array, a range or a composite value encoded */
	[COST_ENCODE_MADE] = 50,
	/* a byte of a string's key */
	[COST_KEY_BYTE] = 0.1061,
	/* a byte of a string in an ICU collation, more */
	[COST_ICU_BYTE] = 1.947,
	/* an image of a string made by the C library */
	[COST_ENCODE_LIBC] = 0,
	/* a byte of the string */
	[COST_LIBC_BYTE] = 2.249,
	/* two strings beside each other compared by the C library */
	[COST_VERIFY] = 20.22,
	/* a byte of one that is looked at, in locales other than C.UTF-8 */
	[COST_VERIFY_BYTE] = 6.457,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_VERIFY_FAR] = 143.5,
	/* a row with a key of fixed width sorted */
	[COST_SORT_FIXED] = 11,
	/* a level of them */
	[COST_SORT_FIXED_LEVEL] = 1.042,
	/* a level of them, if the rows are nearly in order */
	[COST_SORT_NEARLY_LEVEL] = 0.2551,
	/* a row with another key sorted */
	[COST_SORT_STRING] = 0,
	/* a level of them */
	[COST_SORT_STRING_LEVEL] = 2.325,
	/* 8 more bytes of such a key looked at, because the first ones tie */
	[COST_SORT_STRING_TIE] = 0.3586,
	/* a row returned */
	[COST_RETURN] = 19.87,
	/* a byte of it */
	[COST_RETURN_BYTE] = 0.04175,
	/* the same, more if the rows are in no order and more than a cache */
	[COST_RETURN_FAR] = 0,
	/* the same, more if several processes fed it and the rows are more than a cache */
	[COST_RETURN_SHARED] = 10.82,
	/* a row written to a sorted run and read back once */
	[COST_SPILL] = 30.45,
	/* a byte of it, and of its key if that is written */
	[COST_SPILL_BYTE] = 0.9028,
	/* a level of merging runs */
	[COST_MERGE_LEVEL] = 1.031,
	/* a bounded sort, more than another one, whatever its rows */
	[COST_START_BOUND] = 2.443e+04,
	/* a row that a bounded sort looks at */
	[COST_BOUND] = 9.116,
	/* one that it keeps, for the time being, more than another sort */
	[COST_BOUND_KEPT] = 44.65,
	/* one of the first that it keeps, more than another one */
	[COST_BOUND_EARLY] = 66.46,
	/* a job, whatever its rows */
	[COST_CUDA_JOB] = 7.749e+05,
	/* a row sorted there */
	[COST_CUDA_SORT] = 0,
	/* a byte of its key, sorted there */
	[COST_CUDA_KEY_BYTE] = 0.4158,
	/* a byte of a row and its key on its way back */
	[COST_CUDA_BYTE] = 0.09523,
	/* a row returned */
	[COST_CUDA_RETURN] = 7.003,
	/* a row put where its key belongs, of a sort on several cards */
	[COST_CUDA_SPLIT] = 20,
	/* a byte of a row and its key that waits for its turn on a card, put where it waits */
	[COST_CUDA_WAIT] = 1,
	/* the same, sent when its turn has come */
	[COST_CUDA_WAIT_SEND] = 0.5,
	/* a byte of a row that waits in a file for its turn on a card, written, and once more read */
	[COST_CUDA_WAIT_FILE] = 0.25,
};

#endif /* GPUSORT_PLAN_COST_TABLE_H */
