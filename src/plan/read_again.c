/*
 * plan/read_again.c
 *		May a grouping's input be read more than once?
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "plan/plan_walk.h"
#include "plan/read_again.h"

/* Is a foreign table among the tables, or among the partitions and children of one? */
static bool
has_foreign_table(const PlannerInfo *root)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		if (root->simple_rel_array[i] != NULL && root->simple_rte_array[i]->relkind == RELKIND_FOREIGN_TABLE)
			return true;
	}
	return false;
}

/*
 * Has it a system column that changes in a row that any snapshot still sees: xmax and cmax, if it is locked
 * or deleted?
 */
static bool
has_changing_column(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((const Var *) node)->varattno == MaxTransactionIdAttributeNumber ||
			   ((const Var *) node)->varattno == MaxCommandIdAttributeNumber ||
			   ((const Var *) node)->varattno == MinCommandIdAttributeNumber;
	return expression_tree_walker(node, has_changing_column, context);
}

static bool
changes(const PlannerInfo *root, const void *expression)
{
	return expression_is_volatile(root->glob->subplans, expression) ||
		   has_changing_column(unconstify(Node *, (const Node *) expression), NULL);
}

bool
read_again_is_same(const PlannerInfo *root, const RelOptInfo *rel, const Path *input)
{
	int relid = -1;

	while ((relid = bms_next_member(rel->relids, relid)) >= 0)
	{
		const RangeTblEntry *table = root->simple_rte_array[relid];

		if (table->rtekind == RTE_JOIN)
			continue;
		if (table->rtekind != RTE_RELATION || table->tablesample != NULL ||
			changes(root, table->securityQuals))
			return false;
	}
	return !has_foreign_table(root) && !changes(root, root->parse->jointree) &&
		   !changes(root, input->pathtarget->exprs);
}

/* May it take long to evaluate?  PostgreSQL's cost is nearly the same for all. */
static bool
may_be_slow(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Const:
		case T_Param:
		case T_RelabelType:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
			break;
		case T_ScalarArrayOpExpr:
			if (get_typlen(exprType(linitial(((ScalarArrayOpExpr *) node)->args))) < 0)
				return true;
			break;
		case T_OpExpr:
			if (get_typlen(exprType(linitial(((OpExpr *) node)->args))) < 0 &&
				!op_hashjoinable(((OpExpr *) node)->opno, exprType(linitial(((OpExpr *) node)->args))))
				return true;
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, may_be_slow, context);
}

bool
read_again_is_cheap(const RelOptInfo *rel)
{
	ListCell *cell;

	if (rel->reloptkind != RELOPT_BASEREL || rel->pages == 0 || rel->pages > effective_cache_size)
		return false;
	foreach(cell, rel->baserestrictinfo)
	{
		if (may_be_slow((Node *) lfirst_node(RestrictInfo, cell)->clause, NULL))
			return false;
	}
	return true;
}
