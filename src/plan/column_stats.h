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

/* Of an expression, while a query is planned. */
extern ColumnStats column_stats_of_expr(PlannerInfo *root, Node *expr);

/* Of an output column of a finished plan. */
extern ColumnStats column_stats_of_plan(const Plan *plan, AttrNumber attno, List *rtable);

/*
 * Of strings of this type: how many different first 8 bytes; 0: not known, perhaps as many as values.  It
 * takes longer than all else here.
 */
extern double column_leading_values(const ColumnStats *stats, Oid type);

/* The most common value, or NULL, has this share of the rows; 1: no values are known. */
extern double column_largest_share(const ColumnStats *stats);

/* Values of an output column of a finished plan, of its own type, palloc'd.  False: none are known. */
extern bool column_sample_of_plan(const Plan *plan, AttrNumber attno, List *rtable, ColumnSample *sample);

#endif /* GPUSORT_PLAN_COLUMN_STATS_H */
