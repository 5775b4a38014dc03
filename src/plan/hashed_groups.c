/*
 * plan/hashed_groups.c
 *		What a path that sorts to form groups costs, beside one that hashes.
 *
 * PostgreSQL's cost of hashing is the same for each row, however large the table is; but in one that is
 * larger than a cache a row takes several times as long.  So that costs of a HashAggregate and of a path with
 * a GpuSort compare as their times do, both are predicted (predict_groups.c), and the latter costs
 *
 *		input + (cost of hashing, above its input) * (time of sorting and grouping) / (time of hashing)
 *
 * where hashing is what PostgreSQL would rather do than sort.  But the number of groups is a guess, which may
 * be far too large for expressions and for several columns together; so the path costs no less than it would
 * without all that, unless as many groups as one column has values are enough for it, and no more, unless
 * sorting takes longer even with as many groups as are expected.  Groups that several processes form in part
 * are not looked at.
 */
#include "postgres.h"

#include "executor/nodeAgg.h"
#include "miscadmin.h"
#include "optimizer/cost.h"

#include "base/guc.h"
#include "plan/cost.h"
#include "plan/hashed_groups.h"
#include "plan/predict.h"

/*
 * How many groups there will be is a guess, and so is what hashing takes where the table is in a cache:
 * sorting must take at most this part of the time of hashing.
 */
#define HASH_SHARE 0.75

static const AggPath *
cheapest_hashed(const RelOptInfo *rel, const Path *input)
{
	const AggPath *best = NULL;
	ListCell *cell;

	foreach(cell, rel->pathlist)
	{
		const AggPath *path = lfirst(cell);

		if (IsA(path, AggPath) && path->aggstrategy == AGG_HASHED && path->aggsplit == AGGSPLIT_SIMPLE &&
			path->subpath->parent == input->parent &&
			(best == NULL || path->path.total_cost < best->path.total_cost))
			best = path;
	}
	return best;
}

const AggPath *
hashed_groups_path(const RelOptInfo *rel, const Path *input, const Path *sorted)
{
	const AggPath *hashed = enable_hashagg ? cheapest_hashed(rel, input) : NULL;

	return hashed != NULL && hashed->path.total_cost < sorted->total_cost ? hashed : NULL;
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

/* What sorting costs, if there are so many groups. */
static Cost
cost_of_sorting(const AggPath *hashed, const SortExpectation *sort, const GroupShape *groups)
{
	Cost input = hashed->subpath->total_cost;
	double ms = (sort->ms + predict_groups_in_order(groups)) / HASH_SHARE - sort->input_ms;

	return input + (hashed->path.total_cost - input) * Max(LEAST_SHARE, ms / predict_hashed_groups(groups));
}

bool
hashed_groups_cost(const PlannerInfo *root, const AggPath *hashed, const SortExpectation *sort,
				   const Path *path, Cost *cost)
{
	GroupShape expected = shape_of(root, hashed, sort, hashed->numGroups);
	GroupShape certain = shape_of(root, hashed, sort, certain_groups(hashed, &sort->shape));

	*cost = Min(path->total_cost, cost_of_sorting(hashed, sort, &certain));
	if (gpusort_mode == GPUSORT_MODE_FORCE)
		return true;
	*cost = Max(*cost, cost_of_sorting(hashed, sort, &expected));
	return !temp_is_clearly_more(predict_gpusort_temp(&sort->shape), predict_hashed_temp(&expected)) &&
		   (sort->is_faster || *cost < hashed->path.total_cost);
}
