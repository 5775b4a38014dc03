/*
 * index/check_new.c
 *		gpusort_check of an index that a statement would make: its columns come out of the statement.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/paths.h"
#include "parser/parse_utilcmd.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "base/pg_compat.h"
#include "index/check.h"
#include "index/choice.h"
#include "index/device_choice.h"
#include "key/key_row.h"
#include "key/sort_key.h"
#include "key/supported.h"

/* What the statement says of the index's columns. */
typedef struct IndexShape
{
	int nkeys;
	SortColumnSpec keys[INDEX_MAX_KEYS + 1]; /* and one for the tid (index_key.c) */
	CodedIndex coded;
	double key_widths[INDEX_MAX_KEYS + 1];
	int ncolumns; /* with those included */
	double row_bytes;
} IndexShape;

/* ---------------------------------------------------------------- columns */

static void
describe_column(Relation heap, const IndexElem *element, bool is_constraint, Oid *type, int32 *typmod,
				Oid *collation)
{
	if (element->name != NULL)
	{
		AttrNumber attno = get_attnum(RelationGetRelid(heap), element->name);

		if (attno == InvalidAttrNumber)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("column \"%s\" does not exist", element->name),
					 is_constraint
						 ? errdetail(
							   "The statement is not executed, so the columns that it adds are not known.")
						 : 0));
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

/* As far as a key's width and kind depend on it: direction and NULLs are left out. */
static SortColumnSpec
describe_key(const IndexElem *element, AttrNumber attno, Oid type, Oid collation)
{
	Oid opclass = ResolveOpClass(unconstify(IndexElem *, element)->opclass, type, "btree", BTREE_AM_OID);
	Oid input_type = get_opclass_input_type(opclass);

	return (SortColumnSpec){
		.attno = attno,
		.type = type,
		.sortop =
			get_opfamily_member(get_opclass_family(opclass), input_type, input_type, BTLessStrategyNumber),
		.collation = collation,
	};
}

static void
describe_index(Relation heap, const IndexStmt *statement, IndexShape *shape)
{
	List *all = list_concat_copy(statement->indexParams, statement->indexIncludingParams);
	ListCell *cell;

	memset(shape, 0, sizeof(*shape));
	shape->nkeys = list_length(statement->indexParams);
	shape->coded = (CodedIndex){.heap = RelationGetRelid(heap),
								.ncolumns = list_length(all),
								.is_unique = statement->unique};
	if (list_length(all) > INDEX_MAX_KEYS)
		ereport(ERROR, (errcode(ERRCODE_TOO_MANY_COLUMNS),
						errmsg("cannot use more than %d columns in an index", INDEX_MAX_KEYS)));
	foreach(cell, all)
	{
		const IndexElem *element = lfirst_node(IndexElem, cell);
		int i = shape->ncolumns++;
		Oid type;
		int32 typmod;
		Oid collation;

		describe_column(heap, element, statement->isconstraint, &type, &typmod, &collation);
		shape->row_bytes += get_typavgwidth(type, typmod);
		if (i >= shape->nkeys)
			continue;
		shape->keys[i] = describe_key(element, i + 1, type, collation);
		if (element->name != NULL)
			shape->coded.columns[i] = get_attnum(RelationGetRelid(heap), element->name);
		shape->key_widths[i] = get_typavgwidth(type, typmod);
	}
	shape->keys[shape->nkeys] =
		(SortColumnSpec){.attno = shape->ncolumns + 1, .type = TIDOID, .sortop = TIDLessOperator};
	shape->key_widths[shape->nkeys] = sizeof(ItemPointerData);
}

/* The key columns in words. */
static const char *
key_in_words(Relation heap, const IndexStmt *statement, const char *label)
{
	List *context = deparse_context_for(RelationGetRelationName(heap), RelationGetRelid(heap));
	StringInfoData words;
	ListCell *cell;

	initStringInfo(&words);
	if (label != NULL)
		appendStringInfo(&words, "%s: ", label);
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

/* ---------------------------------------------------------------- the build */

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
	SortKeyEstimate key;
	Declined why_not;

	build->rows = index_build_rows(heap);
	(void) sort_key_estimate(index->nkeys + 1, index->keys, index->key_widths, &key, &why_not);
	build->key_bytes = key.bytes;
	build->is_fixed = key.is_fixed;
	build->verified = key.verified;
	build->keys_alone = key_row_possible(index->nkeys, index->keys, index->ncolumns);
	build->row_bytes = INDEX_ROW_HEADER + sizeof(IndexTupleData) + index->row_bytes;
	build->coded = index_coded_columns(&index->coded, sort_key_create(index->nkeys + 1, index->keys),
									   build->rows, build->processes);
}

/* ---------------------------------------------------------------- the statement */

static bool
is_taken(Relation heap, const IndexStmt *statement, const IndexShape *shape, Declined *why_not)
{
	if (!index_method_is_ours(statement->accessMethod, why_not) || !index_table_is_ours(heap, why_not))
		return false;
	for (int i = 0; i < shape->nkeys; i++)
	{
		if (!sort_key_supported_for_index(&shape->keys[i], why_not))
			return false;
	}
	return true;
}

void
check_new_index(Check *check, Relation heap, const IndexStmt *statement, const char *label)
{
	IndexStmt *analyzed = transformIndexStmt(RelationGetRelid(heap),
											 copyObject(unconstify(IndexStmt *, statement)), check->text);
	bool is_btree = strcmp(analyzed->accessMethod, "btree") == 0;
	IndexShape shape = {0};
	BuildShape build = {.processes = count_processes(heap, analyzed)};
	Declined why_not;

	if (is_btree)
		describe_index(heap, analyzed, &shape);
	if (is_taken(heap, analyzed, &shape, &why_not))
	{
		describe_build(heap, analyzed, &shape, &build);
		check_put_build(check, key_in_words(heap, analyzed, label), &build, NULL);
	}
	else
		check_put_build(check, key_in_words(heap, analyzed, label), is_btree ? &build : NULL, &why_not);
}
