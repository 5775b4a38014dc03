/*
 * plan/cost_table.h
 *		What each term of a sort's time (cost_terms.h) takes, in nanoseconds; tools/calibrate wrote it.
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
	[COST_PG_START] = 0,
	[COST_PG_PUT] = 4.8,
	[COST_PG_PUT_BYTE] = 0,
	[COST_PG_MEMORY_BYTE] = 0.4,
	[COST_PG_PUT_DATUM] = 0,
	[COST_PG_CONVERT_NUMERIC] = 24.38,
	[COST_PG_CONVERT_TEXT] = 42.39,
	[COST_PG_CONVERT_ICU] = 257.4,
	[COST_PG_CONVERT_ICU_BYTE] = 5.363e-14,
	[COST_PG_LEVEL_INT] = 5.63,
	[COST_PG_LEVEL_PLAIN] = 8.497,
	[COST_PG_LEVEL_FUNCTION] = 7.222,
	[COST_PG_LEVEL_MADE] = 95,
	[COST_PG_LEVEL_ABBREVIATED] = 5.255,
	[COST_PG_LEVEL_NEARLY] = 2.458,
	[COST_PG_TIE] = 8.32,
	[COST_PG_TIE_NUMERIC] = 38.03,
	[COST_PG_TIE_TEXT] = 5.301,
	[COST_PG_TIE_ICU] = 36.52,
	[COST_PG_TIE_LIBC] = 6.197,
	[COST_PG_TIE_LIBC_BYTE] = 3.281,
	[COST_PG_TIE_LIBC_FAR] = 44.1,
	[COST_PG_TIE_FAR] = 23.27,
	[COST_PG_HEAP] = 0,
	[COST_PG_HEAP_BYTE] = 0.09095,
	[COST_PG_HEAP_ICU] = 0,
	[COST_PG_HEAP_LEVEL] = 5.059,
	[COST_PG_HEAP_FAR] = 14.84,
	[COST_PG_GET] = 23.99,
	[COST_PG_GET_DATUM] = 14.54,
	[COST_PG_GET_BYTE] = 0,
	[COST_PG_GET_FAR] = 28,
	[COST_PG_SPILL] = 62.88,
	[COST_PG_SPILL_BYTE] = 0.6428,
	[COST_PG_INCREMENTAL] = 7.881,
	[COST_PG_GROUP] = 153.8,
	[COST_PG_GATHER] = 53,
	[COST_PG_GATHER_BYTE] = 0.2837,
	[COST_HASH_ROW] = 45,
	[COST_HASH_COLUMN] = 10,
	[COST_HASH_STRING] = 70,
	[COST_HASH_FAR] = 225,
	[COST_HASH_GROUP] = 240,
	[COST_ORDERED_ROW] = 30,
	[COST_ORDERED_GROUP] = 60,
	[COST_LAUNCH] = 5.396e+06,
	[COST_LAUNCH_WORKER] = 9.894e+04,
	[COST_INPUT] = 1115,
	[COST_INPUT_FETCH] = 107.1,
	[COST_START] = 5e+04,
	[COST_START_ICU] = 0, /* not measured */
	[COST_FEED] = 5.759,
	[COST_FEED_BYTE] = 0.05085,
	[COST_MEMORY_BYTE] = 0.1272,
	[COST_ENCODE_FIXED] = 7.783,
	[COST_ENCODE_NUMERIC] = 16.82,
	[COST_ENCODE_TEXT] = 10.18,
	[COST_ENCODE_ICU] = 10.9,
	[COST_ENCODE_ICU_EARLY] = 670.4, /* not measured */
	[COST_ENCODE_MADE] = 50,
	[COST_KEY_BYTE] = 0.1061,
	[COST_ICU_BYTE] = 1.947,
	[COST_ENCODE_LIBC] = 0,
	[COST_LIBC_BYTE] = 2.249,
	[COST_VERIFY] = 20.22,
	[COST_VERIFY_BYTE] = 6.457,
	[COST_VERIFY_FAR] = 143.5,
	[COST_SORT_FIXED] = 11,
	[COST_SORT_FIXED_LEVEL] = 1.042,
	[COST_SORT_NEARLY_LEVEL] = 0.2551,
	[COST_SORT_STRING] = 0,
	[COST_SORT_STRING_LEVEL] = 2.325,
	[COST_SORT_STRING_TIE] = 0.3586,
	[COST_RETURN] = 19.87,
	[COST_RETURN_BYTE] = 0.04175,
	[COST_RETURN_FAR] = 0,
	[COST_RETURN_SHARED] = 10.82,
	[COST_SPILL] = 30.45,
	[COST_SPILL_BYTE] = 0.9028,
	[COST_MERGE_LEVEL] = 1.031,
	[COST_START_BOUND] = 2.443e+04,
	[COST_BOUND] = 9.116,
	[COST_BOUND_KEPT] = 44.65,
	[COST_BOUND_EARLY] = 66.46,
	[COST_CUDA_JOB] = 7.749e+05,
	[COST_CUDA_SORT] = 0,
	[COST_CUDA_KEY_BYTE] = 0.4158,
	[COST_CUDA_BYTE] = 0.09523,
	[COST_CUDA_RETURN] = 7.003,
	[COST_CUDA_SPLIT] = 20,
	[COST_CUDA_WAIT] = 1,
	[COST_CUDA_WAIT_SEND] = 0.5,
	[COST_CUDA_WAIT_FILE] = 0.25,
};

#endif /* GPUSORT_PLAN_COST_TABLE_H */
