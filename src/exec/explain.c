/*
 * exec/explain.c
 *		What EXPLAIN prints of a sort, and of the ranks above it.
 *
 * Sort Key is worded as PostgreSQL words it for its own Sort (plan/deparse.c), so that plans can be compared.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/instrument.h"
#include "nodes/makefuncs.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "base/pg_compat.h"
#include "device/participants.h"
#include "exec/explain.h"
#include "plan/deparse.h"
#include "plan/rank_plan.h"
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
	double return_ms =
		Max(node_instrumentation_total_ms(state->css.ss.ps.instrument) - before_return_ms, 0.0);
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

static void
explain_method_text(const GpuSortState *state, const SorterStats *stats, ExplainState *es)
{
	StringInfo out = es->str;

	appendStringInfoSpaces(out, es->indent * 2);
	appendStringInfo(out, "Sort Method: %s  Device: %s  Memory: " INT64_FORMAT "kB", stats->method,
					 state->device, kilobytes(stats->peak_memory));
	if (stats->disk_bytes > 0)
		appendStringInfo(out, "  Disk: " INT64_FORMAT "kB", kilobytes(stats->disk_bytes));
	if (stats->runs > 0)
		appendStringInfo(out, "  Runs: %d  Merge Passes: %d", stats->runs, stats->merge_passes);
	if (stats->processes > 1)
		appendStringInfo(out, "  Processes: %d", stats->processes);
	appendStringInfoChar(out, '\n');
	if (stats->rows_wanted > 0)
	{
		appendStringInfoSpaces(out, es->indent * 2);
		appendStringInfo(out, "Bound: " UINT64_FORMAT "  Rows Dropped: " UINT64_FORMAT "\n",
						 stats->rows_wanted, stats->rows_dropped);
	}
	if (state->key->verified)
	{
		appendStringInfoSpaces(out, es->indent * 2);
		appendStringInfo(out, "Order Verified  Corrections: " UINT64_FORMAT "\n", stats->corrections);
	}
	if (stats->device_memory == 0)
		return;
	appendStringInfoSpaces(out, es->indent * 2);
	appendStringInfo(out,
					 "Device Memory: " INT64_FORMAT "kB  In: " INT64_FORMAT "kB  Out: " INT64_FORMAT "kB\n",
					 kilobytes(stats->device_memory), kilobytes(stats->bytes_in),
					 kilobytes(stats->bytes_out));
}

/* The parts that took turns on a GPU that has no room for all rows, if they did. */
static void
explain_turns(const SorterStats *stats, ExplainState *es)
{
	if (stats->turns == 0)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		appendStringInfoSpaces(es->str, es->indent * 2);
		appendStringInfo(es->str,
						 "Turns: %d  Rows Waited: " UINT64_FORMAT "  Waited On Disk: " INT64_FORMAT "kB\n",
						 stats->turns, stats->waited_rows, kilobytes(stats->waited_disk_bytes));
		return;
	}
	ExplainPropertyInteger("Turns", NULL, stats->turns, es);
	ExplainPropertyUInteger("Rows Waited", NULL, stats->waited_rows, es);
	ExplainPropertyInteger("Waited On Disk", "kB", kilobytes(stats->waited_disk_bytes), es);
}

static void
explain_method(const GpuSortState *state, const SorterStats *stats, ExplainState *es)
{
	bool on_disk = stats->disk_bytes > 0;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		explain_method_text(state, stats, es);
		return;
	}
	ExplainPropertyText("Sort Method", stats->method, es);
	ExplainPropertyText("Device", state->device, es);
	ExplainPropertyInteger("Sort Space Used", "kB",
						   kilobytes(on_disk ? stats->disk_bytes : stats->peak_memory), es);
	ExplainPropertyText("Sort Space Type", on_disk ? "Disk" : "Memory", es);
	ExplainPropertyInteger("Peak Memory", "kB", kilobytes(stats->peak_memory), es);
	ExplainPropertyInteger("Disk Usage", "kB", kilobytes(stats->disk_bytes), es);
	ExplainPropertyInteger("Runs", NULL, stats->runs, es);
	ExplainPropertyInteger("Merge Passes", NULL, stats->merge_passes, es);
	ExplainPropertyInteger("Processes", NULL, stats->processes, es);
	if (stats->rows_wanted > 0)
	{
		ExplainPropertyInteger("Bound", NULL, stats->rows_wanted, es);
		ExplainPropertyInteger("Rows Dropped", NULL, stats->rows_dropped, es);
	}
	ExplainPropertyBool("Order Verified", state->key->verified, es);
	ExplainPropertyInteger("Corrections", NULL, stats->corrections, es);
	ExplainPropertyInteger("Device Memory", "kB", kilobytes(stats->device_memory), es);
	ExplainPropertyInteger("Transferred In", "kB", kilobytes(stats->bytes_in), es);
	ExplainPropertyInteger("Transferred Out", "kB", kilobytes(stats->bytes_out), es);
}

/*
 * How often ICU was asked, which is slow, over all loops.  Processes that feed a sort together have encoders
 * of their own.
 */
static void
explain_icu(const GpuSortState *state, ExplainState *es)
{
	if (state->feed == NULL && sort_key_uses_icu(state->key))
		ExplainPropertyUInteger("Sort Keys by ICU", NULL, state->key->builder.asked_icu, es);
}

/* One process's part of the feeding. */
static void
explain_process(const SortShareProcess *process, ExplainState *es)
{
	bool is_leader = process->worker_number < 0;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		appendStringInfoSpaces(es->str, es->indent * 2);
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

void
explain_sort_node(GpuSortState *state, List *ancestors, ExplainState *es)
{
	Plan *plan = state->css.ss.ps.plan;
	List *context = set_deparse_context_plan(es->deparse_cxt, plan, ancestors);
	SorterStats stats;

	ExplainPropertyList("Sort Key", deparse_sort_keys(plan, context, explain_use_prefix(es)), es);
	if (!es->analyze || state->device == NULL)
		return;
	node_gpusort_get_stats(state, &stats);
	explain_method(state, &stats, es);
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

/* ---------------------------------------------------------------- ranks */

/* Columns of the input, if there are any. */
static void
explain_columns(const char *label, const RankColumns *columns, const Plan *input, List *context,
				ExplainState *es)
{
	List *words = NIL;

	for (int i = 0; i < columns->n; i++)
		words =
			lappend(words, deparse_input_column(input, columns->attnos[i], context, explain_use_prefix(es)));
	if (words != NIL)
		ExplainPropertyList(label, words, es);
}

static void
explain_run_condition(const CustomScan *plan, List *context, ExplainState *es)
{
	Node *condition = (Node *) make_ands_explicit(plan->custom_exprs);

	if (plan->custom_exprs != NIL)
		ExplainPropertyText("Run Condition",
							deparse_expression(condition, context, explain_use_prefix(es), false), es);
}

void
explain_rank_node(const CustomScanState *state, List *ancestors, ExplainState *es)
{
	Plan *plan = state->ss.ps.plan;
	const CustomScan *scan = (const CustomScan *) plan;
	List *context = set_deparse_context_plan(es->deparse_cxt, plan, ancestors);
	RankColumns partition = rank_plan_partition(scan);
	RankColumns order = rank_plan_order(scan);
	List *functions = NIL;
	ListCell *cell;

	foreach(cell, rank_plan_functions(scan))
		functions = lappend(functions, get_func_name(lfirst_oid(cell)));
	ExplainPropertyList("Window Functions", functions, es);
	explain_columns("Partition Key", &partition, plan->lefttree, context, es);
	explain_columns("Order Key", &order, plan->lefttree, context, es);
	explain_run_condition(scan, context, es);
}
