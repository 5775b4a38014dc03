/*
 * plan/hashed_groups.c
 *		What a path that sorts to form groups costs, beside one that hashes.
 *
 * PostgreSQL's cost of hashing is the same for each row, however large the table is.  So that costs of a
 * HashAggregate and of a path with a GpuSort compare as their times do, both are predicted, and the latter
 * costs
 *
 *		input + (cost of hashing, above its input) * (time of sorting and grouping) / (time of hashing)
 *
 * where hashing is what PostgreSQL would rather do than sort.  But the number of groups is a guess, which may
 * be far too large for several columns together, and is too small where the planner takes a tenth of the rows
 * for several columns.  So hashing is taken to need the time in the middle, by orders of magnitude, of what
 * it needs with as many groups as one column has values, and with as many as are likely: sorting loses at
 * most as much by the one as it gains by the other.  Then it costs that, or what it costs in PostgreSQL's
 * unit beside groups that several processes form in part.
 */
#include "postgres.h"

#include <math.h>

#include "executor/nodeAgg.h"
#include "miscadmin.h"
#include "optimizer/cost.h"

#include "base/guc.h"
#include "plan/cost.h"
#include "plan/hashed_groups.h"
#include "plan/predict.h"
#include "plan/predict_gpusort.h"
#include "plan/predict_groups.h"

/*
 * How many groups there will be is a guess, and so is what hashing takes where the table is in a cache:
 * sorting must take at most this part of the time of hashing.
 */
#define HASH_SHARE 0.75

/* Does the path hash all of the input's rows in one process? */
static bool
hashes_all(const Path *path, const Path *input)
{
	const AggPath *agg = (const AggPath *) path;

	return IsA(path, AggPath) && agg->aggstrategy == AGG_HASHED && agg->aggsplit == AGGSPLIT_SIMPLE &&
		   agg->subpath->parent == input->parent;
}

const AggPath *
hashed_groups_path(const Path *cheapest, const Path *input)
{
	return enable_hashagg && hashes_all(cheapest, input) ? (const AggPath *) cheapest : NULL;
}

/* How many groups there are at least: the statistics know as many values of one of the columns. */
static double
certain_groups(const AggPath *hashed, const SortShape *sort)
{
	double most = 1;

	for (int i = 0; i < sort->nkeys; i++)
		most = Max(most, sort->keys[i].distinct);
	return Min(most, hashed->numGroups);
}

/*
 * With columns of which nothing is known: in the middle, by orders of magnitude, of what others say and all.
 */
double
likely_groups(const SortShape *sort)
{
	double groups = 1;
	bool in_doubt = false;

	for (int i = 0; i < sort->nkeys; i++)
	{
		if (sort->keys[i].distinct > 0)
			groups = Min(groups * sort->keys[i].distinct, sort->rows);
		else
			in_doubt = true;
	}
	return in_doubt ? sqrt(groups * sort->rows) : groups;
}

/*
 * Between what the planner expects and what is likely, for a column may follow from another one.  It expects
 * more where it takes expressions to have as many values as their columns.
 */
static double
expected_groups(const AggPath *hashed, const SortShape *sort)
{
	double likely = likely_groups(sort);

	return Min(likely, Max(hashed->numGroups, sqrt(hashed->numGroups * likely)));
}

static GroupShape
shape_of(const PlannerInfo *root, const AggPath *hashed, const SortExpectation *sort, double groups)
{
	Size entry = hash_agg_entry_size(list_length(root->aggtransinfos), hashed->subpath->pathtarget->width,
									 hashed->transitionSpace);

	return (GroupShape){.sorted = &sort->shape,
						.groups = groups,
						.entry_bytes = (double) entry,
						.memory = (double) get_hash_memory_limit()};
}

/* ---------------------------------------------------------------- costs */

/* What sorting costs beside hashing, which takes so many milliseconds. */
static Cost
cost_of_sorting(const AggPath *hashed, const SortExpectation *sort, const GroupShape *groups, double hashing)
{
	Cost input = hashed->subpath->total_cost;
	double ms = (sort->ms + predict_ordered_groups(groups) * sort->part) / HASH_SHARE - sort->input_ms;

	return input + (hashed->path.total_cost - input) * Max(LEAST_SHARE, ms / hashing);
}

bool
hashed_groups_cost(const PlannerInfo *root, const AggPath *hashed, const SortExpectation *sort,
				   const Path *path, Cost *cost)
{
	GroupShape expected = shape_of(root, hashed, sort, expected_groups(hashed, &sort->shape));
	GroupShape certain = shape_of(root, hashed, sort, certain_groups(hashed, &sort->shape));
	double least = predict_hashed_groups(&certain);
	double hashing = sqrt(least * predict_hashed_groups(&expected));

	*cost = Min(path->total_cost, cost_of_sorting(hashed, sort, &certain, least));
	if (gpusort_mode == GPUSORT_MODE_FORCE)
		return true;
	*cost = cost_of_sorting(hashed, sort, &expected, hashing);
	*cost = *cost < hashed->path.total_cost ? Min(path->total_cost, *cost) : Max(path->total_cost, *cost);
	/* files are no reason against what a sort is replaced by */
	if (temp_is_clearly_more(predict_gpusort_temp(&sort->shape), predict_hashed_groups_temp(&expected)))
		*cost = Max(*cost, hashed->path.total_cost);
	return sort->is_faster || *cost < hashed->path.total_cost;
}
