/*
 * base/wait_events.c
 *		What a sort waits for, as pg_stat_activity shows it.
 *
 * From PostgreSQL 17 on each kind of wait has a name of its own; the server hands out the numbers, the same
 * to all processes.  Before, all of them are shown as "Extension".
 */
#include "postgres.h"

#include "base/pg_compat.h"
#include "base/wait_events.h"

static const char *const wait_names[] =
	{[GPUSORT_WAIT_CONNECT] = "GpuSortConnect",		[GPUSORT_WAIT_QUEUE] = "GpuSortQueue",
	 [GPUSORT_WAIT_BEGIN] = "GpuSortBegin",			[GPUSORT_WAIT_FEED] = "GpuSortFeed",
	 [GPUSORT_WAIT_SORT] = "GpuSortSort",			[GPUSORT_WAIT_FETCH] = "GpuSortFetch",
	 [GPUSORT_WAIT_PROCESSES] = "GpuSortProcesses", [GPUSORT_WAIT_READER] = "GpuSortReader"};

StaticAssertDecl(lengthof(wait_names) == GPUSORT_WAITS, "every kind of wait has a name");

uint32
gpusort_wait_event(GpuSortWait wait)
{
	static uint32 numbers[GPUSORT_WAITS];

	if (numbers[wait] == 0)
		numbers[wait] = WaitEventExtensionNew(wait_names[wait]);
	return numbers[wait];
}
