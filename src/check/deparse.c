/*
 * check/deparse.c
 *		Sort columns of a plan node in words.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/typcache.h"

#include "check/deparse.h"
#include "plan/sort_plan.h"

/* Appends COLLATE, DESC or USING, and NULLS, each where it is not what the column's type implies. */
static void
append_sort_options(StringInfo out, const SortColumnSpec *column)
{
	TypeCacheEntry *type = lookup_type_cache(column->type, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	bool descending = column->sortop == type->gt_opr;

	if (OidIsValid(column->collation) && column->collation != get_typcollation(column->type))
		appendStringInfo(out, " COLLATE %s", quote_identifier(get_collation_name(column->collation)));
	if (descending)
		appendStringInfoString(out, " DESC");
	else if (column->sortop != type->lt_opr)
	{
		appendStringInfo(out, " USING %s", get_opname(column->sortop));
		(void) get_equality_op_for_ordering_op(column->sortop, &descending);
	}
	if (column->nulls_first != descending)
		appendStringInfoString(out, column->nulls_first ? " NULLS FIRST" : " NULLS LAST");
}

char *
deparse_input_column(const Plan *input, AttrNumber attno, List *context, bool use_prefix)
{
	TargetEntry *column = list_nth_node(TargetEntry, input->targetlist, attno - 1);

	return deparse_expression((Node *) makeVarFromTargetEntry(OUTER_VAR, column), context, use_prefix, true);
}

List *
deparse_sort_keys(const Plan *plan, List *context, bool use_prefix)
{
	int ncolumns;
	SortColumnSpec *columns = sort_plan_columns(plan, &ncolumns);
	List *keys = NIL;

	for (int i = 0; i < ncolumns; i++)
	{
		StringInfoData key;

		initStringInfo(&key);
		appendStringInfoString(&key,
							   deparse_input_column(plan->lefttree, columns[i].attno, context, use_prefix));
		append_sort_options(&key, &columns[i]);
		keys = lappend(keys, key.data);
	}
	return keys;
}

/* The columns of its input that a node groups by. */
static const AttrNumber *
grouping_columns(const Plan *plan, int *ncolumns)
{
	switch (nodeTag(plan))
	{
		case T_Agg:
			*ncolumns = ((const Agg *) plan)->numCols;
			return ((const Agg *) plan)->grpColIdx;
		case T_Group:
			*ncolumns = ((const Group *) plan)->numCols;
			return ((const Group *) plan)->grpColIdx;
		case T_Unique:
			*ncolumns = ((const Unique *) plan)->numCols;
			return ((const Unique *) plan)->uniqColIdx;
		default:
			*ncolumns = 0;
			return NULL;
	}
}

List *
deparse_grouping_keys(const Plan *plan, List *context, bool use_prefix)
{
	int ncolumns;
	const AttrNumber *columns = grouping_columns(plan, &ncolumns);
	List *keys = NIL;

	for (int i = 0; i < ncolumns; i++)
		keys = lappend(keys, deparse_input_column(plan->lefttree, columns[i], context, use_prefix));
	return keys;
}
