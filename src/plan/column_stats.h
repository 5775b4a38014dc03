/*
 * plan/column_stats.h
 *		The statistics of a sort column.
 */
#ifndef GPUSORT_PLAN_COLUMN_STATS_H
#define GPUSORT_PLAN_COLUMN_STATS_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "plan/column_values.h"

/* A value of a column, with shares of all rows. */
typedef struct SampleValue
{
	Datum value;
	/* rows between the value and the previous value of the histogram; 0: not a value of the histogram */
	double before;
	double at; /* rows with this value */
} SampleValue;

typedef struct ColumnSample
{
	double nulls; /* share of all rows */
	int nvalues;
	SampleValue *values;
} ColumnSample;

/* Returns the table's number of rows in pg_class; 0: not known. */
extern double table_rows(Oid relid);

/* The statistics of an expression, while a query is planned. */
extern ColumnStats column_stats_of_expr(PlannerInfo *root, Node *expr);

/* The statistics of an output column of a finished plan. */
extern ColumnStats column_stats_of_plan(const Plan *plan, AttrNumber attno, List *rtable);

/*
 * Returns values of an output column of a finished plan, of the column's type, palloc'd.  False: no values
 * are known.
 */
extern bool column_sample_of_plan(const Plan *plan, AttrNumber attno, List *rtable, ColumnSample *sample);

/* Returns the expression that computes this column of the plan's output, if it only passes through others. */
extern const Node *column_source_of_plan(const Plan *plan, AttrNumber attno);

#endif /* GPUSORT_PLAN_COLUMN_STATS_H */
