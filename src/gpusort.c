/*
 * gpusort.c
 *		Loading the extension.
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/extensible.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "exec/node_agg_input.h"
#include "exec/node_agg_join.h"
#include "exec/node_feed.h"
#include "exec/node_gpusort.h"
#include "exec/node_ranges.h"
#include "exec/node_window.h"
#include "exec/nodes_above.h"
#include "index/takeover.h"
#include "monitor/counters.h"
#include "monitor/shared_memory.h"
#include "plan/agg_input.h"
#include "plan/agg_join.h"
#include "plan/planner.h"
#include "plan/window_plan.h"
#include "plan/sort_plan.h"
#include "service/launcher.h"

PG_MODULE_MAGIC_EXT(.name = "gpusort", .version = GPUSORT_VERSION);

void _PG_init(void);

pg_noreturn static void
refuse_to_load(const char *taken)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_DUPLICATE_OBJECT),
		 errmsg("gpusort cannot be loaded together with another library that uses the same names"),
		 errdetail("That library has defined %s.", taken),
		 errhint(
			 "Load only one of the two libraries. The other library may be another copy of gpusort, loaded by its path.")));
}

/*
 * PostgreSQL takes nothing back of a library whose loading fails, and the next LOAD would find it taken.  So
 * other libraries' names are looked for before anything is defined.
 */
static void
look_for_namesakes(void)
{
	static const CustomScanMethods *const scans[] = {&gpusort_scan_methods, &gpusort_feed_scan_methods,
													 &gpuwindow_scan_methods, &gpuagginput_scan_methods,
													 &gpuaggjoin_scan_methods};
	const char *setting = guc_taken();

	for (int i = 0; i < lengthof(scans); i++)
	{
		if (GetCustomScanMethods(scans[i]->CustomName, true) != NULL)
			refuse_to_load(psprintf("custom scans named \"%s\"", scans[i]->CustomName));
	}
	if (setting != NULL)
		refuse_to_load(psprintf("the setting \"%s\"", setting));
}

void
_PG_init(void)
{
	look_for_namesakes();
	sort_plan_register(&gpusort_scan_methods, &gpusort_feed_scan_methods, &gpusort_ranges_scan_methods);
	window_plan_register(&gpuwindow_scan_methods);
	agg_input_register(&gpuagginput_scan_methods);
	agg_join_register(&gpuaggjoin_scan_methods);
	guc_define_all();
	stats_init_local();
	shared_memory_install_hooks();
	planner_install_hooks();
	nodes_above_install_hook();
	index_takeover_install_hooks();
	index_check_install();
	gpu_launcher_register();
}
