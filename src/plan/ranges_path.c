/*
 * plan/ranges_path.c
 *		The nodes above a sort, in each process of a parallel plan, for ranges of one sort.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "plan/path_chain.h"
#include "plan/ranges_path.h"

bool
ranges_are_possible(const SortToOffer *sort)
{
	return sort->root->glob->parallelModeOK && sort->partial != NULL &&
		   gpusort_backend != GPUSORT_BACKEND_CUDA;
}

/* What one of the processes has of a cost above an input, that costs so much there and here. */
static Cost
cost_of_part(Cost cost, Cost input, Cost input_of_part, double part)
{
	return input_of_part + Max(cost - input, 0) * part;
}

static Path *
copy_chain(Path *path, const Path *sort, Path *ranges, double part)
{
	Path *below;
	Path *input;
	Path *copy;

	if (path == sort)
		return ranges;
	below = path_input(path);
	input = copy_chain(below, sort, ranges, part);
	copy = path_copy_over(path, input);
	copy->rows = clamp_row_est(path->rows * part);
	copy->startup_cost = cost_of_part(path->startup_cost, below->startup_cost, input->startup_cost, part);
	copy->total_cost = cost_of_part(path->total_cost, below->total_cost, input->total_cost, part);
	copy->parallel_aware = false;
	copy->parallel_safe = true;
	copy->parallel_workers = input->parallel_workers;
	path_exchange_disabled(copy, sort, ranges);
	return copy;
}

Path *
ranges_chain(PlannerInfo *root, Path *top, const Path *sort, Path *ranges, double part)
{
	Path *result = path_without_order(root, copy_chain(top, sort, ranges, part));

	result->parallel_safe = true;
	return result;
}
