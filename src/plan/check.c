/*
 * plan/check.c
 *		gpusort_check(query): which of a query's sorts are taken, why the others are not, and how long they
 *		are expected to take.
 *
 * The query is planned as the session's settings would have it, and the finished plan is read.  It is not
 * executed; but the permissions to do so are checked, as EXPLAIN checks them.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/ruleutils.h"
#include "utils/tuplestore.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "base/result_rows.h"
#include "plan/check.h"
#include "plan/choice.h"
#include "plan/deparse.h"
#include "plan/plan_walk.h"
#include "plan/planner.h"
#include "plan/shape.h"
#include "plan/sort_plan.h"

PG_FUNCTION_INFO_V1(gpusort_check);

/* What the walk over one plan needs. */
typedef struct CheckContext
{
	ReturnSetInfo *result;
	List *deparse_context;
	bool use_prefix;
	List *rtable;
} CheckContext;

/* ---------------------------------------------------------------- the plan */

static char *
join_strings(List *strings)
{
	StringInfoData out;
	ListCell *cell;

	initStringInfo(&out);
	foreach(cell, strings)
		appendStringInfo(&out, "%s%s", out.len > 0 ? ", " : "", (char *) lfirst(cell));
	return out.data;
}

/* Columns of the result. */
enum
{
	COLUMN_SORT_KEY,
	COLUMN_TAKEN,
	COLUMN_REASON,
	COLUMN_EXPECTED_MS,
	COLUMN_POSTGRESQL_MS,
	COLUMN_HOW,
	COLUMNS
};

static const Oid column_types[COLUMNS] = {TEXTOID, BOOLOID, TEXTOID, FLOAT8OID, FLOAT8OID, TEXTOID};

static CheckIndexStatement check_index_statement;

void
check_set_index_statement(CheckIndexStatement check)
{
	check_index_statement = check;
}

/* Milliseconds, without digits that say nothing. */
static Datum
milliseconds(double ms)
{
	return Float8GetDatum(rint(ms * 1000) / 1000);
}

static void
put_text(const char *text, int column, Datum *values, bool *nulls)
{
	nulls[column] = text == NULL;
	if (text != NULL)
		values[column] = CStringGetTextDatum(text);
}

static void
put_time(double ms, int column, Datum *values, bool *nulls)
{
	nulls[column] = ms < 0;
	values[column] = milliseconds(ms);
}

void
check_put(ReturnSetInfo *result, const CheckedSort *sort)
{
	Datum values[COLUMNS] = {0};
	bool nulls[COLUMNS] = {false};

	put_text(sort->sort_key, COLUMN_SORT_KEY, values, nulls);
	values[COLUMN_TAKEN] = BoolGetDatum(sort->why_not == NULL);
	put_text(sort->why_not, COLUMN_REASON, values, nulls);
	put_time(sort->expected_ms, COLUMN_EXPECTED_MS, values, nulls);
	put_time(sort->postgres_ms, COLUMN_POSTGRESQL_MS, values, nulls);
	put_text(sort->how, COLUMN_HOW, values, nulls);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* The two times, of a sort that is taken as they were predicted when that was decided. */
static void
fill_times(Plan *plan, List *ancestors, List *rtable, CheckedSort *sort)
{
	SortShape shape;
	SortShape ours;
	bool is_known;

	if (sort_plan_is_gpusort(plan))
	{
		sort->expected_ms = sort_plan_expected_ms((CustomScan *) plan);
		sort->postgres_ms = sort_plan_postgres_ms((CustomScan *) plan);
		return;
	}
	is_known = shape_of_plan(&shape, plan, ancestors, rtable);
	sort->postgres_ms = sort_time_total(&shape, predict_postgres_sort(&shape));
	sort->expected_ms = -1;
	if (!is_known)
		return;
	ours = shape_for_gpusort(&shape);
	sort->expected_ms = sort_time_total(&ours, predict_gpusort(&ours));
}

/* Why the sort was not taken; by the shapes that are known here more can be said than by the plan. */
static const char *
reason_of(const Plan *sort, List *ancestors, List *rtable)
{
	Declined why_not = sort_why_not_taken(sort, ancestors);
	SortShape shape;
	SortShape ours;
	double bytes;

	if (why_not.reason != DECLINED_COST && why_not.reason != DECLINED_LIMIT)
		return why_not.words;
	if (gpusort_mode != GPUSORT_MODE_AUTO || !shape_of_plan(&shape, sort, ancestors, rtable))
		return why_not.words;
	ours = shape_for_gpusort(&shape);
	bytes = predict_gpusort_temp(&ours);
	if (!temp_is_clearly_more(bytes, predict_postgres_temp(&shape)))
		return why_not.words;
	return psprintf("about %.0f MB of temporary files are expected here, %.0f MB by PostgreSQL's own sort",
					bytes / 1e6, predict_postgres_temp(&shape) / 1e6);
}

/* Do the sort's keys only guess at the order, so that it is verified? */
static bool
is_verified(const Plan *sort)
{
	int ncolumns;
	SortColumnSpec *columns = sort_plan_columns(sort, &ncolumns);
	bool any = false;

	for (int i = 0; i < ncolumns; i++)
	{
		Declined why_not;
		bool verified;

		any |= sort_key_supported_if_verified(&columns[i], &verified, &why_not) && verified;
	}
	return any;
}

static void
check_node(Plan *plan, List *ancestors, void *arg)
{
	CheckContext *context = arg;
	bool taken = sort_plan_is_gpusort(plan);
	CheckedSort sort = {NULL};
	List *deparse_context;

	if (!taken && !IsA(plan, Sort) && !IsA(plan, IncrementalSort))
		return;
	deparse_context = set_deparse_context_plan(context->deparse_context, plan, ancestors);
	sort.sort_key = join_strings(deparse_sort_keys(plan, deparse_context, context->use_prefix));
	if (!taken)
		sort.why_not = reason_of(plan, ancestors, context->rtable);
	else if (sort_may_use_gpu() && is_verified(plan))
		sort.how = "on the cpu device: the order of text that the C library compares is verified there";
	fill_times(plan, ancestors, context->rtable, &sort);
	check_put(context->result, &sort);
}

/* Has EXPLAIN's words for the columns of a GpuSort's input. */
static void
prepare_node(Plan *plan, List *ancestors, void *context)
{
	sort_plan_refer_to_input(plan);
}

static void
visit_plans(PlannedStmt *stmt, plan_visitor visit, void *context)
{
	ListCell *cell;

	plan_walk(stmt->planTree, NIL, visit, context);
	foreach(cell, stmt->subplans)
		plan_walk(lfirst(cell), NIL, visit, context);
}

/* Whoever may EXPLAIN the statement may have its plan checked, for that tells the planner's estimates. */
static void
check_plan(PlannedStmt *stmt, ReturnSetInfo *result)
{
	Bitmapset *relations = NULL;
	CheckContext context = {.result = result,
							.use_prefix = explain_rtable_size(stmt->rtable) > 1,
							.rtable = stmt->rtable};

	plan_check_permissions(stmt);
	if (stmt->rtable != NIL)
		relations = bms_add_range(NULL, 1, list_length(stmt->rtable));
	context.deparse_context =
		deparse_context_for_plan_tree(stmt, select_rtable_names_for_explain(stmt->rtable, relations));
	visit_plans(stmt, prepare_node, NULL);
	visit_plans(stmt, check_node, &context);
}

/* ---------------------------------------------------------------- the query */

/* Plans a query, or the one inside EXPLAIN, CREATE TABLE AS or DECLARE CURSOR. */
static void
check_query(Query *query, const char *query_string, ReturnSetInfo *result)
{
	ListCell *cell;

	if (query->commandType != CMD_UTILITY)
	{
		check_plan(planner_plan_uncounted(query, query_string), result);
		return;
	}
	if (IsA(query->utilityStmt, IndexStmt) && check_index_statement != NULL)
	{
		check_index_statement((IndexStmt *) query->utilityStmt, query_string, result);
		return;
	}
	query = UtilityContainsQuery(query->utilityStmt);
	if (query == NULL)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("this statement has no plan to check"),
			 errdetail("Only a statement that the planner sees can contain sorts."),
			 errhint(
				 "Give gpusort_check a SELECT, INSERT, UPDATE, DELETE, MERGE, VALUES or CREATE INDEX statement.")));
	foreach(cell, QueryRewrite(copyObject(query)))
		check_query(lfirst_node(Query, cell), query_string, result);
}

Datum
gpusort_check(PG_FUNCTION_ARGS)
{
	char *query_string = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ListCell *statement;

	(void) result_rows_begin(fcinfo, column_types, COLUMNS);
	foreach(statement, pg_parse_query(query_string))
	{
		Oid *param_types = NULL;
		int nparams = 0;
		List *queries = pg_analyze_and_rewrite_varparams(lfirst_node(RawStmt, statement), query_string,
														 &param_types, &nparams, NULL);
		ListCell *cell;

		foreach(cell, queries)
			check_query(lfirst_node(Query, cell), query_string, (ReturnSetInfo *) fcinfo->resultinfo);
	}
	return (Datum) 0;
}
