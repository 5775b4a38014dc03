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
	/* of strings: how many different first 8 bytes; 0: not known, perhaps as many as values */
	double leading;
	/* with the order of the table: 1 if they come in ascending order, -1 in descending order */
	double correlation;
} ColumnStats;

/* Of an expression, while a query is planned. */
extern ColumnStats column_stats_of_expr(PlannerInfo *root, Node *expr);

/* Of an output column of a finished plan. */
extern ColumnStats column_stats_of_plan(const Plan *plan, AttrNumber attno, List *rtable);

#endif /* GPUSORT_PLAN_COLUMN_STATS_H */
