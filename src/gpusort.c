/*
 * gpusort.c
 *		Loading the extension.
 */
#include "postgres.h"

#include "fmgr.h"

#include "guc.h"
#include "node_gpusort.h"
#include "planner.h"
#include "sort_plan.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	guc_define_all();
	sort_plan_register(&gpusort_scan_methods);
	planner_install_hooks();
}
