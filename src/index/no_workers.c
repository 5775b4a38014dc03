/*
 * index/no_workers.c
 *		Has PostgreSQL ask the planner about builds of B-trees with max_parallel_maintenance_workers = 0.
 *
 * With that setting the planner isn't asked, and takeover.c sees no build.  So the setting is 1 from when a
 * B-tree is what will be built next, until the planner has been asked; and the planner's answer is no worker.
 * Whoever builds an index of another access method, or evaluates an expression of an index or a table,
 * finds 0.
 *
 * What tells that a B-tree comes next:
 *
 *		CREATE INDEX, constraints	the index has been made (object_access_hook), its build follows
 *		what rewrites a table	the new file has been put in the place of the old one, as a hook tells, and all
 *						indexes of the table are built
 *		REINDEX, CONCURRENTLY		the statement: PostgreSQL tells no hook of an index that it builds again, or
 *						in a later transaction
 *
 * Where several indexes are built one after the other, no hook is called between them.  So those of a table
 * that has indexes of other access methods too are left to PostgreSQL.
 */
#include "postgres.h"

#include <limits.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "base/pg_compat.h"
#include "index/choice.h"
#include "index/no_workers.h"

static ProcessUtility_hook_type previous_utility_hook;
static object_access_hook_type previous_object_access_hook;

/* A statement runs in which hooks tell what is built next. */
static bool hooks_tell = false;

/* So many B-trees are built next, and nothing else. */
static int builds_expected = 0;

/* ---------------------------------------------------------------- the setting */

/* Unless the statement has set another value. */
static void
show_workers(int workers)
{
	if (max_parallel_maintenance_workers <= 1)
		max_parallel_maintenance_workers = workers;
}

static void
expect_builds(int builds)
{
	builds_expected = builds;
	show_workers(builds > 0 ? 1 : 0);
}

bool
no_workers_wanted(void)
{
	return builds_expected > 0;
}

void
no_workers_asked(void)
{
	if (builds_expected == 0)
		return;
	builds_expected--;
	show_workers(0);
}

void
no_workers_built(void)
{
	if (builds_expected > 0)
		show_workers(1);
}

/* ---------------------------------------------------------------- indexes that there are */

static bool
access_method_is_btree(Oid index)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
	bool is_btree;

	if (!HeapTupleIsValid(tuple))
		return false;
	is_btree = ((Form_pg_class) GETSTRUCT(tuple))->relam == BTREE_AM_OID;
	ReleaseSysCache(tuple);
	return is_btree;
}

static bool
all_are_btrees(const List *indexes)
{
	ListCell *cell;

	foreach(cell, indexes)
	{
		if (!access_method_is_btree(lfirst_oid(cell)))
			return false;
	}
	return true;
}

bool
no_workers_has_others(Relation heap)
{
	return !all_are_btrees(RelationGetIndexList(heap));
}

/* The table's indexes. */
static List *
indexes_of(Oid table)
{
	Relation heap = RelationIdGetRelation(table);
	List *indexes = NIL;

	if (heap == NULL)
		return NIL;
	if (!IsSystemRelation(heap))
		indexes = RelationGetIndexList(heap);
	RelationClose(heap);
	return indexes;
}

/* ---------------------------------------------------------------- what hooks tell */

/* Is this new relation a B-tree with a file of its own, of a table that is not the system's? */
static bool
is_new_btree(Oid relation)
{
	Relation index = RelationIdGetRelation(relation);
	bool is_btree;

	if (index == NULL)
		return false;
	is_btree = index->rd_rel->relkind == RELKIND_INDEX && index->rd_rel->relam == BTREE_AM_OID &&
			   !IsSystemRelation(index);
	RelationClose(index);
	return is_btree;
}

/* The table has another file, or something else of it was changed. */
static void
expect_builds_of(Oid table)
{
	List *indexes = indexes_of(table);

	if (indexes != NIL)
		expect_builds(all_are_btrees(indexes) ? list_length(indexes) : 0);
}

static void
see_object_access(ObjectAccessType access, Oid class, Oid object, int subobject, void *arg)
{
	if (previous_object_access_hook != NULL)
		previous_object_access_hook(access, class, object, subobject, arg);
	if (!hooks_tell || class != RelationRelationId || subobject != 0)
		return;
	if (access == OAT_POST_CREATE)
		expect_builds(is_new_btree(object) ? 1 : 0);
	else if (access == OAT_POST_ALTER && ((const ObjectAccessPostAlter *) arg)->is_internal)
		expect_builds_of(object);
}

/* ---------------------------------------------------------------- what statements tell */

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

/* The relation, or its partitions too. */
static List *
with_partitions(Oid relation)
{
	char kind = get_rel_relkind(relation);

	if (kind == RELKIND_PARTITIONED_TABLE || kind == RELKIND_PARTITIONED_INDEX)
		return find_all_inheritors(relation, NoLock, NULL);
	return list_make1_oid(relation);
}

/* Of this schema, or the database; those of the system are B-trees. */
static bool
has_other_indexes(Oid schema)
{
	Relation classes = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	bool found = false;

	ScanKeyInit(&key, Anum_pg_class_relkind, BTEqualStrategyNumber, F_CHAREQ, CharGetDatum(RELKIND_INDEX));
	scan = systable_beginscan(classes, InvalidOid, false, NULL, 1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		found = form->relam != BTREE_AM_OID && (!OidIsValid(schema) || form->relnamespace == schema);
	}
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	return found;
}

/* The indexes that are built again of this relation, a table or an index. */
static List *
named_indexes(const ReindexStmt *statement)
{
	Oid named = RangeVarGetRelid(statement->relation, NoLock, true);
	List *indexes = NIL;
	ListCell *cell;

	if (!OidIsValid(named))
		return NIL;
	foreach(cell, with_partitions(named))
	{
		Oid relation = lfirst_oid(cell);

		if (statement->kind == REINDEX_OBJECT_TABLE)
			indexes = list_concat(indexes, indexes_of(relation));
		else if (get_rel_relkind(relation) == RELKIND_INDEX)
			indexes = lappend_oid(indexes, relation);
	}
	return indexes;
}

static int
builds_of_reindex(const ReindexStmt *statement)
{
	Oid schema = InvalidOid;
	List *indexes;

	switch (statement->kind)
	{
		case REINDEX_OBJECT_INDEX:
		case REINDEX_OBJECT_TABLE:
			indexes = named_indexes(statement);
			return all_are_btrees(indexes) ? list_length(indexes) : 0;
		case REINDEX_OBJECT_SCHEMA:
			schema = get_namespace_oid(statement->name, true);
			return !OidIsValid(schema) || has_other_indexes(schema) ? 0 : INT_MAX;
		case REINDEX_OBJECT_DATABASE:
			return has_other_indexes(InvalidOid) ? 0 : INT_MAX;
		default: /* of the system's tables alone */
			return 0;
	}
}

/* The B-trees, and nothing else, that the statement builds; -1: hooks tell, if there are any. */
static int
builds_of(const Node *statement)
{
	if (IsA(statement, ReindexStmt))
		return builds_of_reindex((const ReindexStmt *) statement);
	if (IsA(statement, IndexStmt) && ((const IndexStmt *) statement)->concurrent)
		return strcmp(((const IndexStmt *) statement)->accessMethod, "btree") == 0 ? 1 : 0;
	return -1;
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

/* A function that is called meanwhile may run such a statement, too. */
static void
run_without_workers(process_utility_parameters)
{
	bool told_before = hooks_tell;
	int expected_before = builds_expected;
	int builds = builds_of(pstmt->utilityStmt);

	hooks_tell = builds < 0;
	expect_builds(Max(builds, 0));
	PG_TRY();
	{
		run_utility(process_utility_arguments);
	}
	PG_FINALLY();
	{
		expect_builds(0);
		hooks_tell = told_before;
		builds_expected = expected_before;
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
no_workers_install_hooks(void)
{
	previous_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = see_utility;
	previous_object_access_hook = object_access_hook;
	object_access_hook = see_object_access;
}
