/*
 * exec/explain.c
 *		What EXPLAIN prints of a sort, and of the ranks above it.
 *
 * Sort Key is worded as PostgreSQL words it for its own Sort (check/deparse.c), so that plans can be
 * compared.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/instrument.h"
#include "nodes/makefuncs.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "base/pg_compat.h"
#include "check/deparse.h"
#include "device/participants.h"
#include "exec/explain.h"
#include "exec/gpusort_state.h"
#include "exec/group_above.h"
#include "exec/ranges_state.h"
#include "key/coded.h"
#include "key/sort_key.h"
#include "key/supported.h"
#include "plan/window_plan.h"
#include "plan/sort_plan.h"

/* ---------------------------------------------------------------- what ANALYZE adds */

static int64
kilobytes(uint64 bytes)
{
	return (bytes + 1023) / 1024;
}

/* One stage's time, in text formats only if the sort had that stage. */
static void
explain_stage(const char *word, const char *label, double ms, bool had_it, ExplainState *es)
{
	if (es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyFloat(label, "ms", ms, 3, es);
	else if (had_it)
		appendStringInfo(es->str, "%s%s=%.3f ms", es->str->data[es->str->len - 1] == ':' ? " " : "  ", word,
						 ms);
}

/* What the node took in this process: workers' times, if they ran it too, were added to its own. */
static double
total_ms_of_leader(const PlanState *node)
{
	double ms = node_instrumentation_total_ms(node->instrument);

	for (int i = 0; node->worker_instrument != NULL && i < node->worker_instrument->num_workers; i++)
		ms -= node_instrumentation_total_ms(&node->worker_instrument->instrument[i]);
	return ms;
}

/*
 * Where the time went, over all loops.  What the node took besides reading and sorting, it took to return
 * rows.  A device copies while rows are read, and gathers while they are returned; those two are within feed
 * and return.
 */
static void
explain_stages(const GpuSortState *state, const SorterStats *stats, ExplainState *es)
{
	double before_return_ms =
		stats->queue_ms + state->feed_ms + stats->sort_ms + stats->spill_ms + stats->merge_ms;
	double return_ms = Max(total_ms_of_leader(&state->css.ss.ps) - before_return_ms, 0.0);
	bool transferred = stats->device_memory > 0;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		appendStringInfoSpaces(es->str, es->indent * 2);
		appendStringInfoString(es->str, "Stages:");
	}
	explain_stage("queue", "Queue Time", stats->queue_ms, stats->queue_ms > 0, es);
	explain_stage("feed", "Feed Time", state->feed_ms, true, es);
	explain_stage("transfer", "Transfer Time", stats->transfer_ms, transferred, es);
	explain_stage("sort", "Sort Time", stats->sort_ms, true, es);
	explain_stage("spill", "Spill Time", stats->spill_ms, stats->runs > 0, es);
	explain_stage("merge", "Merge Time", stats->merge_ms, stats->runs > 0, es);
	explain_stage("gather", "Gather Time", stats->gather_ms, transferred, es);
	explain_stage("return", "Return Time", return_ms, true, es);
	if (es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyUInteger("Rows Put In Order Ahead", NULL, stats->rows_helped, es);
	else if (stats->rows_helped > 0)
		appendStringInfo(es->str, " (" UINT64_FORMAT " rows put in order ahead)", stats->rows_helped);
	if (es->format == EXPLAIN_FORMAT_TEXT)
		appendStringInfoChar(es->str, '\n');
}

/* Goes on with a line of text, or begins one. */
static void
go_on_with_line(ExplainState *es)
{
	StringInfo out = es->str;
	bool at_begin = out->len == 0 || out->data[out->len - 1] == '\n';

	appendStringInfoSpaces(out, at_begin ? es->indent * 2 : 2);
}

/* Ends a line of text, if there is one. */
static void
end_line(ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT && es->str->data[es->str->len - 1] != '\n')
		appendStringInfoChar(es->str, '\n');
}

/* A word with its label, on a line of text with others; in other formats a property. */
static void
explain_word(const char *label, const char *word, ExplainState *es)
{
	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText(label, word, es);
		return;
	}
	go_on_with_line(es);
	appendStringInfo(es->str, "%s: %s", label, word);
}

/* The same of a number, in text with a shorter label, and only if there is something to tell. */
static void
explain_number(const char *short_label, const char *label, const char *unit, uint64 number, bool tells,
			   ExplainState *es)
{
	if (es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyUInteger(label, unit, number, es);
	else if (tells)
		explain_word(short_label, psprintf(UINT64_FORMAT "%s", number, unit != NULL ? unit : ""), es);
}

/* The different values that got codes. */
static void
explain_values(const SorterStats *stats, ExplainState *es)
{
	explain_number("Values", "Values", NULL, stats->values, true, es);
	explain_number("Memory of Values", "Memory of Values", "kB", kilobytes(stats->value_bytes), true, es);
	if (stats->coding_ended)
		explain_word("Coding",
					 stats->values_full ? "ended, no memory for more values" : "ended, too many values", es);
	end_line(es);
}

static void
explain_method(const char *device, bool verified, const SorterStats *stats, ExplainState *es)
{
	bool is_text = es->format == EXPLAIN_FORMAT_TEXT;
	bool on_disk = stats->disk_bytes > 0;
	bool on_device = stats->device_memory > 0;

	explain_word("Sort Method", stats->method, es);
	explain_word("Device", device, es);
	if (!is_text)
	{
		ExplainPropertyInteger("Sort Space Used", "kB",
							   kilobytes(on_disk ? stats->disk_bytes : stats->peak_memory), es);
		ExplainPropertyText("Sort Space Type", on_disk ? "Disk" : "Memory", es);
	}
	explain_number("Memory", "Peak Memory", "kB", kilobytes(stats->peak_memory), true, es);
	explain_number("Disk", "Disk Usage", "kB", kilobytes(stats->disk_bytes), on_disk, es);
	explain_number("Runs", "Runs", NULL, stats->runs, stats->runs > 0, es);
	explain_number("Merge Passes", "Merge Passes", NULL, stats->merge_passes, stats->runs > 0, es);
	explain_number("Processes", "Processes", NULL, stats->processes, stats->processes > 1, es);
	end_line(es);
	if (stats->rows_wanted > 0)
	{
		explain_number("Bound", "Bound", NULL, stats->rows_wanted, true, es);
		explain_number("Rows Dropped", "Rows Dropped", NULL, stats->rows_dropped, true, es);
		end_line(es);
	}
	if (stats->rows_of_group > 0)
	{
		explain_number("Rows of Each Group", "Rows of Each Group", NULL, stats->rows_of_group, true, es);
		explain_number("Groups", "Groups", NULL, stats->groups, true, es);
		explain_number("Rows Dropped", "Rows Dropped", NULL, stats->rows_dropped, true, es);
		if (stats->groups_off)
			explain_word("Looking for Groups", "ended, few rows dropped", es);
		end_line(es);
	}
	if (stats->values > 0 || stats->coding_ended)
		explain_values(stats, es);
	if (!is_text)
		ExplainPropertyBool("Order Verified", verified, es);
	else if (verified)
	{
		go_on_with_line(es);
		appendStringInfoString(es->str, "Order Verified");
	}
	explain_number("Corrections", "Corrections", NULL, stats->corrections, verified, es);
	end_line(es);
	explain_number("Device Memory", "Device Memory", "kB", kilobytes(stats->device_memory), on_device, es);
	explain_number("In", "Transferred In", "kB", kilobytes(stats->bytes_in), on_device, es);
	explain_number("Out", "Transferred Out", "kB", kilobytes(stats->bytes_out), on_device, es);
	end_line(es);
}

/* The parts that took turns on a GPU that has no room for all rows, if they did. */
static void
explain_turns(const SorterStats *stats, ExplainState *es)
{
	if (stats->turns == 0)
		return;
	explain_number("Turns", "Turns", NULL, stats->turns, true, es);
	explain_number("Rows Waited", "Rows Waited", NULL, stats->waited_rows, true, es);
	explain_number("Waited On Disk", "Waited On Disk", "kB", kilobytes(stats->waited_disk_bytes), true, es);
	end_line(es);
}

/*
 * How often ICU was asked, which is slow, over all loops.  Processes that feed a sort together have encoders
 * of their own.
 */
static void
explain_icu(const GpuSortState *state, ExplainState *es)
{
	if (state->feed == NULL && state->key->uses_icu)
		ExplainPropertyUInteger("Sort Keys by ICU", NULL, state->key->builder.asked_icu, es);
}

/* One process's part of the feeding. */
static void
explain_process(const SortShareProcess *process, ExplainState *es)
{
	bool is_leader = process->worker_number < 0;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		go_on_with_line(es);
		appendStringInfo(es->str, "Fed by %s: rows=" UINT64_FORMAT,
						 is_leader ? "leader" : psprintf("worker %d", process->worker_number), process->rows);
		if (es->timing)
		{
			appendStringInfo(es->str, "  feed=%.3f ms", process->feed_ms);
			if (process->sort_ms > 0)
				appendStringInfo(es->str, "  sort=%.3f ms", process->sort_ms);
		}
		appendStringInfoChar(es->str, '\n');
		return;
	}
	ExplainOpenGroup("Feeding Process", NULL, true, es);
	ExplainPropertyBool("Leader", is_leader, es);
	if (!is_leader)
		ExplainPropertyInteger("Worker Number", NULL, process->worker_number, es);
	ExplainPropertyInteger("Rows", NULL, process->rows, es);
	if (es->timing)
	{
		ExplainPropertyFloat("Feed Time", "ms", process->feed_ms, 3, es);
		ExplainPropertyFloat("Sort Time", "ms", process->sort_ms, 3, es);
	}
	ExplainCloseGroup("Feeding Process", NULL, true, es);
}

/* The processes that fed the last sort, if there were several. */
static void
explain_processes(const GpuSortState *state, ExplainState *es)
{
	const SortShare *share = state->performed ? state->sorter->share : NULL;

	if (share == NULL)
		return;
	ExplainOpenGroup("Feeding Processes", "Feeding Processes", false, es);
	for (int i = 0; i < share->nentered; i++)
		explain_process(&share->processes[i], es);
	ExplainCloseGroup("Feeding Processes", "Feeding Processes", false, es);
}

/* The sorts of workers that have sorted for themselves, as the leader does. */
static void
explain_worker_sorts(const WorkerSorts *sorts, ExplainState *es)
{
	ExplainOpenGroup("Sorting Workers", "Sorting Workers", false, es);
	for (int i = 0; i < sorts->nworkers; i++)
	{
		SorterStats stats;
		bool verified;

		if (!worker_sorts_get(sorts, i, &stats, &verified))
			continue;
		ExplainOpenGroup("Sorting Worker", NULL, true, es);
		if (es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyInteger("Worker Number", NULL, i, es);
		else
		{
			go_on_with_line(es);
			appendStringInfo(es->str, "Worker %d:", i);
		}
		es->indent++; /* lines that follow the first one */
		explain_method(device_names[DEVICE_CPU], verified, &stats, es);
		es->indent--;
		ExplainCloseGroup("Sorting Worker", NULL, true, es);
	}
	ExplainCloseGroup("Sorting Workers", "Sorting Workers", false, es);
}

/* The sorts of this process. */
static void
explain_own_sorts(const GpuSortState *state, ExplainState *es)
{
	SorterStats stats;

	gpusort_state_get_stats(state, &stats);
	explain_method(state->device, state->key->verified, &stats, es);
	explain_turns(&stats, es);
	if (state->fallback != NULL)
		ExplainPropertyText("Fallback", psprintf("%s: %s", state->fallback_device, state->fallback), es);
	if (es->timing && state->css.ss.ps.instrument != NULL)
		explain_stages(state, &stats, es);
	if (!es->verbose)
		return;
	explain_icu(state, es);
	explain_processes(state, es);
}

/*
 * Will keys that guess at the order have codes in the place of all values that they guess, within the groups?
 */
static bool
has_codes_within(const Plan *plan, int ncolumns, const SortColumnSpec *columns, const GroupsWanted *wanted)
{
	uint32 coded = sort_plan_coded((const CustomScan *) plan);

	if (coded != 0)
		coded = sort_key_codable(sort_key_create(ncolumns, columns), coded);
	return coded != 0 && sort_key_codes_are_within(coded, wanted->columns);
}

/* The rows of each group that are wanted, as far as the plan tells. */
static void
explain_rows_of_group(const Plan *plan, const GroupAbove *above, List *context, ExplainState *es)
{
	const GroupsWanted *wanted = group_above_wanted(above);
	FirstOfGroups first;
	bool verified = false;
	Declined why_not;
	int ncolumns;
	SortColumnSpec *columns;

	if (wanted == NULL)
		return;
	columns = sort_plan_columns(plan, &ncolumns);
	for (int i = 0; i < ncolumns && !verified; i++)
		(void) sort_key_supported_if_verified(&columns[i], &verified, &why_not);
	first = first_of_groups_in_plan(wanted);
	if (!group_bound_is_possible(&first, verified && !has_codes_within(plan, ncolumns, columns, wanted)))
		return;
	if (first_of_groups_is_known(wanted))
		ExplainPropertyUInteger("Rows of Each Group", NULL, first.n, es);
	else
		ExplainPropertyText("Rows of Each Group",
							psprintf("%s%s", wanted->below ? "below " : "",
									 deparse_expression((Node *) wanted->limit, context,
														explain_use_prefix(es), false)),
							es);
}

void
explain_sort_node(CustomScanState *css, List *ancestors, ExplainState *es)
{
	const GpuSortState *state = (const GpuSortState *) css;
	Plan *plan = css->ss.ps.plan;
	List *context = set_deparse_context_plan(es->deparse_cxt, plan, ancestors);

	ExplainPropertyList("Sort Key", deparse_sort_keys(plan, context, explain_use_prefix(es)), es);
	if (es->analyze && state->device != NULL)
		explain_own_sorts(state, es);
	else
		explain_rows_of_group(plan, state->group_above, context, es);
	if (es->analyze && state->worker_sorts != NULL)
		explain_worker_sorts(state->worker_sorts, es);
}

/* Columns of the input, if there are any. */
static void
explain_columns(const char *label, const WindowColumns *columns, const Plan *input, List *context,
				ExplainState *es)
{
	List *words = NIL;

	for (int i = 0; i < columns->n; i++)
		words =
			lappend(words, deparse_input_column(input, columns->attnos[i], context, explain_use_prefix(es)));
	if (words != NIL)
		ExplainPropertyList(label, words, es);
}

void
explain_ranges_node(CustomScanState *css, List *ancestors, ExplainState *es)
{
	const GpuSortRangesState *state = (const GpuSortRangesState *) css;
	Plan *plan = css->ss.ps.plan;
	List *context = set_deparse_context_plan(es->deparse_cxt, plan, ancestors);
	List *keys = deparse_sort_keys(plan, context, explain_use_prefix(es));
	WindowColumns groups = {.n = sort_plan_group_columns((const CustomScan *) plan)};
	SorterStats stats;
	bool verified;

	ExplainPropertyList("Sort Key", keys, es);
	groups.attnos = palloc(sizeof(AttrNumber) * groups.n);
	for (int i = 0; i < groups.n; i++)
		groups.attnos[i] = state->columns[i].attno;
	explain_columns("Group Key", &groups, plan->lefttree, context, es);
	if (es->analyze && state->sorts != NULL && worker_sorts_get(state->sorts, 0, &stats, &verified))
		explain_method(device_names[DEVICE_CPU], verified, &stats, es);
	else
		explain_rows_of_group(plan, state->group_above, context, es);
}

/* ---------------------------------------------------------------- windows */

static void
explain_run_condition(const CustomScan *plan, List *context, ExplainState *es)
{
	Node *condition = (Node *) make_ands_explicit(window_plan_run_condition(plan));

	if (window_plan_run_condition(plan) != NIL)
		ExplainPropertyText("Run Condition",
							deparse_expression(condition, context, explain_use_prefix(es), false), es);
}

void
explain_window_node(CustomScanState *state, List *ancestors, ExplainState *es)
{
	Plan *plan = state->ss.ps.plan;
	const CustomScan *scan = (const CustomScan *) plan;
	List *context = set_deparse_context_plan(es->deparse_cxt, plan, ancestors);
	WindowColumns partition = window_plan_partition(scan);
	WindowColumns order = window_plan_order(scan);
	List *functions = NIL;
	ListCell *cell;

	foreach(cell, window_plan_functions(scan))
		functions = lappend(functions, get_func_name(lfirst_node(WindowFunc, cell)->winfnoid));
	ExplainPropertyList("Window Functions", functions, es);
	explain_columns("Partition Key", &partition, plan->lefttree, context, es);
	explain_columns("Order Key", &order, plan->lefttree, context, es);
	explain_run_condition(scan, context, es);
}
