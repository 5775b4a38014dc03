/*
 * gpusort.c
 *		Loading the extension.
 */
#include "postgres.h"

#include "fmgr.h"

#include "gpu_launcher.h"
#include "guc.h"
#include "node_feed.h"
#include "node_gpusort.h"
#include "planner.h"
#include "shared_memory.h"
#include "sort_plan.h"
#include "stats.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	guc_define_all();
	stats_init_local();
	shared_memory_install_hooks();
	sort_plan_register(&gpusort_scan_methods, &gpusort_feed_scan_methods);
	planner_install_hooks();
	gpu_launcher_register();
}
