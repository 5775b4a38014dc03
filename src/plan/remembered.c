/*
 * plan/remembered.c
 *		What has been worked out for the query that is being planned, as long as a memory context of it lasts.
 *
 * The planner tells nobody when it begins or fails, and a function that it evaluates may have a query planned
 * in between.  But what it works with is in memory contexts: so entries are forgotten when their context is
 * reset or freed, however that comes about.
 */
#include "postgres.h"

#include "nodes/nodes.h"
#include "utils/memutils.h"

#include "plan/remembered.h"

/* What a context calls for entries that were its own. */
typedef struct Forgetting
{
	MemoryContextCallback callback;
	Remembered *remembered;
	MemoryContext context;
} Forgetting;

static void
forget(void *arg)
{
	const Forgetting *forgetting = arg;

	if (forgetting->remembered->context == forgetting->context)
		*forgetting->remembered = (Remembered){.entries = NIL};
}

List *
remembered_in(Remembered *remembered, MemoryContext context)
{
	Forgetting *forgetting;

	if (remembered->context == context)
		return remembered->entries;
	forgetting = MemoryContextAlloc(context, sizeof(*forgetting));
	*forgetting = (Forgetting){.callback = {.func = forget, .arg = forgetting},
							   .remembered = remembered,
							   .context = context};
	MemoryContextRegisterResetCallback(context, &forgetting->callback);
	*remembered = (Remembered){.entries = NIL, .context = context};
	return NIL;
}

void *
lasting_node(MemoryContext context, void *node)
{
	MemoryContext before = MemoryContextSwitchTo(context);
	void *lasting = before == context ? node : copyObjectImpl(node);

	MemoryContextSwitchTo(before);
	return lasting;
}

void
remember(Remembered *remembered, void *entry)
{
	MemoryContext before = MemoryContextSwitchTo(remembered->context);

	remembered->entries = lcons(entry, remembered->entries);
	MemoryContextSwitchTo(before);
}
