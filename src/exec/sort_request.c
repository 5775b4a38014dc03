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
