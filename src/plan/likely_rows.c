/*
 * plan/likely_rows.c
 *		How many rows a node of a finished plan may well return, where the planner's estimate is in doubt.
 *
 * The planner takes columns to be independent, and each value of a key to be joined as often as any other.
 * So it expects too few rows above joins, by more with each of them, and seldom too many (Leis et al., "How
 * Good Are Query Optimizers, Really?", VLDB 2015, section 3.2).  A join by a foreign key returns at most the
 * rows of its larger input.  The truth is taken to be anywhere between the two, by orders of magnitude.
 *
 * Of a filter above an outer join that asks for rows without a match (LEFT JOIN ... WHERE x IS NULL) it
 * expects what the table's own NULLs let pass, hardly a row; how many have no match is not known.
 *
 * Of groups by expressions it expects as many as the expressions' columns have values; there are at most as
 * many as the expressions have (expression_values.c).
 *
 * Of rows with one value of an expression of which it has no statistics it expects one in 200.
 *
 * Of a recursive query it expects ten steps that return as many rows each as the first one finds.  A query
 * that walks through a tree or a graph returns at most the rows of the table that it looks for them in.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "base/pg_compat.h"
#include "plan/column_stats.h"
#include "plan/likely_rows.h"
#include "plan/rival.h"
#include "plan/sort_plan.h"

static double most_rows(const PlannedStmt *stmt, const Plan *plan);

static double
most_rows_of_join(const PlannedStmt *stmt, const Join *join)
{
	double outer = most_rows(stmt, join->plan.lefttree);

	if (join_returns_inner_rows_alone(join->jointype))
		return most_rows(stmt, join->plan.righttree);
	if (join->inner_unique || join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI)
		return outer;
	/* an inner input that depends on the outer row is read for each of these */
	if (IsA(join, NestLoop) && ((const NestLoop *) join)->nestParams != NIL)
		return outer * Max(1, join->plan.righttree->plan_rows);
	return Max(outer, most_rows(stmt, join->plan.righttree));
}

/* Of several processes' rows a Gather returns all. */
static double
most_rows_of_gather(const PlannedStmt *stmt, const Plan *plan)
{
	return most_rows(stmt, plan->lefttree) * plan->plan_rows / Max(1, plan->lefttree->plan_rows);
}

/* The rows of the largest table that is scanned in this part of a plan. */
static double
largest_table(const PlannedStmt *stmt, const Plan *plan)
{
	double rows = 0;

	if (plan == NULL)
		return 0;
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
			return table_rows(rt_fetch(((const Scan *) plan)->scanrelid, stmt->rtable)->relid);
		default:
			rows = largest_table(stmt, plan->lefttree);
			return Max(rows, largest_table(stmt, plan->righttree));
	}
}

/* The rows of a CTE's own plan. */
static double
most_rows_of_cte(const PlannedStmt *stmt, const CteScan *scan)
{
	return scan->scan.plan.qual == NIL ? most_rows(stmt, list_nth(stmt->subplans, scan->ctePlanId - 1)) : 0;
}

/*
 * The most rows that the node returns, if its joins are by foreign keys; what it groups or limits is as
 * expected.
 */
static double
most_rows(const PlannedStmt *stmt, const Plan *plan)
{
	double rows = plan->plan_rows;

	switch (nodeTag(plan))
	{
		case T_HashJoin:
		case T_MergeJoin:
		case T_NestLoop:
			rows = most_rows_of_join(stmt, (const Join *) plan);
			break;
		case T_Gather:
		case T_GatherMerge:
			rows = most_rows_of_gather(stmt, plan);
			break;
		case T_SubqueryScan:
			if (plan->qual == NIL)
				rows = most_rows(stmt, ((const SubqueryScan *) plan)->subplan);
			break;
		case T_CteScan:
			rows = most_rows_of_cte(stmt, (const CteScan *) plan);
			break;
		case T_RecursiveUnion:
			rows = largest_table(stmt, plan->righttree);
			break;
		case T_Hash:
		case T_Sort:
		case T_IncrementalSort:
		case T_Material:
		case T_Memoize:
		case T_WindowAgg:
		case T_Result:
		case T_CustomScan:
			if (plan->lefttree != NULL && plan->qual == NIL)
				rows = most_rows(stmt, plan->lefttree);
			break;
		default:
			break;
	}
	return Max(rows, plan->plan_rows);
}

/* The number of values of these output columns together; rows: if it is not known, or larger. */
static double
values_of_columns(const PlannedStmt *stmt, const Plan *plan, int ncolumns, const AttrNumber *columns,
				  double rows)
{
	double values = 1;

	for (int i = 0; i < ncolumns && values < rows; i++)
	{
		double distinct = column_stats_of_plan(plan, columns[i], stmt->rtable).distinct;

		values = distinct > 0 ? values * distinct : rows;
	}
	return Min(Max(1, values), rows);
}

/* How many groups the rows are, that such a node sorts or groups; else what the planner expects. */
static double
likely_groups_of_plan(const PlannedStmt *stmt, const Plan *plan)
{
	const Agg *agg = (const Agg *) plan;
	const Group *group = (const Group *) plan;

	switch (nodeTag(plan))
	{
		case T_Sort:
		case T_IncrementalSort:
			return likely_groups_of_plan(stmt, plan->lefttree);
		case T_Agg:
			if (agg->groupingSets != NIL)
				return plan->plan_rows;
			return values_of_columns(stmt, plan->lefttree, agg->numCols, agg->grpColIdx, plan->plan_rows);
		case T_Group:
			return values_of_columns(stmt, plan->lefttree, group->numCols, group->grpColIdx, plan->plan_rows);
		default:
			return plan->plan_rows;
	}
}

/* The part of an outer join's rows that are taken to have no match, where a filter asks for these. */
#define UNMATCHED_SHARE 0.5

/* Does the node return the rows of an outer join for which a column IS NULL, in any order? */
static bool
returns_unmatched_rows(const Plan *plan)
{
	ListCell *cell;

	while (IsA(plan, Sort) || IsA(plan, IncrementalSort) || IsA(plan, Gather) || IsA(plan, GatherMerge))
		plan = plan->lefttree;
	/* the qual of a node that joins is an outer join's: an inner one has its filters in joinqual */
	if (!(IsA(plan, HashJoin) || IsA(plan, MergeJoin) || IsA(plan, NestLoop)))
		return false;
	foreach(cell, plan->qual)
	{
		if (IsA(lfirst(cell), NullTest) && lfirst_node(NullTest, cell)->nulltesttype == IS_NULL)
			return true;
	}
	return false;
}

double
plan_likely_rows(const PlannedStmt *stmt, const Plan *plan)
{
	double most = most_rows(stmt, plan);

	if (most <= plan->plan_rows)
		return Min(plan->plan_rows, likely_groups_of_plan(stmt, plan));
	return returns_unmatched_rows(plan) ? Max(plan->plan_rows, most * UNMATCHED_SHARE)
										: sqrt(plan->plan_rows * most);
}

/* The column of the list with this reference; NULL: the groups are those of another list. */
static TargetEntry *
find_column(Index reference, List *columns)
{
	ListCell *cell;

	foreach(cell, columns)
	{
		if (lfirst_node(TargetEntry, cell)->ressortgroupref == reference)
			return lfirst(cell);
	}
	return NULL;
}

/* How many groups these are, if the values of all columns are known; else what the planner expects. */
static double
likely_groups_of_path(PlannerInfo *root, const AggPath *agg)
{
	double groups = 1;
	ListCell *cell;

	foreach(cell, agg->groupClause)
	{
		Index reference = lfirst_node(SortGroupClause, cell)->tleSortGroupRef;
		TargetEntry *column = find_column(reference, root->processed_tlist);
		double distinct = column != NULL ? column_stats_of_expr(root, (Node *) column->expr).distinct : 0;

		if (distinct == 0)
			return agg->path.rows;
		groups *= distinct;
	}
	return Min(Max(1, groups), agg->path.rows);
}

/*
 * The share of the rows that passes the filter, if that is that an expression of a known number of values,
 * but without statistics, has one of them; 0: any other filter.
 */
static double
share_of_one_value(PlannerInfo *root, const RestrictInfo *filter)
{
	const OpExpr *equality = (const OpExpr *) filter->clause;
	Node *expression;
	double distinct;

	if (!IsA(equality, OpExpr) || list_length(equality->args) != 2 ||
		fabs(filter->norm_selec * DEFAULT_NUM_DISTINCT - 1) > 1e-6 || get_oprrest(equality->opno) != F_EQSEL)
		return 0;
	expression = IsA(linitial(equality->args), Const) ? lsecond(equality->args) : linitial(equality->args);
	distinct = column_stats_of_expr(root, expression).distinct;
	return distinct > 0 && distinct < DEFAULT_NUM_DISTINCT ? 1 / distinct : 0;
}

double
path_likely_rows(PlannerInfo *root, const Path *path)
{
	const AggPath *agg = (const AggPath *) path_below_projection(path);
	double rows = path->rows;
	double most;
	ListCell *cell;

	if (IsA(agg, AggPath))
		return likely_groups_of_path(root, agg);
	if (path->parent->reloptkind != RELOPT_BASEREL || path->param_info != NULL)
		return rows;
	most = path->parent->tuples;
	foreach(cell, path->parent->baserestrictinfo)
	{
		double share = share_of_one_value(root, lfirst_node(RestrictInfo, cell));

		if (share > 0)
		{
			rows *= share * DEFAULT_NUM_DISTINCT;
			most *= share;
		}
	}
	return Max(path->rows, Min(rows, most));
}
