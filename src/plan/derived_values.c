/*
 * plan/derived_values.c
 *		The number of values in a column that a sub-select returns.
 *
 * A sub-select that is planned by itself knows its own columns.  All arms of a UNION together have at most
 * the sum of the values that each has.  A column of a set operation does not say of which one it is, so that
 * nothing is known where there are others than UNION.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"
#include "parser/parsetree.h"

#include "plan/column_stats.h"
#include "plan/derived_values.h"

/* ---------------------------------------------------------------- while planning */

static double values_of_set(PlannerInfo *root, const Node *set, AttrNumber column);

/* NULL: the planner has not come to this relation yet, or needs none of it. */
static const RelOptInfo *
find_relation(const PlannerInfo *root, Index index)
{
	return root->simple_rel_array != NULL && index < (Index) root->simple_rel_array_size
			   ? root->simple_rel_array[index]
			   : NULL;
}

static double
values_of_arm(const RelOptInfo *rel, AttrNumber column)
{
	PlannerInfo *arm = rel != NULL ? rel->subroot : NULL;
	const Path *cheapest;
	const TargetEntry *entry;

	if (arm == NULL)
		return 0;
	if (arm->parse->setOperations != NULL)
		return values_of_set(arm, arm->parse->setOperations, column);
	cheapest = fetch_upper_rel(arm, UPPERREL_FINAL, NULL)->cheapest_total_path;
	if (cheapest == NULL)
		return 0;
	entry = list_nth_node(TargetEntry, arm->parse->targetList, column - 1);
	return Min(column_stats_of_expr(arm, (Node *) entry->expr).distinct, cheapest->rows);
}

static double
values_of_set(PlannerInfo *root, const Node *set, AttrNumber column)
{
	const SetOperationStmt *operation = (const SetOperationStmt *) set;
	double left;
	double right;

	if (IsA(set, RangeTblRef))
		return values_of_arm(find_relation(root, ((const RangeTblRef *) set)->rtindex), column);
	if (operation->op != SETOP_UNION)
		return 0;
	left = values_of_set(root, operation->larg, column);
	right = values_of_set(root, operation->rarg, column);
	return left > 0 && right > 0 ? left + right : 0;
}

/* Of a UNION ALL whose arms are relations of the query itself. */
static double
values_of_members(PlannerInfo *root, const Var *column)
{
	double values = 0;
	ListCell *cell;

	foreach(cell, root->append_rel_list)
	{
		const AppendRelInfo *member = lfirst_node(AppendRelInfo, cell);
		const RelOptInfo *rel = find_relation(root, member->child_relid);
		double more;

		if (member->parent_relid != (Index) column->varno)
			continue;
		more = column_stats_of_expr(root, list_nth(member->translated_vars, column->varattno - 1)).distinct;
		if (rel == NULL || more == 0)
			return 0;
		values += Min(more, rel->rows);
	}
	return values;
}

double
derived_values(PlannerInfo *root, const Var *column)
{
	const Node *set = root->parse->setOperations;
	const RangeTblEntry *table;

	if (column->varattno <= 0)
		return 0;
	if (column->varno == 0)
		return set != NULL ? values_of_set(root, set, column->varattno) : 0;
	table = planner_rt_fetch(column->varno, root);
	if (table->rtekind != RTE_SUBQUERY)
		return 0;
	return table->inh ? values_of_members(root, column)
					  : values_of_arm(find_relation(root, column->varno), column->varattno);
}

/* ---------------------------------------------------------------- of a finished plan */

/* The plans that an Append or MergeAppend reads; NIL: the plan is another one. */
static const List *
arms_of(const Plan *plan)
{
	if (IsA(plan, MergeAppend))
		return ((const MergeAppend *) plan)->mergeplans;
	return IsA(plan, Append) ? ((const Append *) plan)->appendplans : NIL;
}

double
derived_values_of_plan(const Plan *plan, const Var *column, List *rtable)
{
	double values = 0;
	ListCell *cell;

	foreach(cell, arms_of(plan))
	{
		const Plan *arm = lfirst(cell);
		double more = column_stats_of_plan(arm, column->varattno, rtable).distinct;

		if (more == 0)
			return 0;
		values += Min(more, Max(arm->plan_rows, 1));
	}
	return values;
}
