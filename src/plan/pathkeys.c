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

/* Members of classes that are a child relation's alone match its own rows. */
static Relids
child_relids(const Path *input)
{
	return IS_OTHER_REL(input->parent) ? input->parent->relids : NULL;
}

/* Does this output column of the input supply the pathkey? */
static bool
column_matches(const PathKey *pathkey, const Path *input, int column)
{
	const PathTarget *target = input->pathtarget;
	EquivalenceClass *ec = pathkey->pk_eclass;

	if (ec->ec_has_volatile)
		return ec->ec_sortref != 0 && get_pathtarget_sortgroupref(target, column) == ec->ec_sortref;
	return find_ec_member_matching_expr(ec, list_nth(target->exprs, column), child_relids(input)) != NULL;
}

/* The sort column that the pathkey would have on this output column of the input. */
static SortColumnSpec
column_spec(const PathKey *pathkey, const Path *input, int column)
{
	Expr *expr = list_nth(input->pathtarget->exprs, column);
	EquivalenceClass *ec = pathkey->pk_eclass;
	EquivalenceMember *member = ec->ec_has_volatile
									? linitial(ec->ec_members)
									: find_ec_member_matching_expr(ec, expr, child_relids(input));

	return (SortColumnSpec){.attno = column + 1,
							.type = exprType((Node *) expr),
							.sortop = pathkey_sort_operator(pathkey, member->em_datatype),
							.collation = ec->ec_collation,
							.nulls_first = pathkey->pk_nulls_first};
}

bool
pathkeys_supported(List *pathkeys, const Path *input, SortColumnSpec *columns)
{
	ListCell *cell;

	foreach(cell, pathkeys)
	{
		const PathKey *pathkey = lfirst_node(PathKey, cell);
		bool found = false;

		for (int i = 0; i < list_length(input->pathtarget->exprs); i++)
		{
			Declined why_not;
			bool verified;

			if (!column_matches(pathkey, input, i))
				continue;
			columns[foreach_current_index(cell)] = column_spec(pathkey, input, i);
			if (!sort_key_supported_if_verified(&columns[foreach_current_index(cell)], &verified, &why_not))
				return false;
			found = true;
		}
		if (!found)
			return false;
	}
	return true;
}
