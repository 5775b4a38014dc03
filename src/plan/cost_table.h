/*
 * plan/cost_table.h
 *		What each term of a sort's time takes, in nanoseconds; tools/calibrate wrote it.
 *
 * AMD EPYC, 2 cores, 2026-11-22.  PostgreSQL 15.18 (Debian 15.18-0+deb12u1), device cpu; 306 sorts.  Ratio of
 * the two times, expected against measured: off by 12 % in the median, 35 % at the 90th percentile.
 */
#ifndef GPUSORT_PLAN_COST_TABLE_H
#define GPUSORT_PLAN_COST_TABLE_H

#include "plan/predict.h"

static const double cost_table[COST_TERMS] = {
	[COST_PG_START] = 0,			   /* a Sort, whatever its rows */
	[COST_PG_PUT] = 3.547,			   /* a row copied into a tuple of its own */
	[COST_PG_PUT_BYTE] = 0.1426,	   /* a byte of it */
	[COST_PG_PUT_DATUM] = 0,		   /* the only column of a row, put as a datum */
	[COST_PG_CONVERT_NUMERIC] = 27.18, /* a numeric abbreviated */
	[COST_PG_CONVERT_TEXT] = 52.6,	   /* a string in a bytewise collation abbreviated */
	[COST_PG_CONVERT_ICU] = 314.9,	   /* a string in an ICU collation abbreviated */
	[COST_PG_CONVERT_ICU_BYTE] = 0,	   /* a byte of it */
	[COST_PG_LEVEL_INT] = 6.447,	   /* a level of integers and dates: comparisons compiled into the sort */
	[COST_PG_LEVEL_PLAIN] = 9.984,	   /* a level of other types that have a comparison function for sorts */
	[COST_PG_LEVEL_FUNCTION] = 9.773,  /* a level of types that are compared through the function manager */
	[COST_PG_LEVEL_ABBREVIATED] = 6.519, /* a level of abbreviated keys */
	/* a level in which a column after one that ties, or what an abbreviated key left out, decides */
	[COST_PG_TIE] =
		14.09,
	[COST_PG_TIE_NUMERIC] = 22.33, /* the same, more for numeric */
	[COST_PG_TIE_TEXT] = 0.5098,   /* the same, more for strings in bytewise collations */
	[COST_PG_TIE_ICU] = 43.63,	   /* the same, more for strings in ICU collations */
	[COST_PG_TIE_FAR] = 30.95,	   /* the same, more if the rows are in no order and more than a cache */
	[COST_PG_HEAP] = 0,	   /* a row looked at by a top-N heapsort, beyond putting it and comparing it once */
	[COST_PG_GET] = 18.88, /* a row returned */
	[COST_PG_GET_BYTE] = 0.05947,	  /* a byte of it */
	[COST_PG_GET_FAR] = 109.8,		  /* the same, more if the rows are in no order and more than a cache */
	[COST_PG_SPILL] = 95.02,		  /* a row written to a temporary file and read back once */
	[COST_PG_SPILL_BYTE] = 0.7564,	  /* a byte of it */
	[COST_PG_INCREMENTAL] = 7.818,	  /* a row of an incremental sort, more than of another */
	[COST_PG_GROUP] = 318.5,		  /* a sort of one group or some small ones in it */
	[COST_PG_GATHER] = 62.4,		  /* a row passed from process to process in a Gather Merge */
	[COST_PG_GATHER_BYTE] = 0.288,	  /* a byte of it */
	[COST_LAUNCH] = 4.658e+06,		  /* a parallel plan's beginning and end */
	[COST_LAUNCH_WORKER] = 5.409e+05, /* a worker of it */
	[COST_INPUT] = 1338,			  /* a unit of the planner's cost, of an input that is in memory */
	[COST_START] = 0,				  /* a GpuSort, whatever its rows */
	[COST_START_ICU] = 4.226e+04,	  /* an ICU collation made ready for one */
	[COST_FEED] = 10.9,				  /* a row copied beside its key */
	[COST_FEED_BYTE] = 0.2376,		  /* a byte of it */
	[COST_ENCODE_FIXED] = 0.112,	  /* a column of fixed width encoded */
	[COST_ENCODE_NUMERIC] = 11.32,	  /* a numeric encoded */
	[COST_ENCODE_TEXT] = 0.7451,	  /* a string encoded bytewise */
	[COST_ENCODE_ICU] = 0,			  /* a string encoded by an ICU collation */
	[COST_ENCODE_ICU_EARLY] = 676.2,  /* one of the first strings in an ICU collation, more */
	[COST_KEY_BYTE] = 0.1189,		  /* a byte of a string's key */
	[COST_ICU_BYTE] = 2.986,		  /* a byte of a string in an ICU collation, more */
	[COST_SORT_FIXED] = 0,			  /* a row with a key of fixed width sorted */
	[COST_SORT_FIXED_LEVEL] = 3.009,  /* a level of them */
	[COST_SORT_STRING] = 0,			  /* a row with another key sorted */
	[COST_SORT_STRING_LEVEL] = 2.981, /* a level of them */
	[COST_SORT_STRING_TIE] = 1.758,	  /* 8 more bytes of such a key looked at, because the first ones tie */
	[COST_RETURN] = 10.86,			  /* a row returned */
	[COST_RETURN_BYTE] = 0.103,		  /* a byte of it */
	[COST_RETURN_FAR] = 16.08,		  /* the same, more if the rows are in no order and more than a cache */
	[COST_RETURN_SHARED] = 28.99,	  /* the same, more if several processes fed it */
	[COST_SPILL] = 28.39,			  /* a row written to a sorted run and read back once */
	[COST_SPILL_BYTE] = 1.16,		  /* a byte of it and its key */
	[COST_MERGE_LEVEL] = 0.2186,	  /* a level of merging runs */
	[COST_PASS] = 200,				  /* a row that found no room and is passed to the leader, not measured */
	[COST_START_BOUND] = 8.984e+04,	  /* a bounded sort, more than another one, whatever its rows */
	[COST_BOUND] = 28.56,			  /* a row that a bounded sort looks at */
	[COST_BOUND_KEPT] = 63.25,		  /* one that it keeps, for the time being, more than another sort */
	[COST_CUDA_JOB] = 2e+06,		  /* a job, whatever its rows, not measured */
	[COST_CUDA_SORT] = 2,			  /* a row sorted there, not measured */
	[COST_CUDA_BYTE] = 0.02,		  /* a byte of a row and its key on its way back, not measured */
	[COST_CUDA_RETURN] = 13			  /* a row returned, not measured */
};

#endif /* GPUSORT_PLAN_COST_TABLE_H */
