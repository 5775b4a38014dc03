/*
 * plan/cost_table.h
 *		What each term of a sort's time takes, in nanoseconds; tools/calibrate wrote it.
 *
 *
 * PostgreSQL 15.18 (Debian 15.18-0+deb12u1), device cpu; 310 sorts.  Ratio of the two times, expected against
 * measured: off by 15 % in the median, 42 % at the 90th percentile.
 */
#ifndef GPUSORT_PLAN_COST_TABLE_H
#define GPUSORT_PLAN_COST_TABLE_H

#include "plan/predict.h"

static const double cost_table[COST_TERMS] = {
	[COST_PG_START] = 0,					/* a Sort, whatever its rows */
	[COST_PG_PUT] = 0,						/* a row copied into a tuple of its own */
	[COST_PG_PUT_BYTE] = 0.2364,			/* a byte of it */
	[COST_PG_PUT_DATUM] = 0,				/* the only column of a row, put as a datum */
	[COST_PG_CONVERT_NUMERIC] = 34.13,		/* a numeric abbreviated */
	[COST_PG_CONVERT_TEXT] = 52.54,			/* a string in a bytewise collation abbreviated */
	[COST_PG_CONVERT_ICU] = 309.5,			/* a string in an ICU collation abbreviated */
	[COST_PG_CONVERT_ICU_BYTE] = 1.005e-12, /* a byte of it */
	[COST_PG_LEVEL_INT] = 6.666,	  /* a level of integers and dates: comparisons compiled into the sort */
	[COST_PG_LEVEL_PLAIN] = 9.003,	  /* a level of other types that have a comparison function for sorts */
	[COST_PG_LEVEL_FUNCTION] = 11.28, /* a level of types that are compared through the function manager */
	[COST_PG_LEVEL_ABBREVIATED] = 7.248, /* a level of abbreviated keys */
	/* a level in which a column after one that ties, or what an abbreviated key left out, decides */
	[COST_PG_TIE] = 13.57,
	[COST_PG_TIE_NUMERIC] = 24.61, /* the same, more for numeric */
	[COST_PG_TIE_TEXT] = 3.12,	   /* the same, more for strings in bytewise collations */
	[COST_PG_TIE_ICU] = 46.13,	   /* the same, more for strings in ICU collations */
	[COST_PG_TIE_FAR] = 45.46,	   /* the same, more if the rows are in no order and more than a cache */
	[COST_PG_HEAP] = 0,	   /* a row looked at by a top-N heapsort, beyond putting it and comparing it once */
	[COST_PG_GET] = 19.98, /* a row returned */
	[COST_PG_GET_BYTE] = 0.07223,	  /* a byte of it */
	[COST_PG_GET_FAR] = 109.3,		  /* the same, more if the rows are in no order and more than a cache */
	[COST_PG_SPILL] = 72.07,		  /* a row written to a temporary file and read back once */
	[COST_PG_SPILL_BYTE] = 0.6553,	  /* a byte of it */
	[COST_PG_GROUP] = 2000,			  /* a group of an incremental sort, not measured */
	[COST_PG_GATHER] = 577.6,		  /* a row passed from process to process in a Gather Merge */
	[COST_PG_GATHER_BYTE] = 2.389,	  /* a byte of it */
	[COST_LAUNCH] = 4.794e+06,		  /* a parallel plan's beginning and end */
	[COST_LAUNCH_WORKER] = 4.617e+06, /* a worker of it */
	[COST_INPUT] = 1590,			  /* a unit of the planner's cost, of an input that is in memory */
	[COST_START] = 0,				  /* a GpuSort, whatever its rows */
	[COST_START_ICU] = 7.669e+05,	  /* an ICU collation made ready for one */
	[COST_FEED] = 0.645,			  /* a row copied beside its key */
	[COST_FEED_BYTE] = 0.4945,		  /* a byte of it */
	[COST_ENCODE_FIXED] = 0,		  /* a column of fixed width encoded */
	[COST_ENCODE_NUMERIC] = 4.907,	  /* a numeric encoded */
	[COST_ENCODE_TEXT] = 0,			  /* a string encoded bytewise */
	[COST_ENCODE_ICU] = 0,			  /* a string encoded by an ICU collation */
	[COST_KEY_BYTE] = 0,			  /* a byte of a string's key */
	[COST_ICU_BYTE] = 5.242,		  /* a byte of a string in an ICU collation, more */
	[COST_SORT_FIXED] = 29.49,		  /* a row with a key of fixed width sorted */
	[COST_SORT_FIXED_LEVEL] = 1.609,  /* a level of them */
	[COST_SORT_STRING] = 0,			  /* a row with another key sorted */
	[COST_SORT_STRING_LEVEL] = 4.032, /* a level of them */
	[COST_SORT_STRING_TIE] = 3.052,	  /* 8 more bytes of such a key looked at, because the first ones tie */
	[COST_RETURN] = 17.41,			  /* a row returned */
	[COST_RETURN_BYTE] = 0.07674,	  /* a byte of it */
	[COST_RETURN_FAR] = 12.92,		  /* the same, more if the rows are in no order and more than a cache */
	[COST_RETURN_SHARED] = 502.5,	  /* the same, more if several processes fed it */
	[COST_SPILL] = 51.11,			  /* a row written to a sorted run and read back once */
	[COST_SPILL_BYTE] = 0.6346,		  /* a byte of it and its key */
	[COST_MERGE_LEVEL] = 4.638,		  /* a level of merging runs */
	[COST_PASS] = 200,				  /* a row that found no room and is passed to the leader, not measured */
	[COST_BOUND] = 62.26,			  /* a row that a bounded sort encodes and refuses */
	[COST_CUDA_JOB] = 2e+06,		  /* a job, whatever its rows, not measured */
	[COST_CUDA_SORT] = 2,			  /* a row sorted there, not measured */
	[COST_CUDA_BYTE] = 0.02,		  /* a byte of a row and its key on its way back, not measured */
	[COST_CUDA_RETURN] = 13			  /* a row returned, not measured */
};

#endif /* GPUSORT_PLAN_COST_TABLE_H */
