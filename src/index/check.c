/*
 * index/check.c
 *		gpusort_check of statements that build indexes: which indexes, of which tables.
 *
 * There is a row for each index.  Of a partitioned table, or index, each partition is told of.  Whoever may
 * read a table may know how large it is, so no other right is asked for; that the statement itself may not be
 * executed by this user, or would fail, is not looked at.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "parser/parse_utilcmd.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/pg_compat.h"
#include "check/how.h"
#include "check/owner.h"
#include "check/statement.h"
#include "index/check.h"
#include "index/no_workers.h"
#include "index/takeover.h"
#include "plan/cluster.h"

/* ---------------------------------------------------------------- tables */

/* Opened for somebody who may read it. */
static Relation
open_table(Oid table)
{
	Relation heap = table_open(table, AccessShareLock);
	AclResult allowed = pg_class_aclcheck(table, GetUserId(), ACL_SELECT);

	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, get_relkind_objtype(heap->rd_rel->relkind), RelationGetRelationName(heap));
	return heap;
}

static Relation
open_named_table(const RangeVar *name)
{
	return open_table(RangeVarGetRelid(name, AccessShareLock, false));
}

/* The tables that have rows: the table itself, or its partitions; the same of indexes. */
static List *
with_storage(Oid relation)
{
	char kind = get_rel_relkind(relation);
	List *found = NIL;
	ListCell *cell;

	/* of tables that inherit, each is maintained for itself */
	if (kind != RELKIND_PARTITIONED_TABLE && kind != RELKIND_PARTITIONED_INDEX)
		return RELKIND_HAS_STORAGE(kind) ? list_make1_oid(relation) : NIL;
	foreach(cell, find_all_inheritors(relation, AccessShareLock, NULL))
	{
		if (RELKIND_HAS_STORAGE(get_rel_relkind(lfirst_oid(cell))))
			found = lappend_oid(found, lfirst_oid(cell));
	}
	return found;
}

/* ---------------------------------------------------------------- indexes that there are */

/*
 * Expressions of the index may be evaluated.  Who might do the statement has that done with the owner's
 * rights, as the statement does; nobody else may do anything with these.
 */
static bool
begin_as_owner(OwnersRights *before, Relation heap)
{
	if (!has_privs_of_role(GetUserId(), heap->rd_rel->relowner))
		return false;
	check_begin_as_owner(before, heap);
	return true;
}

/* with_others: does the statement build indexes of other access methods too? */
static void
check_index_of(Check *check, Oid table, Oid index_oid, bool with_others)
{
	Relation heap = table_open(table, AccessShareLock);
	Relation index = index_open(index_oid, AccessShareLock);
	OwnersRights before;
	bool as_owner = begin_as_owner(&before, heap);

	check_existing_index(check, heap, index, with_others);
	if (as_owner)
		check_end_as_owner(&before);
	index_close(index, NoLock);
	table_close(heap, NoLock);
}

static void
check_indexes_of(Check *check, Oid table)
{
	Relation heap = table_open(table, AccessShareLock);
	bool with_others = no_workers_has_others(heap);
	ListCell *cell;

	foreach(cell, RelationGetIndexList(heap))
		check_index_of(check, table, lfirst_oid(cell), with_others);
	table_close(heap, NoLock);
}

/* Of the table and its partitions. */
static void
check_all_indexes_of(Check *check, Oid table)
{
	ListCell *cell;

	check->why_none = "no index is built";
	foreach(cell, with_storage(table))
		check_indexes_of(check, lfirst_oid(cell));
}

/* ---------------------------------------------------------------- statements */

/*
 * IF NOT EXISTS, and there is something of that name; or the index of a partitioned table alone, without
 * rows.
 */
static bool
builds_nothing(Relation heap, const IndexStmt *statement)
{
	if (statement->if_not_exists &&
		OidIsValid(get_relname_relid(statement->idxname, RelationGetNamespace(heap))))
		return true;
	return heap->rd_rel->relkind == RELKIND_PARTITIONED_TABLE && !statement->relation->inh;
}

/* Of partitions, for which the statement is analyzed anew, if it is not of a single table. */
static void
check_create_index(Check *check, Relation heap, const IndexStmt *statement)
{
	ListCell *cell;

	check->why_none = "no index is built";
	if (builds_nothing(heap, statement))
		return;
	if (heap->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
	{
		check_new_index(check, heap, statement, NULL);
		return;
	}
	foreach(cell, with_storage(RelationGetRelid(heap)))
	{
		Relation part = table_open(lfirst_oid(cell), NoLock);

		check_new_index(check, part, statement, RelationGetRelationName(part));
		table_close(part, NoLock);
	}
}

/* The constraints that the statement adds; all else that it does is not looked at. */
static bool
check_alter_table(Check *check, AlterTableStmt *statement)
{
	Relation heap = open_named_table(statement->relation);
	List *before;
	List *after;
	bool found = false;
	ListCell *cell;

	statement =
		transformAlterTableStmt(RelationGetRelid(heap), copyObject(statement), check->text, &before, &after);
	foreach(cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if (command->subtype == AT_AddIndex)
			check_create_index(check, heap, castNode(IndexStmt, command->def));
		else if (command->subtype == AT_AddIndexConstraint) /* USING INDEX: there it is */
			check->why_none = "no index is built";
		else
			continue;
		found = true;
	}
	table_close(heap, NoLock);
	return found;
}

static void
check_reindex_index(Check *check, const RangeVar *name)
{
	Oid index = RangeVarGetRelid(name, NoLock, false);
	Oid table = IndexGetRelation(index, true);
	ListCell *cell;

	if (!OidIsValid(table))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is not an index", name->relname)));
	table_close(open_table(table), NoLock);
	foreach(cell, with_storage(index))
		check_index_of(check, IndexGetRelation(lfirst_oid(cell), false), lfirst_oid(cell), false);
}

static bool
check_reindex(Check *check, const ReindexStmt *statement)
{
	Relation heap;

	switch (statement->kind)
	{
		case REINDEX_OBJECT_INDEX:
			check_reindex_index(check, statement->relation);
			return true;
		case REINDEX_OBJECT_TABLE:
			heap = open_named_table(statement->relation);
			check_all_indexes_of(check, RelationGetRelid(heap));
			table_close(heap, NoLock);
			return true;
		default:
			return false;
	}
}

/* ---------------------------------------------------------------- CLUSTER, REPACK, VACUUM FULL */

/* The index that the table is put in order by: that of the name, or the one that it was the last time. */
static Oid
clustering_index(Relation heap, const char *name)
{
	List *indexes = RelationGetIndexList(heap);
	ListCell *cell;

	if (name != NULL)
	{
		Oid index = get_relname_relid(name, RelationGetNamespace(heap));

		if (list_member_oid(indexes, index))
			return index;
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("index \"%s\" for table \"%s\" does not exist",
														   name, RelationGetRelationName(heap))));
	}
	foreach(cell, indexes)
	{
		if (get_index_isclustered(lfirst_oid(cell)))
			return lfirst_oid(cell);
	}
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
					errmsg("there is no previously clustered index for table \"%s\"",
						   RelationGetRelationName(heap))));
}

/* Sorted because of gpusort, or by PostgreSQL's choice, or read by the index. */
static void
put_cluster_sort(Check *check, const char *sort_key, bool sorts, const ClusterChoice *choice)
{
	CheckedSort sort = {.sort_key = sort_key,
						.why_not = "the statement sorts the table's rows itself",
						.expected_ms = choice->sort_ms,
						.postgres_ms = choice->index_ms};

	if (sorts)
		sort.how = check_how_within(1, maintenance_work_mem);
	else
		sort.why_not = choice->why_not.words;
	if (choice->by_us)
	{
		sort.why_not = NULL;
		sort.replaced = "an index scan";
	}
	if (sorts || sort.why_not != NULL)
		check_put(check, &sort);
}

/* The sort of a table's rows, which is inside of the statement; or they are read by the index. */
static void
check_sort_by_index(Check *check, Oid table, Oid index_oid)
{
	Relation heap = table_open(table, AccessShareLock);
	Relation index = index_open(index_oid, AccessShareLock);
	const char *sort_key = psprintf("%s: %s", RelationGetRelationName(heap), index_key_in_words(index));
	OwnersRights before;
	bool as_owner = begin_as_owner(&before, heap);
	ClusterChoice choice;

	if (index->rd_rel->relam == BTREE_AM_OID)
	{
		bool sorts = cluster_would_sort(table, index_oid, &choice);

		put_cluster_sort(check, sort_key, sorts, &choice);
	}
	if (as_owner)
		check_end_as_owner(&before);
	index_close(index, NoLock);
	table_close(heap, NoLock);
}

static bool
check_cluster(Check *check, const ClusterStmt *statement)
{
	const RangeVar *name = cluster_relation(statement);
	Relation heap;
	ListCell *cell;

	if (name == NULL)
		return false;
	heap = open_named_table(name);
	if (cluster_uses_index(statement))
	{
		foreach(cell, with_storage(clustering_index(heap, statement->indexname)))
			check_sort_by_index(check, IndexGetRelation(lfirst_oid(cell), false), lfirst_oid(cell));
	}
	check_all_indexes_of(check, RelationGetRelid(heap));
	table_close(heap, NoLock);
	return true;
}

static bool
check_vacuum(Check *check, const VacuumStmt *statement)
{
	ListCell *cell;

	if (!statement_has_option(statement->options, "full") || statement->rels == NIL)
		return false;
	foreach(cell, statement->rels)
	{
		Relation heap = open_named_table(lfirst_node(VacuumRelation, cell)->relation);

		check_all_indexes_of(check, RelationGetRelid(heap));
		table_close(heap, NoLock);
	}
	return true;
}

/* ---------------------------------------------------------------- all */

static bool
check_builds(Check *check, Node *statement)
{
	Relation heap;

	switch (nodeTag(statement))
	{
		case T_IndexStmt:
			heap = open_named_table(((IndexStmt *) statement)->relation);
			check_create_index(check, heap, (IndexStmt *) statement);
			table_close(heap, NoLock);
			return true;
		case T_AlterTableStmt:
			return ((AlterTableStmt *) statement)->objtype == OBJECT_TABLE &&
				   check_alter_table(check, (AlterTableStmt *) statement);
		case T_ReindexStmt:
			return check_reindex(check, (ReindexStmt *) statement);
		case T_ClusterStmt:
			return check_cluster(check, (ClusterStmt *) statement);
		case T_VacuumStmt:
			return check_vacuum(check, (VacuumStmt *) statement);
		case T_RefreshMatViewStmt:
			/* its owner has asked, as far as check/statement.c is concerned */
			check_all_indexes_of(check, RangeVarGetRelid(((RefreshMatViewStmt *) statement)->relation, NoLock,
														 false));
			return true;
		default:
			return false;
	}
}

void
index_check_install(void)
{
	check_set_index_builds(check_builds);
}
