/*
 * plan/column_stats.h
 *		What the statistics say of a sort column.
 */
#ifndef GPUSORT_PLAN_COLUMN_STATS_H
#define GPUSORT_PLAN_COLUMN_STATS_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

typedef struct ColumnStats
{
	double width;	 /* bytes of a value on average */
	double distinct; /* how many values; 0: not known, perhaps all differ */
	/* with the order of the table: 1 if they come in ascending order, -1 in descending order */
	double correlation;
	/* the row of pg_statistic; table is InvalidOid if there is none, or values of it are not to be seen */
	Oid table;
	AttrNumber column;
	bool inherited;
} ColumnStats;

/* A value of a column, and shares of all rows. */
typedef struct SampleValue
{
	Datum value;
	double before; /* rows between it and the one before it of the histogram; 0: it is not of that */
	double at;	   /* rows that have it */
} SampleValue;

typedef struct ColumnSample
{
	double nulls; /* share of all rows */
	int nvalues;
	SampleValue *values;
} ColumnSample;

/* How many rows the table has, by pg_class; 0: not known. */
extern double table_rows(Oid relid);

/* Of an expression, while a query is planned. */
extern ColumnStats column_stats_of_expr(PlannerInfo *root, Node *expr);

/* Of an output column of a finished plan. */
extern ColumnStats column_stats_of_plan(const Plan *plan, AttrNumber attno, List *rtable);

/* Values of an output column of a finished plan, of its own type, palloc'd.  False: none are known. */
extern bool column_sample_of_plan(const Plan *plan, AttrNumber attno, List *rtable, ColumnSample *sample);

#endif /* GPUSORT_PLAN_COLUMN_STATS_H */
