/*
 * regress/neighbour/neighbour.c
 *		Another extension's hooks, for tests: they need not ask those that were there before.
 *
 * neighbour.plans says where its plans come from:
 *
 *		chain		the hook that was there before, or the planner, as is the custom
 *		standard	always the planner itself
 *		stored		the planner itself the first time; from then on a copy of that plan, for the same
 *					statement; but not for plans that are made for certain parameters
 *		kept		the same, but the stored plan itself, which nobody may change
 *
 * Settings in a text are those of its plans alone, as pg_hint_plan has them: Set(name value) in a comment
 * that begins with a plus sign.  They are put back when the plan is there.
 *
 * neighbour.takes, set before it is loaded, is a name that it takes: of a setting, if there is a dot in it,
 * else of custom scans.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "optimizer/planner.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "base/pg_compat.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

typedef enum PlansFrom
{
	PLANS_CHAIN,
	PLANS_STANDARD,
	PLANS_STORED,
	PLANS_KEPT
} PlansFrom;

static const struct config_enum_entry plans_options[] = {{"chain", PLANS_CHAIN, false},
														 {"standard", PLANS_STANDARD, false},
														 {"stored", PLANS_STORED, false},
														 {"kept", PLANS_KEPT, false},
														 {NULL, 0, false}};

typedef struct StoredPlan
{
	char *text;
	int location; /* of the statement in the text */
	PlannedStmt *plan;
} StoredPlan;

static int plans_from = PLANS_CHAIN;
static List *stored_plans = NIL; /* in TopMemoryContext, for as long as the process lives */
static planner_hook_type prev_planner_hook;
static ExecutorStart_hook_type prev_executor_start_hook;

/* The plan stored for a statement, or NULL. */
static PlannedStmt *
find_plan(const char *text, int location)
{
	ListCell *cell;

	foreach(cell, stored_plans)
	{
		const StoredPlan *stored = lfirst(cell);

		if (stored->location == location && strcmp(stored->text, text) == 0)
			return stored->plan;
	}
	return NULL;
}

static PlannedStmt *
store_plan(const char *text, int location, PlannedStmt *plan)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	StoredPlan *stored = palloc(sizeof(StoredPlan));

	stored->text = pstrdup(text);
	stored->location = location;
	stored->plan = copyObject(plan);
	stored_plans = lappend(stored_plans, stored);
	MemoryContextSwitchTo(old);
	return stored->plan;
}

static PlannedStmt *
plan_from_somewhere(planner_hook_parameters)
{
	PlannedStmt *stored;

	if (plans_from == PLANS_CHAIN && prev_planner_hook != NULL)
		return prev_planner_hook(planner_hook_arguments);
	if (plans_from < PLANS_STORED || bound_params != NULL)
		return standard_planner(planner_hook_arguments);
	stored = find_plan(query_string, parse->stmt_location);
	if (stored == NULL)
		stored = store_plan(query_string, parse->stmt_location, standard_planner(planner_hook_arguments));
	return plans_from == PLANS_KEPT ? stored : copyObject(stored);
}

/* Sets what a text wants, until AtEOXact_GUC. */
static void
set_hints(const char *text)
{
	const char *at = strstr(text, "/*+");
	char name[64];
	char value[64];
	int length;

	for (at = at != NULL ? at + 3 : ""; sscanf(at, " Set(%63[^ ] %63[^)])%n", name, value, &length) == 2;
		 at += length)
		(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

/* An error puts the settings back, too. */
static PlannedStmt *
neighbour_planner(planner_hook_parameters)
{
	int level = NewGUCNestLevel();
	PlannedStmt *result;

	set_hints(query_string);
	result = plan_from_somewhere(planner_hook_arguments);
	AtEOXact_GUC(true, level);
	return result;
}

/* As with plans: only as is the custom are others asked. */
static void
neighbour_executor_start(QueryDesc *query, int eflags)
{
	if (plans_from == PLANS_CHAIN && prev_executor_start_hook != NULL)
		prev_executor_start_hook(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

static void
take_name(const char *name)
{
	static CustomScanMethods methods;
	static bool setting;

	methods.CustomName = name;
	if (strchr(name, '.') != NULL)
		DefineCustomBoolVariable(name, "Of another library.", NULL, &setting, false, PGC_USERSET, 0, NULL,
								 NULL, NULL);
	else if (name[0] != '\0')
		RegisterCustomScanMethods(&methods);
}

void
_PG_init(void)
{
	static char *takes;

	DefineCustomEnumVariable("neighbour.plans", "Where its plans come from.", NULL, &plans_from, PLANS_CHAIN,
							 plans_options, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("neighbour.takes", "A name that it takes when it is loaded.", NULL, &takes, "",
							   PGC_USERSET, 0, NULL, NULL, NULL);
	take_name(takes);
	prev_planner_hook = planner_hook;
	planner_hook = neighbour_planner;
	prev_executor_start_hook = ExecutorStart_hook;
	ExecutorStart_hook = neighbour_executor_start;
}
