/*
 * gpusort.c
 *		Loading the extension.
 */
#include "postgres.h"

#include "fmgr.h"

#include "base/guc.h"
#include "base/kept_memory.h"
#include "base/pg_compat.h"
#include "exec/limit_above.h"
#include "exec/node_feed.h"
#include "exec/node_gpusort.h"
#include "exec/node_rank.h"
#include "index/check.h"
#include "index/takeover.h"
#include "monitor/counters.h"
#include "monitor/shared_memory.h"
#include "plan/planner.h"
#include "plan/rank_plan.h"
#include "plan/sort_plan.h"
#include "service/launcher.h"

PG_MODULE_MAGIC_EXT(.name = "gpusort", .version = GPUSORT_VERSION);

void _PG_init(void);

void
_PG_init(void)
{
	guc_define_all();
	kept_memory_install_hooks();
	stats_init_local();
	shared_memory_install_hooks();
	sort_plan_register(&gpusort_scan_methods, &gpusort_feed_scan_methods);
	rank_plan_register(&gpurank_scan_methods);
	planner_install_hooks();
	limit_above_install_hook();
	index_takeover_install_hooks();
	index_check_install();
	gpu_launcher_register();
}
