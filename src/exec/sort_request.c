/*
 * exec/sort_request.c
 *		What the requests of all nodes that sort have in common.
 */
#include "postgres.h"

#include "executor/executor.h"

#include "base/guc.h"
#include "base/limits.h"
#include "exec/sort_request.h"
#include "key/coded.h"
#include "plan/sort_plan.h"

void
sort_request_init(SortRequest *request, const CustomScanState *node, const SortKey *key, int processes)
{
	memset(request, 0, sizeof(*request));
	request->key = key;
	request->rows.desc = ExecGetResultType(outerPlanState(node));
	request->processes.n = processes;
	request->memory.limit = guc_sort_memory(processes);
	request->memory.of_each = gpusort_work_mem == -1 ? guc_sort_memory(1) : 0;
	request->expected.values = sort_plan_expected((const CustomScan *) node->ss.ps.plan).values;
}

bool
sort_request_rows_are_complete(const SortDevice *device, int ncolumns, const SortColumnSpec *columns,
							   const Bitmapset *unused)
{
	bool complete = true;

	for (int i = 0; i < ncolumns && !(device->properties & SORT_KEEPS_SORT_COLUMNS); i++)
		complete &= !bms_is_member(columns[i].attno, unused);
	return complete;
}

uint32
sort_request_codable(const SortRequest *request, const CustomScanState *node)
{
	if (request->memory.limit < CODES_MEMORY_MIN || request->rows.wanted > 0 || request->key->policy.alone)
		return 0;
	return sort_key_codable(request->key, sort_plan_coded((const CustomScan *) node->ss.ps.plan));
}

void
sort_request_set_first(SortRequest *request, const FirstOfGroups *first, uint32 coded)
{
	bool within = coded != 0 && sort_key_codes_are_within(coded, first->columns);

	if (group_bound_is_possible(first, request->key->verified && !within))
		request->rows.first = *first;
	if (request->rows.first.n == 0 || within)
		request->rows.coded = coded;
}

void
sort_request_expect_first(SortRequest *request, const CustomScanState *node, const GroupAbove *above)
{
	SortExpected expected = sort_plan_expected((const CustomScan *) node->ss.ps.plan);

	if (request->rows.first.n == 0 || !first_of_groups_is_known(group_above_wanted(above)))
		return;
	request->expected.kept = Min(request->expected.rows, expected.kept);
	request->expected.few_dropped = expected.kept_of == request->rows.first.n &&
									group_rows_drop_few(request->expected.rows, request->expected.kept);
}
