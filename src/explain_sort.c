/*
 * explain_sort.c
 *		What EXPLAIN prints of a sort.
 *
 * Sort Key is worded as PostgreSQL words it for its own Sort, so that plans can be compared.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/typcache.h"

#include "explain_sort.h"
#include "sort_plan.h"

/* Appends COLLATE, DESC or USING, and NULLS, each where it is not what the column's type implies. */
static void
append_sort_options(StringInfo out, const SortColumnSpec *column)
{
	TypeCacheEntry *type = lookup_type_cache(column->type, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	bool		descending = column->sortop == type->gt_opr;

	if (OidIsValid(column->collation) && column->collation != get_typcollation(column->type))
		appendStringInfo(out, " COLLATE %s", quote_identifier(get_collation_name(column->collation)));
	if (descending)
		appendStringInfoString(out, " DESC");
	else if (column->sortop != type->lt_opr)
	{
		appendStringInfo(out, " USING %s", get_opname(column->sortop));
		(void) get_equality_op_for_ordering_op(column->sortop, &descending);
	}
	if (column->nulls_first != descending)
		appendStringInfoString(out, column->nulls_first ? " NULLS FIRST" : " NULLS LAST");
}

List *
explain_sort_keys(const Plan *plan, List *context, bool use_prefix)
{
	int			ncolumns;
	SortColumnSpec *columns = sort_plan_columns(plan, &ncolumns);
	List	   *keys = NIL;

	for (int i = 0; i < ncolumns; i++)
	{
		TargetEntry *input = list_nth_node(TargetEntry, plan->lefttree->targetlist, columns[i].attno - 1);
		Node	   *reference = (Node *) makeVarFromTargetEntry(OUTER_VAR, input);
		StringInfoData key;

		initStringInfo(&key);
		appendStringInfoString(&key, deparse_expression(reference, context, use_prefix, true));
		append_sort_options(&key, &columns[i]);
		keys = lappend(keys, key.data);
	}
	return keys;
}

/* Where the time went, over all loops.  What the node took besides reading and sorting, it took to return rows. */
static void
explain_stages(const GpuSortState *state, ExplainState *es)
{
	const SorterStats *stats = &state->stats;
	double		before_return_ms = state->feed_ms + stats->sort_ms + stats->spill_ms + stats->merge_ms;
	double		return_ms = Max(state->css.ss.ps.instrument->total * 1000.0 - before_return_ms, 0.0);

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		appendStringInfoSpaces(es->str, es->indent * 2);
		appendStringInfo(es->str, "Stages: feed=%.3f ms  sort=%.3f ms", state->feed_ms, stats->sort_ms);
		if (stats->runs > 0)
			appendStringInfo(es->str, "  spill=%.3f ms  merge=%.3f ms", stats->spill_ms, stats->merge_ms);
		appendStringInfo(es->str, "  return=%.3f ms\n", return_ms);
		return;
	}
	ExplainPropertyFloat("Feed Time", "ms", state->feed_ms, 3, es);
	ExplainPropertyFloat("Sort Time", "ms", stats->sort_ms, 3, es);
	ExplainPropertyFloat("Spill Time", "ms", stats->spill_ms, 3, es);
	ExplainPropertyFloat("Merge Time", "ms", stats->merge_ms, 3, es);
	ExplainPropertyFloat("Return Time", "ms", return_ms, 3, es);
}

static void
explain_method(const GpuSortState *state, ExplainState *es)
{
	const SorterStats *stats = &state->stats;
	bool		on_disk = stats->disk_bytes > 0;
	int64		memory_kb = (stats->peak_memory + 1023) / 1024;
	int64		disk_kb = (stats->disk_bytes + 1023) / 1024;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		appendStringInfoSpaces(es->str, es->indent * 2);
		appendStringInfo(es->str, "Sort Method: %s  Device: %s  Memory: " INT64_FORMAT "kB", stats->method,
						 state->device, memory_kb);
		if (on_disk)
			appendStringInfo(es->str, "  Disk: " INT64_FORMAT "kB  Runs: %d  Merge Passes: %d", disk_kb, stats->runs,
							 stats->merge_passes);
		appendStringInfoChar(es->str, '\n');
		return;
	}
	ExplainPropertyText("Sort Method", stats->method, es);
	ExplainPropertyText("Device", state->device, es);
	ExplainPropertyInteger("Sort Space Used", "kB", on_disk ? disk_kb : memory_kb, es);
	ExplainPropertyText("Sort Space Type", on_disk ? "Disk" : "Memory", es);
	ExplainPropertyInteger("Peak Memory", "kB", memory_kb, es);
	ExplainPropertyInteger("Disk Usage", "kB", disk_kb, es);
	ExplainPropertyInteger("Runs", NULL, stats->runs, es);
	ExplainPropertyInteger("Merge Passes", NULL, stats->merge_passes, es);
}

void
explain_sort_node(GpuSortState *state, List *ancestors, ExplainState *es)
{
	Plan	   *plan = state->css.ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, plan, ancestors);

	ExplainPropertyList("Sort Key", explain_sort_keys(plan, context, explain_use_prefix(es)), es);
	if (!es->analyze || state->device == NULL)
		return;
	explain_method(state, es);
	if (es->timing && state->css.ss.ps.instrument != NULL)
		explain_stages(state, es);
}
