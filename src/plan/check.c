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

#include "access/htup_details.h"
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
#include "base/limits.h"
#include "base/pg_compat.h"
#include "base/result_rows.h"
#include "plan/check.h"
#include "plan/choice.h"
#include "plan/deparse.h"
#include "plan/forecast.h"
#include "plan/plan_walk.h"
#include "plan/planner.h"
#include "plan/rank_plan.h"
#include "plan/rival_plan.h"
#include "plan/shape.h"
#include "plan/sort_plan.h"
#include "service/state.h"

PG_FUNCTION_INFO_V1(gpusort_check);

/* What the walk over one plan needs. */
typedef struct CheckContext
{
	ReturnSetInfo *result;
	List *deparse_context;
	bool use_prefix;
	PlannedStmt *stmt;
	const OfferedPlans *offered;
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
	put_text(sort->why_not != NULL ? sort->why_not : sort->replaced, COLUMN_REASON, values, nulls);
	put_time(sort->expected_ms, COLUMN_EXPECTED_MS, values, nulls);
	put_time(sort->postgres_ms, COLUMN_POSTGRESQL_MS, values, nulls);
	put_text(sort->how, COLUMN_HOW, values, nulls);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* The two times, of a sort that is taken as they were predicted when that was decided. */
static void
fill_times(const PlannedStmt *stmt, Plan *plan, List *ancestors, CheckedSort *sort)
{
	SortForecast forecast;
	SortExpected expected;

	if (sort_plan_is_gpusort(plan))
		expected = sort_plan_expected((CustomScan *) plan);
	else
	{
		forecast_sort(&forecast, stmt, plan, ancestors);
		expected = forecast.expected;
	}
	sort->postgres_ms = expected.postgres_ms;
	sort->expected_ms = expected.ms;
}

static List *
deparse_context_of(const CheckContext *context, Plan *plan, List *ancestors)
{
	return set_deparse_context_plan(context->deparse_context, plan, ancestors);
}

/* In how many parts, that take turns, it is sorted on one GPU. */
static int
turns_on_gpu(const PlannedStmt *stmt, const Plan *sort, double wanted, double largest)
{
	double memory = guc_sort_device_memory(gpu_service_device_memory());
	double row_bytes = sort->lefttree->plan_width + MAXALIGN(SizeofMinimalTupleHeader);
	double row = gpu_row_memory(row_bytes, sort_plan_expected((const CustomScan *) sort).key_bytes);

	/* workers of the sort's own are gone when its rows are read */
	return gpu_turns(sort->plan_rows, memory / row, largest, wanted < 0,
					 IsA(sort->lefttree, Gather) && stmt->parallelModeNeeded);
}

/* In how many parts the sort is on a GPU; NULL: in one, or it is not there. */
static const char *
how_on_gpu(const PlannedStmt *stmt, const Plan *sort, List *ancestors)
{
	const CustomScan *plan = (const CustomScan *) sort;
	int ncolumns;
	SortColumnSpec *columns = sort_plan_columns(sort, &ncolumns);
	ColumnStats stats;
	double wanted = shape_rows_wanted(ancestors);
	int turns;

	if (gpusort_backend != GPUSORT_BACKEND_CUDA && !sort_plan_is_faster_on_gpu(plan, 0))
		return NULL;
	stats = column_stats_of_plan(sort->lefttree, columns[0].attno, stmt->rtable);
	turns = turns_on_gpu(stmt, sort, wanted, gpu_service_ready() ? column_largest_share(&stats) : 1);
	return turns > 1 ? psprintf("in %d parts, one after the other: a GPU has no room for all rows", turns)
					 : NULL;
}

/* What there is to say of a sort that is taken; NULL: nothing. */
static const char *
how_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors)
{
	bool ranked = ancestors != NIL && rank_plan_is_rank(linitial(ancestors));
	const char *window = "the window above it counts rows as they come, without a copy (GpuRank)";
	const char *device = NULL;
	Declined why_not;
	bool verified;

	if (sort_plan_beside((const CustomScan *) sort) > 0)
		device = "each process of the parallel plan sorts its rows by itself, on the cpu device";
	else if (sort_may_use_gpu())
		device = sort_columns_supported(sort, &verified, &why_not) && verified
					 ? "on the cpu device: the order of such values is verified there, by comparisons"
					 : how_on_gpu(stmt, sort, ancestors);
	if (device == NULL)
		return ranked ? window : NULL;
	return ranked ? psprintf("%s; %s", device, window) : device;
}

/* A sort that is a node, or is described by one. */
static void
put_sort(const CheckContext *context, Plan *plan, List *ancestors, const char *why_not)
{
	CheckedSort sort = {.why_not = why_not};
	List *deparse_context = deparse_context_of(context, plan, ancestors);

	sort.sort_key = join_strings(deparse_sort_keys(plan, deparse_context, context->use_prefix));
	if (why_not == NULL)
	{
		sort.how = how_taken(context->stmt, plan, ancestors);
		sort.replaced = rival_plan_replaced(sort_plan_expected((const CustomScan *) plan).replaced);
	}
	fill_times(context->stmt, plan, ancestors, &sort);
	check_put(context->result, &sort);
}

/*
 * The sorts of a grouping's own, from one order to the next; they know neither their input nor its columns.
 */
static void
put_chain(const CheckContext *context, const Agg *agg, List *ancestors)
{
	List *below = lcons(unconstify(Agg *, agg), list_copy(ancestors));
	Plan *input = agg->plan.lefttree;
	ListCell *cell;

	foreach(cell, agg->chain)
	{
		const Plan *own = lfirst_node(Agg, cell)->plan.lefttree;
		Sort *sort;

		if (own == NULL)
			continue;
		sort = copyObject((Sort *) own);
		sort->plan.lefttree = input;
		sort->plan.targetlist = input->targetlist;
		sort->plan.plan_rows = input->plan_rows;
		put_sort(context, &sort->plan, below, "the sort is a grouping's own, between two grouping sets");
	}
}

/* Aggregates that sort what they are given. */
static bool
find_sorting_aggregates(Node *node, void *found)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref) && aggref_sorts((Aggref *) node))
		*(List **) found = lappend(*(List **) found, node);
	return expression_tree_walker(node, find_sorting_aggregates, found);
}

static void
put_aggregates(const CheckContext *context, Plan *plan, List *ancestors)
{
	List *deparse_context = deparse_context_of(context, plan, ancestors);
	List *aggregates = NIL;
	ListCell *cell;

	(void) find_sorting_aggregates((Node *) plan->targetlist, &aggregates);
	(void) find_sorting_aggregates((Node *) plan->qual, &aggregates);
	foreach(cell, aggregates)
	{
		CheckedSort sort = {.sort_key =
								deparse_expression(lfirst(cell), deparse_context, context->use_prefix, true),
							.why_not = "the sort is inside of an aggregate",
							.expected_ms = -1,
							.postgres_ms = -1};

		check_put(context->result, &sort);
	}
}

/* A grouping or a join without a sort, where there might have been a GpuSort. */
static void
put_rival(const CheckContext *context, Plan *plan, List *ancestors)
{
	RivalPlan rival = rival_plan_of(context->offered, plan, ancestors);
	List *deparse_context;
	CheckedSort sort = {.why_not = rival_plan_why_not(rival), .expected_ms = -1, .postgres_ms = -1};

	if (sort.why_not == NULL)
		return;
	deparse_context = deparse_context_of(context, plan, ancestors);
	sort.sort_key = join_strings(deparse_grouping_keys(plan, deparse_context, context->use_prefix));
	check_put(context->result, &sort);
}

static void
check_node(Plan **place, List *ancestors, void *arg)
{
	const CheckContext *context = arg;
	Plan *plan = *place;

	if (sort_plan_is_gpusort(plan))
		put_sort(context, plan, ancestors, NULL);
	else if (IsA(plan, Sort) || IsA(plan, IncrementalSort))
		put_sort(context, plan, ancestors, sort_why_not_taken(context->stmt, plan, ancestors));
	else if (IsA(plan, Agg))
	{
		put_aggregates(context, plan, ancestors);
		put_chain(context, (const Agg *) plan, ancestors);
	}
	put_rival(context, plan, ancestors);
}

/* Has EXPLAIN's words for the columns of a GpuSort's input. */
static void
prepare_node(Plan **place, List *ancestors, void *context)
{
	sort_plan_refer_to_input(*place);
}

/* Whoever may EXPLAIN the statement may have its plan checked, for that tells the planner's estimates. */
static void
check_plan(PlannedStmt *stmt, const OfferedPlans *offered, ReturnSetInfo *result)
{
	Bitmapset *relations = NULL;
	CheckContext context = {.result = result,
							.offered = offered,
							.use_prefix = explain_rtable_size(stmt->rtable) > 1,
							.stmt = stmt};

	plan_check_permissions(stmt);
	if (stmt->rtable != NIL)
		relations = bms_add_range(NULL, 1, list_length(stmt->rtable));
	context.deparse_context =
		deparse_context_for_plan_tree(stmt, select_rtable_names_for_explain(stmt->rtable, relations));
	plan_walk_statement(stmt, prepare_node, NULL);
	plan_walk_statement(stmt, check_node, &context);
}

/* ---------------------------------------------------------------- the query */

/* Plans a query, or the one inside EXPLAIN, CREATE TABLE AS or DECLARE CURSOR. */
static void
check_query(Query *query, const char *query_string, ReturnSetInfo *result)
{
	ListCell *cell;

	if (query->commandType != CMD_UTILITY)
	{
		OfferedPlans offered = {.context = CurrentMemoryContext};
		PlannedStmt *stmt = planner_plan_uncounted(query, query_string, &offered);

		check_plan(stmt, &offered, result);
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
