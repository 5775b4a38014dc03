/*
 * exec/agg_results.h
 *		What an Agg's calls want of rows that come in order: marks of rows, and results of groups.
 */
#ifndef GPUSORT_EXEC_AGG_RESULTS_H
#define GPUSORT_EXEC_AGG_RESULTS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "exec/percentiles.h"
#include "exec/row_group.h"
#include "plan/agg_input.h"
#include "plan/agg_input_calls.h"

/* A call with marks, or a mode. */
typedef struct InputCall
{
	AggInputKind kind;
	int column; /* of the scan tuple, from 0 */
	ExprState *filter;
	RowGroup *equal;  /* rows that are equal to the first one of them */
	bool counts;	  /* FIRST: are the rows counted for which the mark would be set? */
	bool has_rows;	  /* has a row of the group passed the filter? */
	AttrNumber attno; /* the column */
	int64 n;		  /* MODE: the rows of `equal`; `counts`: the result so far */
	int64 most;		  /* MODE: the most rows that were equal */
	bool is_mode;	  /* MODE: are the rows of `equal` the most? */
	NullableDatum mode;
	int percentiles; /* the percentiles that it is one of; -1: it is none */
	int number;		 /* among these */
} InputCall;

/* All calls of a GpuAggInput.  Marks and results are columns of its scan tuple. */
typedef struct AggResults
{
	CustomScanState *node;
	AggInputRows rows;
	int ncalls;
	InputCall *calls;
	int npercentiles;
	Percentiles **percentiles;
	bool has_results;	 /* does a call have one result for a group? */
	bool may_seek;		 /* are all such calls percentiles without a filter, or counts? */
	MemoryContext modes; /* values of modes */
} AggResults;

/* Checks the right to call the aggregates. rows: of the input. */
extern AggResults *agg_results_create(CustomScanState *node, TupleDesc rows);

/* A group begins; ends. */
extern void agg_results_begin(AggResults *results);
extern void agg_results_end(AggResults *results);

/* agg_results_add: a row of the group, all of which come.  agg_results_mark: only marks are wanted. */
extern void agg_results_add(AggResults *results, TupleTableSlot *row);
extern void agg_results_mark(AggResults *results, TupleTableSlot *row);

/* Is the row, which passes the call's filter, the first one of its kind? */
extern bool agg_results_is_first(AggResults *results, InputCall *call, TupleTableSlot *row);

/* Sets the results of the group, or NULLs in the rows before its last one. */
extern void agg_results_set(AggResults *results, bool ends);

#endif /* GPUSORT_EXEC_AGG_RESULTS_H */
