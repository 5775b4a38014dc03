/*
 * plan/planner.c
 *		The planner's hooks: a GpuSort for the query's ORDER BY.
 *
 * If the path that PostgreSQL would choose sorts, or fetches the rows by an index, and a GpuSort is expected
 * to be faster (cost.c) without clearly more temporary files, a GpuSort path over the cheapest input is
 * added, at a lower cost.  Else the plan stays: a GpuSort is never the reason for another plan.  In mode
 * force paths that sort are taken out, and a GpuSort comes in, however long it takes.
 *
 * What is sorted for window functions, groupings, DISTINCT and UNION is offered by sorted_input.c.  The Sorts
 * that are left when the plan is finished, take_sorts.c takes, and the windows above sorts.
 */
#include "postgres.h"

#include "nodes/extensible.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "tcop/tcopprot.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "plan/choice.h"
#include "plan/cluster.h"
#include "plan/cost.h"
#include "plan/gpusort_path.h"
#include "plan/likely_rows.h"
#include "plan/own_scan.h"
#include "plan/plan_settings.h"
#include "plan/planner.h"
#include "plan/rival.h"
#include "plan/sorted_input.h"
#include "plan/take_sorts.h"

static create_upper_paths_hook_type prev_create_upper_paths_hook;
static planner_hook_type prev_planner_hook;

/*
 * The settings by which the query is planned that is being planned, or was the last one: those in force when
 * the planner had all paths.  Another hook may have set them for this query alone, and they are gone when its
 * plan comes back to ours.  A plan that is none of the planner's, as one that was stored, has those in force
 * at its begin.
 */
static PlanSettings planned_with;
static PlanSettings last_planned_with;

/* ---------------------------------------------------------------- ORDER BY */

/* Adds the path to ordered_rel, with the output that is wanted of that. */
static void
add_gpusort_path(PlannerInfo *root, RelOptInfo *ordered_rel, CustomPath *path, PathTarget *target)
{
	/* a volatile output column must not be taken for an equal one of the input: another node computes it */
	if (!contain_volatile_functions((Node *) target->exprs))
		path->flags |= CUSTOMPATH_SUPPORT_PROJECTION;
	if (path->path.pathtarget != target)
		add_path(ordered_rel, apply_projection_to_path(root, ordered_rel, &path->path, target));
	else
		add_path(ordered_rel, &path->path);
}

/*
 * How many rows the LIMIT above the sort lets through, -1: all.  It may be that of an outer query, if that
 * passes on what it wants; and where its count is a parameter, it is what the planner assumes then, a part of
 * the rows.
 */
static double
rows_wanted(const PlannerInfo *root, double rows)
{
	const PlannerInfo *outer = root->parent_root;

	if (root->limit_tuples >= 0)
		return root->limit_tuples;
	if (root->parse->limitCount != NULL)
		return root->tuple_fraction > 0 ? wanted_fraction(root, rows) * rows : -1;
	if (outer == NULL || limit_needed(root->parse) || root->tuple_fraction <= 0 ||
		root->tuple_fraction != outer->tuple_fraction)
		return -1;
	return rows_wanted(outer, rows);
}

static void
consider_gpusort(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *ordered_rel)
{
	bool force = gpusort_mode == GPUSORT_MODE_FORCE;
	SortToOffer sort = {.root = root,
						.rel = ordered_rel,
						.input = input_rel->cheapest_total_path,
						.pathkeys = root->sort_pathkeys,
						.with_ties = root->parse->limitOption == LIMIT_OPTION_WITH_TIES,
						.for_order_by = true};
	PathTarget *target;
	Rival rival;
	CustomPath *path;

	if (root->sort_pathkeys == NIL || ordered_rel->pathlist == NIL || sort.input == NULL ||
		!sort_may_be_offered(sort.input, sort.pathkeys))
		return;
	sort.rows = path_likely_rows(root, sort.input);
	if (!sort_has_rows_enough(sort.rows))
		return;
	sort.fraction = wanted_fraction(root, sort.input->rows);
	if (!rival_find(input_rel, ordered_rel, sort.fraction, force, &rival))
		return;
	sort.partial = ordered_rel->consider_parallel ? partial_input(input_rel, sort.pathkeys)
												  : own_scan_path(root, sort.input);
	sort.wanted = rows_wanted(root, sort.input->rows);
	target = ((Path *) linitial(ordered_rel->pathlist))->pathtarget;
	path = gpusort_path(&sort, &rival, NULL);
	if (path == NULL)
		return;
	if (force)
		remove_sorting_paths(input_rel, ordered_rel);
	add_gpusort_path(root, ordered_rel, path, target);
}

/* ---------------------------------------------------------------- hooks */

static void
gpusort_create_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
						   RelOptInfo *output_rel, void *extra)
{
	if (prev_create_upper_paths_hook != NULL)
		prev_create_upper_paths_hook(root, stage, input_rel, output_rel, extra);
	if (stage == UPPERREL_FINAL && root->parent_root == NULL)
		planned_with = plan_settings_in_force();
	if (gpusort_mode == GPUSORT_MODE_OFF)
		return;
	if (stage == UPPERREL_ORDERED)
		consider_gpusort(root, input_rel, output_rel);
	else if (stage == UPPERREL_WINDOW || stage == UPPERREL_GROUP_AGG || stage == UPPERREL_DISTINCT)
		sorted_input_offer(root, stage, input_rel, output_rel, extra);
	else if (stage == UPPERREL_SETOP)
		sorted_input_offer_union(root, output_rel);
}

/* ---------------------------------------------------------------- the finished plan */

/* Has gpusort plan where PostgreSQL would sort, or number rows. */
static void
take_from_plan(void *place)
{
	PlannedStmt **stmt = place;

	if (gpusort_mode != GPUSORT_MODE_OFF)
		*stmt = take_aggregates(take_windows(take_sorts(*stmt, !rival_plan_is_noted())));
}

static PlannedStmt *
plan_query(planner_hook_parameters)
{
	return prev_planner_hook != NULL ? prev_planner_hook(planner_hook_arguments)
									 : standard_planner(planner_hook_arguments);
}

/*
 * A function that is evaluated while a query is planned may have queries of its own, with settings of their
 * own.
 */
static PlannedStmt *
gpusort_planner(planner_hook_parameters)
{
	PlanSettings outer = planned_with;
	PlannedStmt *volatile planned;
	PlannedStmt *result;

	planned_with = plan_settings_in_force();
	PG_TRY();
	{
		planned = plan_query(planner_hook_arguments);
		last_planned_with = planned_with;
	}
	PG_FINALLY();
	{
		planned_with = outer;
	}
	PG_END_TRY();
	result = planned;
	plan_settings_during(&last_planned_with, take_from_plan, &result);
	return result;
}

PlannedStmt *
planner_plan_uncounted(Query *query, const char *query_string, int cursor_options, ParamListInfo params,
					   OfferedPlans *offered, PlanSettings *settings)
{
	OfferedPlans *before = rival_plan_note_in(offered);
	PlannedStmt *volatile result;

	last_planned_with = plan_settings_in_force();
	PG_TRY();
	{
		result = pg_plan_unexplained_query(query, query_string, cursor_options, params);
	}
	PG_FINALLY();
	{
		(void) rival_plan_note_in(before);
	}
	PG_END_TRY();
	*settings = last_planned_with;
	return result;
}

void
planner_install_hooks(void)
{
	prev_create_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = gpusort_create_upper_paths;
	prev_planner_hook = planner_hook;
	planner_hook = gpusort_planner;
	cluster_install_hook();
}
