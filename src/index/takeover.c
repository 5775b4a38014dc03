/*
 * index/takeover.c
 *		Has this backend build B-trees by way of ours.
 *
 * PostgreSQL asks the planner how many processes a build shall have before it begins one, whatever statement
 * it is for; and the planner looks at the table first, which a hook sees.  There the index that is about to
 * be built gets another routine in the relation cache of this backend, a copy of btree's with our ambuild,
 * and when it is built, a copy of btree's.  The catalogs know nothing of it.  The copies live as long as the
 * process, and an entry that somebody has open keeps its routine when it is invalidated; after an error the
 * entry is made anew.
 *
 * Indexes of system tables and of other access methods, and those whose routine somebody else has changed,
 * are left alone.
 *
 * With max_parallel_maintenance_workers = 0 the planner isn't asked: no_workers.c sees to it that it is.
 */
#include "postgres.h"

#include "access/amapi.h"
#include "catalog/catalog.h"
#include "catalog/pg_am_d.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "base/pg_compat.h"
#include "index/index_build.h"
#include "index/choice.h"
#include "index/no_workers.h"
#include "index/takeover.h"

static relation_info_hook_type previous_relation_info_hook;

/* Btree's routine, and a copy with our ambuild. */
static IndexAmRoutine btree_routine;
static IndexAmRoutine routine;

/* ---------------------------------------------------------------- the routine */

static IndexBuildResult *
build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = index_build_btree(heap, index, info);

	index->rd_indam = &btree_routine;
	no_workers_built();
	return result;
}

static void
init_routines(void)
{
	if (routine.ambuild != NULL)
		return;
	btree_routine = *GetIndexAmRoutine(F_BTHANDLER);
	routine = btree_routine;
	routine.ambuild = build;
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

/* Takes over the build of this table's index that is about to be built; false: it is not ours. */
static bool
take_over_index(Oid heap_oid)
{
	Relation heap = RelationIdGetRelation(heap_oid);
	bool taken = false;
	List *indexes;
	ListCell *cell;

	if (heap == NULL)
		return false;
	init_routines();
	indexes = IsSystemRelation(heap) ? NIL : RelationGetIndexList(heap);
	foreach(cell, indexes)
	{
		Relation index = RelationIdGetRelation(lfirst_oid(cell));

		if (index == NULL)
			continue;
		if (is_to_be_built(index))
		{
			if (has_own_routine(index))
				index->rd_indam = &routine;
			taken |= index->rd_indam == &routine;
		}
		RelationClose(index);
	}
	list_free(indexes);
	RelationClose(heap);
	return taken;
}

/* ---------------------------------------------------------------- hooks */

/* The planner looks at a table on behalf of a build: the query has no FROM, which any other has. */
static void
look_at_table(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	Declined why_not;

	if (root->parse->jointree != NULL)
		return;
	if (no_workers_wanted())
		rel->rel_parallel_workers = 0;
	if (index_builds_are_on(&why_not) && OidIsValid(relid) && take_over_index(relid))
		no_workers_asked();
}

static void
see_relation(relation_info_hook_parameters)
{
	if (previous_relation_info_hook != NULL)
		previous_relation_info_hook(relation_info_hook_arguments);
	look_at_table(root, rel, relation_info_hook_relid);
}

void
index_takeover_install_hooks(void)
{
	previous_relation_info_hook = relation_info_hook;
	relation_info_hook = see_relation;
	no_workers_install_hooks();
}
