/*
 * exec/gpusort_request.c
 *		The request of a GpuSort: which rows are wanted, which columns get codes, what is expected.
 */
#include "postgres.h"

#include "executor/executor.h"

#include "base/guc.h"
#include "device/participants.h"
#include "exec/gpusort_request.h"
#include "exec/group_above.h"
#include "exec/key_statistics.h"
#include "exec/sort_request.h"
#include "key/coded.h"
#include "plan/sort_plan.h"
#include "sort/value_bound.h"

/* ---------------------------------------------------------------- codes */

/*
 * May values get codes, if the device has this kind?  A card cannot feed rows again when coding ends, and
 * drops no rows by codes.
 */
static bool
may_code(const GpuSortState *state, DeviceKind device)
{
	if (state->coding_ended)
		return false;
	return device == DEVICE_CPU ||
		   (state->restartable && state->wanted.rows == 0 && state->wanted.first.n == 0);
}

bool
gpusort_request_has_guesses(const GpuSortState *state)
{
	uint32 named = sort_plan_coded((const CustomScan *) state->css.ss.ps.plan);

	return state->key->verified &&
		   !(may_code(state, DEVICE_CUDA) && sort_key_codable(state->key, named) != 0);
}

/* What is wanted of each group, or by the first column, and codes. */
static void
choose_codes(const GpuSortState *state, const SortDevice *device, SortRequest *request)
{
	uint32 coded = may_code(state, device->kind) ? sort_request_codable(request, &state->css) : 0;

	sort_request_set_first(request, &state->wanted.first, coded);
	if (state->key->verified && request->rows.first.n == 0 && value_bound_is_possible(request->rows.coded))
		request->rows.wanted_by_value = state->wanted.rows;
}

/* ---------------------------------------------------------------- rows and processes */

/* Do the processes below the Gather feed the sorter? */
static bool
has_feeds(const GpuSortState *state)
{
	return state->feed != NULL && state->css.ss.ps.state->es_use_parallel_mode;
}

static int
nprocesses(const GpuSortState *state)
{
	return has_feeds(state) ? 1 + ((Gather *) outerPlan(state->css.ss.ps.plan))->num_workers : 1;
}

/* The rows that come, and those that are wanted. */
static void
describe_rows(const GpuSortState *state, const SortDevice *device, SortRequest *request)
{
	request->rows.complete =
		sort_request_rows_are_complete(device, state->ncolumns, state->columns, state->unused);
	request->rows.random_access = state->random_access;
	request->rows.fed_once = !state->restartable;
	request->rows.few_read = state->few_read;
	/* keys that only guess at the order can't say which rows are not wanted */
	request->rows.wanted = state->key->verified ? 0 : state->wanted.rows;
	request->rows.with_ties = state->wanted.with_ties;
}

static void
describe_processes(const GpuSortState *state, SortRequest *request)
{
	int beside = sort_plan_beside((CustomScan *) state->css.ss.ps.plan);

	request->processes.share = has_feeds(state);
	request->processes.help = request->processes.share && request->rows.wanted == 0 && !state->few_read &&
							  !state->own_workers.active;
	if (beside > 0)
		request->memory.limit = guc_sort_memory_of_each(beside);
}

/* ---------------------------------------------------------------- what is expected */

static double
coded_key_bytes(const SortKey *key, uint32 columns)
{
	return sort_key_coded_width(key->ncols, key->cols, columns, &columns);
}

static void
describe_expected(const GpuSortState *state, SortRequest *request)
{
	Plan *plan = state->css.ss.ps.plan;

	request->expected.rows = request->expected.kept = plan->plan_rows;
	sort_request_expect_first(request, &state->css, state->group_above);
	request->expected.row_bytes = outerPlan(plan)->plan_width + MAXALIGN(SizeofMinimalTupleHeader);
	request->expected.key_bytes =
		request->rows.coded != 0 ? coded_key_bytes(state->key, request->rows.coded) : state->key_width;
	request->expected.cpu_ms = sort_plan_expected((CustomScan *) plan).cpu_ms;
}

/* The device wants parts, which it splits by a sample of the keys, if the keys' statistics say one. */
static void
take_sample(GpuSortState *state, SortRequest *request)
{
	if (state->sample == NULL)
		state->sample =
			key_sample_of_input(&state->css.ss, state->key, ExecGetResultType(outerPlanState(state)));
	request->expected.sample = state->sample;
}

/* The rows are cut into parts by keys without codes; keys that only guess the order cut none. */
static void
choose_parts(GpuSortState *state, SortRequest *request)
{
	if (state->key->verified)
		return;
	request->rows.coded = 0;
	request->expected.key_bytes = state->key_width;
	take_sample(state, request);
}

void
gpusort_request_make(GpuSortState *state, const SortDevice *device, SortRequest *request)
{
	sort_request_init(request, &state->css, state->key, nprocesses(state));
	describe_rows(state, device, request);
	describe_processes(state, request);
	choose_codes(state, device, request);
	describe_expected(state, request);
	if (device->count_parts(request) > 1)
		choose_parts(state, request);
	sort_request_set_filters_aside(request);
}
