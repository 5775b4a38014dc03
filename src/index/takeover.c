/*
 * index/takeover.c
 *		Has this backend build B-trees by way of ours.
 *
 * PostgreSQL asks the planner how many processes a build shall have before it begins one, whatever statement
 * it is for; and the planner looks at the table first, which a hook sees.  There the index that is about to
 * be built gets another routine in the relation cache of this backend, a copy of btree's with our ambuild.
 * The catalogs know nothing of it; the index keeps that routine as long as its entry lives, but it differs in
 * nothing else, and ambuild decides anew each time.  The copy lives as long as the process, and an entry that
 * somebody has open keeps its routine when it is invalidated.
 *
 * Indexes of system tables and of other access methods, and those whose routine somebody else has changed,
 * are left alone.
 *
 * With max_parallel_maintenance_workers = 0 the planner isn't asked.  So statements that may build indexes
 * run with 1 instead, and the hook sees to it that no worker comes of that.
 */
#include "postgres.h"

#include "access/amapi.h"
#include "catalog/catalog.h"
#include "catalog/pg_am_d.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/bufmgr.h"
#include "tcop/utility.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "base/pg_compat.h"
#include "index/index_build.h"
#include "index/choice.h"
#include "index/takeover.h"

static relation_info_hook_type previous_relation_info_hook;
static ProcessUtility_hook_type previous_utility_hook;

/* Btree's routine, and a copy with our ambuild. */
static IndexAmRoutine btree_routine;
static IndexAmRoutine routine;

/* A statement runs that would have no workers, but for us. */
static bool workers_forbidden;

/* ---------------------------------------------------------------- the routine */

static void
init_routines(void)
{
	if (routine.ambuild != NULL)
		return;
	btree_routine = *GetIndexAmRoutine(F_BTHANDLER);
	routine = btree_routine;
	routine.ambuild = index_build_btree;
}

/* Is this a B-tree about to be built? There is nothing in its file, and somebody has it open. */
static bool
is_to_be_built(Relation index)
{
	return index->rd_rel->relkind == RELKIND_INDEX && index->rd_rel->relam == BTREE_AM_OID &&
		   index->rd_refcnt > 1 && RelationGetNumberOfBlocks(index) == 0;
}

/* Has this index the routine that PostgreSQL gave it? */
static bool
has_own_routine(Relation index)
{
	return index->rd_indam != NULL && memcmp(index->rd_indam, &btree_routine, sizeof(btree_routine)) == 0;
}

/* Takes over the builds of this table's indexes that are about to be built. */
static void
take_over_indexes(Oid heap_oid)
{
	Relation heap = RelationIdGetRelation(heap_oid);
	List *indexes;
	ListCell *cell;

	if (heap == NULL)
		return;
	init_routines();
	indexes = IsSystemRelation(heap) ? NIL : RelationGetIndexList(heap);
	foreach(cell, indexes)
	{
		Relation index = RelationIdGetRelation(lfirst_oid(cell));

		if (index == NULL)
			continue;
		if (is_to_be_built(index) && has_own_routine(index))
			index->rd_indam = &routine;
		RelationClose(index);
	}
	list_free(indexes);
	RelationClose(heap);
}

/* ---------------------------------------------------------------- hooks */

/* The planner looks at a table on behalf of a build: the query has no FROM, which any other has. */
static void
look_at_table(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	Declined why_not;

	if (root->parse->jointree != NULL)
		return;
	if (workers_forbidden)
		rel->rel_parallel_workers = 0;
	if (index_builds_are_on(&why_not) && OidIsValid(relid))
		take_over_indexes(relid);
}

static void
see_relation(relation_info_hook_parameters)
{
	if (previous_relation_info_hook != NULL)
		previous_relation_info_hook(relation_info_hook_arguments);
	look_at_table(root, rel, relation_info_hook_relid);
}

bool
statement_has_option(List *options, const char *name)
{
	ListCell *cell;

	foreach(cell, options)
	{
		DefElem *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, name) == 0)
			return defGetBoolean(option);
	}
	return false;
}

/* May this statement build indexes of tables that are not empty? */
static bool
may_build_indexes(const Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_IndexStmt:
		case T_ReindexStmt:
		case T_AlterTableStmt:
		case T_ClusterStmt:
		case T_RefreshMatViewStmt:
		case T_TruncateStmt:
			return true;
		case T_VacuumStmt:
			return statement_has_option(((const VacuumStmt *) statement)->options, "full");
		default:
			return false;
	}
}

static void
run_utility(process_utility_parameters)
{
	if (previous_utility_hook != NULL)
		previous_utility_hook(process_utility_arguments);
	else
		standard_ProcessUtility(process_utility_arguments);
}

static void
run_without_workers(process_utility_parameters)
{
	max_parallel_maintenance_workers = 1;
	workers_forbidden = true;
	PG_TRY();
	{
		run_utility(process_utility_arguments);
	}
	PG_FINALLY();
	{
		workers_forbidden = false;
		if (max_parallel_maintenance_workers == 1)
			max_parallel_maintenance_workers = 0;
	}
	PG_END_TRY();
}

static void
see_utility(process_utility_parameters)
{
	Declined why_not;

	if (max_parallel_maintenance_workers == 0 && may_build_indexes(pstmt->utilityStmt) &&
		index_builds_are_on(&why_not))
		run_without_workers(process_utility_arguments);
	else
		run_utility(process_utility_arguments);
}

void
index_takeover_install_hooks(void)
{
	previous_relation_info_hook = relation_info_hook;
	relation_info_hook = see_relation;
	previous_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = see_utility;
}
