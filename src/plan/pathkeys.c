/*
 * plan/pathkeys.c
 *		The sort columns that pathkeys come down to.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "base/pg_compat.h"
#include "plan/pathkeys.h"

/* Does this output column of the input supply the pathkey? */
static bool
column_matches(const PathKey *pathkey, const PathTarget *target, int column)
{
	EquivalenceClass *ec = pathkey->pk_eclass;

	if (ec->ec_has_volatile)
		return ec->ec_sortref != 0 && get_pathtarget_sortgroupref(target, column) == ec->ec_sortref;
	return find_ec_member_matching_expr(ec, list_nth(target->exprs, column), NULL) != NULL;
}

/* The sort column that the pathkey would have on this output column of the input. */
static SortColumnSpec
column_spec(const PathKey *pathkey, const PathTarget *target, int column)
{
	Expr *expr = list_nth(target->exprs, column);
	EquivalenceClass *ec = pathkey->pk_eclass;
	EquivalenceMember *member =
		ec->ec_has_volatile ? linitial(ec->ec_members) : find_ec_member_matching_expr(ec, expr, NULL);

	return (SortColumnSpec){.attno = column + 1,
							.type = exprType((Node *) expr),
							.sortop = pathkey_sort_operator(pathkey, member->em_datatype),
							.collation = ec->ec_collation,
							.nulls_first = pathkey->pk_nulls_first};
}

bool
pathkeys_supported(List *pathkeys, const PathTarget *target, SortColumnSpec *columns)
{
	ListCell *cell;

	foreach(cell, pathkeys)
	{
		const PathKey *pathkey = lfirst_node(PathKey, cell);
		bool found = false;

		for (int i = 0; i < list_length(target->exprs); i++)
		{
			Declined why_not;
			bool verified;

			if (!column_matches(pathkey, target, i))
				continue;
			columns[foreach_current_index(cell)] = column_spec(pathkey, target, i);
			if (!sort_key_supported_if_verified(&columns[foreach_current_index(cell)], &verified, &why_not))
				return false;
			found = true;
		}
		if (!found)
			return false;
	}
	return true;
}
