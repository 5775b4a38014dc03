/*
 * check.c
 *		gpusort_check(query): which of a query's sorts are taken, and why the others are not.
 *
 * The query is planned as the session's settings would have it, and the finished plan is read.  It is not executed.
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

#include "explain_sort.h"
#include "plan_walk.h"
#include "planner.h"
#include "sort_plan.h"

PG_FUNCTION_INFO_V1(gpusort_check);

/* What the walk over one plan needs. */
typedef struct CheckContext
{
	ReturnSetInfo *result;
	List	   *deparse_context;
	bool		use_prefix;
} CheckContext;

/* ---------------------------------------------------------------- why not */

/* What the sort is for, if that is not an ORDER BY; else NULL. */
static const char *
purpose(const Plan *parent)
{
	if (parent == NULL)
		return NULL;
	switch (nodeTag(parent))
	{
		case T_MergeJoin:
			return "a merge join";
		case T_Agg:
		case T_Group:
			return "GROUP BY or DISTINCT";
		case T_Unique:
			return "DISTINCT or UNION";
		case T_WindowAgg:
			return "a window function";
		case T_SetOp:
			return "INTERSECT or EXCEPT";
		case T_MergeAppend:
			return "a merge of several inputs";
		default:
			return NULL;
	}
}

static double
const_or(Node *node, double otherwise)
{
	if (node != NULL && IsA(node, Const) && !((Const *) node)->constisnull)
		return (double) DatumGetInt64(((Const *) node)->constvalue);
	return otherwise;
}

/* The LIMIT that the sort's rows go to, if nothing on the way needs all of them; else NULL. */
static const Limit *
limit_above(List *ancestors)
{
	ListCell   *cell;

	foreach(cell, ancestors)
	{
		const Plan *plan = lfirst(cell);

		if (IsA(plan, Limit))
			return (const Limit *) plan;
		if (!IsA(plan, GatherMerge) && !IsA(plan, Gather) && !IsA(plan, Result) && !IsA(plan, LockRows))
			return NULL;
	}
	return NULL;
}

/* How many of the sort's rows are wanted; -1: all. */
static double
rows_wanted(List *ancestors)
{
	const Limit *limit = limit_above(ancestors);

	if (limit == NULL || limit->limitCount == NULL)
		return -1;
	return const_or(limit->limitCount, limit->plan.plan_rows) + const_or(limit->limitOffset, 0);
}

/* Is one of the plans a Gather or Gather Merge? */
static bool
is_parallel(List *ancestors)
{
	ListCell   *cell;

	foreach(cell, ancestors)
	{
		if (IsA(lfirst(cell), Gather) || IsA(lfirst(cell), GatherMerge))
			return true;
	}
	return false;
}

static const char *
why_not_taken(const Plan *sort, List *ancestors)
{
	const char *use = purpose(ancestors != NIL ? linitial(ancestors) : NULL);
	const char *why_not;
	int			ncolumns;
	SortColumnSpec *columns = sort_plan_columns(sort, &ncolumns);

	for (int i = 0; i < ncolumns; i++)
	{
		if (!sort_key_supported(&columns[i], &why_not))
			return why_not;
	}
	if (!sort_worth_taking(sort->plan_rows, rows_wanted(ancestors), &why_not))
		return why_not;
	if (use != NULL)
		return psprintf("the sort is for %s; only sorts for ORDER BY are taken", use);
	if (IsA(sort, IncrementalSort))
		return "the input is in order by its first columns: an incremental sort is expected to be cheaper";
	if (is_parallel(ancestors))
		return "PostgreSQL's parallel plan is expected to be cheaper";
	return "PostgreSQL's own sort is expected to be cheaper";
}

/* ---------------------------------------------------------------- the plan */

static char *
join_strings(List *strings)
{
	StringInfoData out;
	ListCell   *cell;

	initStringInfo(&out);
	foreach(cell, strings)
		appendStringInfo(&out, "%s%s", out.len > 0 ? ", " : "", (char *) lfirst(cell));
	return out.data;
}

static void
check_node(Plan *plan, List *ancestors, void *arg)
{
	CheckContext *context = arg;
	bool		taken = sort_plan_is_gpusort(plan);
	Datum		values[3];
	bool		nulls[3] = {false, false, false};
	List	   *deparse_context;

	if (!taken && !IsA(plan, Sort) && !IsA(plan, IncrementalSort))
		return;
	deparse_context = set_deparse_context_plan(context->deparse_context, plan, ancestors);
	values[0] = CStringGetTextDatum(join_strings(explain_sort_keys(plan, deparse_context, context->use_prefix)));
	values[1] = BoolGetDatum(taken);
	nulls[2] = taken;
	values[2] = taken ? (Datum) 0 : CStringGetTextDatum(why_not_taken(plan, ancestors));
	tuplestore_putvalues(context->result->setResult, context->result->setDesc, values, nulls);
}

static void
check_plan(PlannedStmt *stmt, ReturnSetInfo *result)
{
	Bitmapset  *relations = NULL;
	CheckContext context = {.result = result, .use_prefix = list_length(stmt->rtable) > 1};
	ListCell   *cell;

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
	ListCell   *cell;

	if (query->commandType != CMD_UTILITY)
	{
		check_plan(pg_plan_query(query, query_string, CURSOR_OPT_PARALLEL_OK, NULL), result);
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
	char	   *query_string = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ListCell   *statement;

	InitMaterializedSRF(fcinfo, 0);
	foreach(statement, pg_parse_query(query_string))
	{
		Oid		   *param_types = NULL;
		int			nparams = 0;
		List	   *queries = pg_analyze_and_rewrite_varparams(lfirst_node(RawStmt, statement), query_string,
															   &param_types, &nparams, NULL);
		ListCell   *cell;

		foreach(cell, queries)
			check_query(lfirst_node(Query, cell), query_string, (ReturnSetInfo *) fcinfo->resultinfo);
	}
	return (Datum) 0;
}
