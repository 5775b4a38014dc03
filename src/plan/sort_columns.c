/*
 * plan/sort_columns.c
 *		Which columns of a node's output are the columns of the sort below it.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_opfamily.h"
#include "nodes/primnodes.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "base/pg_compat.h"
#include "plan/sort_columns.h"
#include "plan/sort_plan.h"

AttrNumber
sort_input_column(const Plan *sort, AttrNumber output)
{
	const Expr *expr = list_nth_node(TargetEntry, sort->targetlist, output - 1)->expr;

	return IsA(expr, Var) ? ((const Var *) expr)->varattno : 0;
}

Oid
sort_collation_of_groups(Oid opfamily, Oid collation)
{
	bool is_text = opfamily == TEXT_BTREE_FAM_OID || opfamily == BPCHAR_BTREE_FAM_OID;

	if (!is_text || !OidIsValid(collation) || !get_collation_isdeterministic(collation) ||
		pg_collate_is_c(collation))
		return collation;
	return C_COLLATION_OID;
}

bool
sort_brings_together(const SortColumnSpec *column, Oid equality, Oid collation)
{
	Oid opfamily;
	Oid type;
	CompareType direction;

	return get_ordering_op_properties(column->sortop, &opfamily, &type, &direction) &&
		   sort_collation_of_groups(opfamily, collation) ==
			   sort_collation_of_groups(opfamily, column->collation) &&
		   list_member_oid(get_mergejoin_opfamilies(equality), opfamily);
}

/* Is it among these columns of the sort's output? */
static bool
is_among(const SortColumnSpec *column, const WindowColumns *columns, const Plan *sort)
{
	for (int i = 0; i < columns->n; i++)
	{
		if (sort_input_column(sort, columns->attnos[i]) == column->attno &&
			sort_brings_together(column, columns->operators[i], columns->collations[i]))
			return true;
	}
	return false;
}

int
sort_columns_of_groups(const Plan *sort, const WindowColumns *groups, const WindowColumns *order)
{
	int nsorted;
	SortColumnSpec *sorted = sort_plan_columns(sort, &nsorted);
	int n = 0;

	while (n < nsorted && is_among(&sorted[n], groups, sort))
		n++;
	/* PostgreSQL sorts by all of them, but for those that are constant, or equal to another one */
	if (n < groups->n)
		return -1;
	for (int i = n; order != NULL && i < nsorted; i++)
	{
		if (!is_among(&sorted[i], order, sort))
			return -1;
	}
	return n;
}
