/*
 * plan/check.c
 *		gpusort_check(query): which of a query's sorts are taken, and why the others are not.
 *
 * The query is planned as the session's settings would have it, and the finished plan is read.  It is not
 * executed.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/ruleutils.h"

#include "plan/choice.h"
#include "plan/deparse.h"
#include "plan/plan_walk.h"
#include "plan/planner.h"
#include "plan/sort_plan.h"

PG_FUNCTION_INFO_V1(gpusort_check);

/* What the walk over one plan needs. */
typedef struct CheckContext
{
	ReturnSetInfo *result;
	List *deparse_context;
	bool use_prefix;
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

static void
check_node(Plan *plan, List *ancestors, void *arg)
{
	CheckContext *context = arg;
	bool taken = sort_plan_is_gpusort(plan);
	Datum values[3];
	bool nulls[3] = {false, false, false};
	List *deparse_context;

	if (!taken && !IsA(plan, Sort) && !IsA(plan, IncrementalSort))
		return;
	deparse_context = set_deparse_context_plan(context->deparse_context, plan, ancestors);
	values[0] =
		CStringGetTextDatum(join_strings(deparse_sort_keys(plan, deparse_context, context->use_prefix)));
	values[1] = BoolGetDatum(taken);
	nulls[2] = taken;
	values[2] = taken ? (Datum) 0 : CStringGetTextDatum(sort_why_not_taken(plan, ancestors).words);
	tuplestore_putvalues(context->result->setResult, context->result->setDesc, values, nulls);
}

static void
check_plan(PlannedStmt *stmt, ReturnSetInfo *result)
{
	Bitmapset *relations = NULL;
	CheckContext context = {.result = result, .use_prefix = list_length(stmt->rtable) > 1};
	ListCell *cell;

	if (stmt->rtable != NIL)
		relations = bms_add_range(NULL, 1, list_length(stmt->rtable));
	context.deparse_context =
		deparse_context_for_plan_tree(stmt, select_rtable_names_for_explain(stmt->rtable, relations));
	plan_walk(stmt->planTree, NIL, check_node, &context);
	foreach(cell, stmt->subplans)
		plan_walk(lfirst(cell), NIL, check_node, &context);
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
	query = UtilityContainsQuery(query->utilityStmt);
	if (query == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("this statement has no plan to check"),
				 errdetail("Only a statement that the planner sees can contain sorts."),
				 errhint("Give gpusort_check a SELECT, INSERT, UPDATE, DELETE, MERGE or VALUES statement.")));
	foreach(cell, QueryRewrite(copyObject(query)))
		check_query(lfirst_node(Query, cell), query_string, result);
}

Datum
gpusort_check(PG_FUNCTION_ARGS)
{
	char *query_string = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ListCell *statement;

	InitMaterializedSRF(fcinfo, 0);
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
