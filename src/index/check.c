/*
 * index/check.c
 *		gpusort_check('CREATE INDEX ...'): would the build be taken, and how would it be done?
 *
 * There is no index yet, so its columns come out of the statement.  Of a partitioned table each partition is
 * told of.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/paths.h"
#include "parser/parse_utilcmd.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "base/pg_compat.h"
#include "index/choice.h"
#include "index/device_choice.h"
#include "index/takeover.h"
#include "key/key_row.h"
#include "plan/check.h"
#include "plan/choice.h"

/* A megabyte, for people. */
#define MEGABYTE (1024.0 * 1024.0)

/* What the statement says of the index's columns. */
typedef struct IndexShape
{
	int nkeys;
	SortColumnSpec keys[INDEX_MAX_KEYS];
	double widths[INDEX_MAX_KEYS];
	int ncolumns; /* with those included */
	double row_bytes;
} IndexShape;

/* ---------------------------------------------------------------- columns */

static void
describe_column(Relation heap, const IndexElem *element, Oid *type, int32 *typmod, Oid *collation)
{
	if (element->name != NULL)
	{
		AttrNumber attno = get_attnum(RelationGetRelid(heap), element->name);

		if (attno == InvalidAttrNumber)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
							errmsg("column \"%s\" does not exist", element->name)));
		get_atttypetypmodcoll(RelationGetRelid(heap), attno, type, typmod, collation);
	}
	else
	{
		*type = exprType(element->expr);
		*typmod = exprTypmod(element->expr);
		*collation = exprCollation(element->expr);
	}
	if (element->collation != NIL)
		*collation = get_collation_oid(element->collation, false);
}

static SortColumnSpec
describe_key(const IndexElem *element, AttrNumber attno, Oid type, Oid collation)
{
	Oid opclass = ResolveOpClass(unconstify(IndexElem *, element)->opclass, type, "btree", BTREE_AM_OID);
	Oid input_type = get_opclass_input_type(opclass);
	bool descending = element->ordering == SORTBY_DESC;

	return (SortColumnSpec){
		.attno = attno,
		.type = type,
		.sortop = get_opfamily_member(get_opclass_family(opclass), input_type, input_type,
									  descending ? BTGreaterStrategyNumber : BTLessStrategyNumber),
		.collation = collation,
		.nulls_first = element->nulls_ordering == SORTBY_NULLS_FIRST ||
					   (element->nulls_ordering == SORTBY_NULLS_DEFAULT && descending),
	};
}

static void
describe_index(Relation heap, const IndexStmt *statement, IndexShape *shape)
{
	List *all = list_concat_copy(statement->indexParams, statement->indexIncludingParams);
	ListCell *cell;

	memset(shape, 0, sizeof(*shape));
	shape->nkeys = list_length(statement->indexParams);
	if (list_length(all) >= INDEX_MAX_KEYS)
		ereport(ERROR, (errcode(ERRCODE_TOO_MANY_COLUMNS),
						errmsg("cannot use more than %d columns in an index", INDEX_MAX_KEYS)));
	foreach(cell, all)
	{
		const IndexElem *element = lfirst_node(IndexElem, cell);
		int i = shape->ncolumns++;
		Oid type;
		int32 typmod;
		Oid collation;

		describe_column(heap, element, &type, &typmod, &collation);
		shape->widths[i] = get_typavgwidth(type, typmod);
		shape->row_bytes += shape->widths[i];
		if (i < shape->nkeys)
			shape->keys[i] = describe_key(element, i + 1, type, collation);
	}
}

/* The key columns in words. */
static const char *
key_in_words(Relation heap, const IndexStmt *statement, bool is_partition)
{
	List *context = deparse_context_for(RelationGetRelationName(heap), RelationGetRelid(heap));
	StringInfoData words;
	ListCell *cell;

	initStringInfo(&words);
	if (is_partition)
		appendStringInfo(&words, "%s: ", RelationGetRelationName(heap));
	foreach(cell, statement->indexParams)
	{
		const IndexElem *element = lfirst_node(IndexElem, cell);

		appendStringInfo(&words, "%s%s%s", cell == list_head(statement->indexParams) ? "" : ", ",
						 element->name != NULL ? quote_identifier(element->name)
											   : deparse_expression(element->expr, context, false, false),
						 element->ordering == SORTBY_DESC ? " DESC" : "");
		if (element->nulls_ordering != SORTBY_NULLS_DEFAULT)
			appendStringInfoString(&words, element->nulls_ordering == SORTBY_NULLS_FIRST ? " NULLS FIRST"
																						 : " NULLS LAST");
	}
	return words.data;
}

/* ---------------------------------------------------------------- how */

static List *
expressions_of(const IndexStmt *statement)
{
	List *expressions = NIL;
	ListCell *cell;

	foreach(cell, statement->indexParams)
	{
		if (lfirst_node(IndexElem, cell)->expr != NULL)
			expressions = lappend(expressions, lfirst_node(IndexElem, cell)->expr);
	}
	return expressions;
}

/* Processes that build, by the rules of plan_create_index_workers(). */
static int
count_processes(Relation heap, const IndexStmt *statement)
{
	RelOptInfo rel = {.reloptkind = RELOPT_BASEREL,
					  .rel_parallel_workers = RelationGetParallelWorkers(heap, -1)};
	int workers;

	if (heap->rd_rel->relpersistence == RELPERSISTENCE_TEMP ||
		!index_is_parallel_safe((Node *) expressions_of(statement)) ||
		!index_is_parallel_safe(statement->whereClause))
		return 1;
	if (rel.rel_parallel_workers >= 0)
		return 1 + index_build_workers(Min(rel.rel_parallel_workers, max_parallel_maintenance_workers));
	workers =
		compute_parallel_worker(&rel, RelationGetNumberOfBlocks(heap), -1, max_parallel_maintenance_workers);
	while (workers > 0 && maintenance_work_mem / (workers + 1) < INDEX_KILOBYTES_PER_PROCESS)
		workers--;
	return workers + 1;
}

/* The build's sort, as the types of the columns let expect it. */
static void
describe_build(Relation heap, const IndexStmt *statement, const IndexShape *index, BuildShape *build)
{
	build->rows = index_build_rows(heap);
	build->processes = count_processes(heap, statement);
	build->key_bytes = sort_key_estimate_width(index->nkeys, index->keys, index->widths, &build->is_fixed) +
					   1 + sizeof(ItemPointerData);
	build->keys_alone = key_row_possible(index->nkeys, index->keys, index->ncolumns);
	build->row_bytes = INDEX_ROW_HEADER + sizeof(IndexTupleData) + index->row_bytes;
	for (int i = 0; i < index->nkeys; i++)
	{
		Declined why_not;
		bool verified;

		build->verified |= sort_key_supported_if_verified(&index->keys[i], &verified, &why_not) && verified;
	}
}

static const char *
how_in_words(Relation heap, const IndexStmt *statement, const IndexShape *index)
{
	BuildShape build = {0};
	double memory;
	bool on_gpu;
	bool spills;

	describe_build(heap, statement, index, &build);
	on_gpu = build_uses_gpu(&build);
	spills = !on_gpu && build_spills(&build);
	memory = spills ? maintenance_work_mem * 1024.0 : build_memory(&build);
	return psprintf("device %s, %d processes, about %.0f MB of memory, %s", on_gpu ? "cuda" : "cpu",
					build.processes, memory / MEGABYTE,
					spills ? psprintf("about %.0f MB of temporary files", build_file_bytes(&build) / MEGABYTE)
						   : "no temporary files");
}

/* ---------------------------------------------------------------- the statement */

static bool
is_taken(Relation heap, const IndexStmt *statement, const IndexShape *shape, Declined *why_not)
{
	if (strcmp(statement->accessMethod, "btree") != 0)
		return declined_because(why_not, DECLINED_KIND,
								psprintf("the index is of access method %s, not btree",
										 statement->accessMethod));
	if (!index_table_is_ours(heap, why_not))
		return false;
	for (int i = 0; i < shape->nkeys; i++)
	{
		if (!sort_key_supported_for_index(&shape->keys[i], why_not))
			return false;
	}
	return true;
}

static void
check_table(Relation heap, const IndexStmt *statement, const char *query_string, bool is_partition,
			ReturnSetInfo *result)
{
	IndexStmt *analyzed = transformIndexStmt(RelationGetRelid(heap),
											 copyObject(unconstify(IndexStmt *, statement)), query_string);
	CheckedSort sort = {.expected_ms = -1, .postgres_ms = -1};
	IndexShape shape = {0};
	Declined why_not;

	if (strcmp(analyzed->accessMethod, "btree") == 0)
		describe_index(heap, analyzed, &shape);
	sort.sort_key = key_in_words(heap, analyzed, is_partition);
	if (is_taken(heap, analyzed, &shape, &why_not))
		sort.how = how_in_words(heap, analyzed, &shape);
	else
		sort.why_not = why_not.words;
	check_put(result, &sort);
}

static void
check_partitions(Relation heap, const IndexStmt *statement, const char *query_string, ReturnSetInfo *result)
{
	ListCell *cell;

	foreach(cell, find_all_inheritors(RelationGetRelid(heap), AccessShareLock, NULL))
	{
		Relation part = table_open(lfirst_oid(cell), NoLock);

		if (part->rd_rel->relkind == RELKIND_RELATION)
			check_table(part, statement, query_string, true, result);
		table_close(part, NoLock);
	}
}

/* Whoever may read the table may know how large it is. */
static void
check_index(IndexStmt *statement, const char *query_string, ReturnSetInfo *result)
{
	Relation heap = table_openrv(statement->relation, AccessShareLock);
	AclResult allowed = pg_class_aclcheck(RelationGetRelid(heap), GetUserId(), ACL_SELECT);

	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, get_relkind_objtype(heap->rd_rel->relkind), RelationGetRelationName(heap));
	if (heap->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		check_partitions(heap, statement, query_string, result);
	else
		check_table(heap, statement, query_string, false, result);
	table_close(heap, NoLock);
}

void
index_check_install(void)
{
	check_set_index_statement(check_index);
}
