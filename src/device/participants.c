/*
 * device/participants.c
 *		What the processes of one sort have in common: memory at the same address in all of them
 *		(memory/arena.h), and who of them is how far.
 *
 * participants.h says which states there are, who may call what, and what the mutex keeps.
 */
#include "postgres.h"

#include <limits.h>

#include "access/parallel.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "base/group_rows.h"
#include "base/limits.h"
#include "base/wait_events.h"
#include "device/participants.h"
#include "key/coded.h"
#include "sort/bound.h"
#include "sort/value_bound.h"

/* Workers that may take part, the first ones: all, but in tests. */
#ifndef SORT_SHARE_WORKERS
#define SORT_SHARE_WORKERS INT_MAX
#endif

/* ---------------------------------------------------------------- memory */

/* What is left of some memory; a sort has no less than the least, if it had that. */
static Size
memory_left(Size memory, Size taken)
{
	return Max(memory, taken + Min(memory, SORT_MEMORY_MIN)) - taken;
}

Size
sort_values_memory(Size limit, double values, int ncolumns, int processes)
{
	Size of_column = VALUES_MEMORY_MIN + (Size) values * VALUE_MEMORY;

	return Min(limit / VALUES_SHARE, ncolumns * VALUES_MEMORY_TIMES(processes) * of_column);
}

void
sort_request_set_filters_aside(SortRequest *request)
{
	int processes = request->processes.n;
	Size filters = request->rows.wanted > 0 ? bound_memory(processes) : 0;

	if (request->rows.first.n > 0)
		request->memory.groups = Min(request->memory.limit / GROUP_TABLE_SHARE, GROUP_TABLE_MAX);
	if (request->rows.coded != 0)
		request->memory.values = sort_values_memory(request->memory.limit, request->expected.values,
													pg_popcount32(request->rows.coded), processes);
	filters += request->memory.groups + request->memory.values;
	request->memory.limit = memory_left(request->memory.limit, filters);
	request->memory.of_each = memory_left(request->memory.of_each, filters / processes);
}

SortShare *
sort_share_create(Size size, Size header_size, int processes)
{
	SortShare *share = arena_create(size, header_size, processes);

	if (share == NULL)
		return NULL;
	share->most = SORT_SHARE_MAX_PROCESSES;
	SpinLockInit(&share->mutex);
	ConditionVariableInit(&share->changed);
	return share;
}

SortShare *
sort_share_attach(const ArenaHandle *handle)
{
	return ParallelWorkerNumber < SORT_SHARE_WORKERS ? arena_attach(handle) : NULL;
}

SortBound *
sort_share_create_bound(SortShare *share, const SortRequest *request)
{
	SortBound *bound;

	if (request->rows.wanted == 0)
		return NULL;
	bound = arena_alloc(share != NULL ? &share->arena : NULL, sizeof(SortBound));
	if (bound == NULL)
		return NULL;
	memset(bound, 0, sizeof(SortBound));
	if (share != NULL)
		share->bound = bound;
	bound_init(bound, request->key, request->rows.wanted, request->rows.with_ties);
	return bound;
}

/*
 * One process sorts and returns a row in memory in less time than it takes to note it and to cut it out.  Of
 * several the first one returns all rows, and files take longer.
 */
static bool
cutting_pays(const SortRequest *request)
{
	double row = request->expected.row_bytes + request->expected.key_bytes;

	return request->processes.n > 1 || request->expected.rows * row > request->memory.limit;
}

GroupBound *
sort_share_create_groups(SortShare *share, const SortRequest *request, const SortKey *key)
{
	GroupBound *groups;

	if (request->rows.first.n == 0 || key->verified)
		return NULL;
	groups = arena_alloc(share != NULL ? &share->arena : NULL, sizeof(GroupBound));
	if (groups == NULL)
		return NULL;
	if (!group_bound_init(groups, &request->rows.first, key, share != NULL ? &share->arena : NULL,
						  request->memory.groups,
						  group_rows_patience(request->expected.rows, request->expected.few_dropped) /
							  request->processes.n,
						  cutting_pays(request)))
		return NULL;
	if (share != NULL)
		share->groups = groups;
	return groups;
}

ValueBound *
sort_share_create_values(SortShare *share, const SortRequest *request, const SortKey *key)
{
	ValueBound *values;

	if (request->rows.wanted_by_value == 0 || key->coding == NULL)
		return NULL;
	values = arena_alloc(share != NULL ? &share->arena : NULL, TYPEALIGN(8, sizeof(ValueBound)));
	if (values == NULL)
		return NULL;
	value_bound_init(values, key, request->rows.wanted_by_value, request->rows.with_ties);
	if (share != NULL)
		share->values = values;
	return values;
}

SortKey *
sort_share_create_coded(SortShare *share, const SortRequest *request)
{
	SortKeyTables *tables;

	if (request->rows.coded == 0)
		return NULL;
	tables = sort_key_tables_create(request->rows.coded, share != NULL ? &share->arena : NULL,
									request->memory.values / VALUES_MEMORY_TIMES(request->processes.n),
									request->expected.times > 0 ? 0 : request->expected.values,
									request->expected.rows);
	if (tables == NULL)
		return NULL;
	tables->times = Max(tables->times, request->expected.times);
	if (share != NULL)
		share->tables = tables;
	return sort_key_create_coded((SortKey *) request->key, tables);
}

/* ---------------------------------------------------------------- who is how far */

int
sort_share_enter(SortShare *share)
{
	int process = -1;

	if (share == NULL)
		return 0;
	SpinLockAcquire(&share->mutex);
	if (!share->closed && share->nentered < share->most)
	{
		process = share->nentered++;
		share->processes[process].pid = MyProcPid;
		share->processes[process].worker_number = ParallelWorkerNumber;
	}
	SpinLockRelease(&share->mutex);
	return process;
}

bool
sorter_enter(Sorter *sorter, int processes)
{
	sorter->process = sort_share_enter(sorter->share);
	return sorter->process >= 0;
}

bool
sort_share_is_entered(SortShare *share)
{
	bool is_entered;

	if (share == NULL)
		return false;
	SpinLockAcquire(&share->mutex);
	is_entered = share->nentered > 0;
	SpinLockRelease(&share->mutex);
	return is_entered;
}

void
sorter_note_rows(const Sorter *sorter, uint64 rows, double feed_ms)
{
	SortShareProcess *process;

	if (sorter->share == NULL || sorter->process < 0)
		return;
	process = &sorter->share->processes[sorter->process];
	process->rows = rows;
	process->feed_ms = feed_ms;
}

void
sorter_note_fed(Sorter *sorter)
{
	SortShare *share = sorter->share;

	if (share == NULL || sorter->process < 0)
		return;
	SpinLockAcquire(&share->mutex);
	share->nfed++;
	SpinLockRelease(&share->mutex);
	ConditionVariableBroadcast(&share->changed);
}

void
sort_share_check_all_fed(const SortShare *share)
{
	if (share != NULL && share->nfed != share->nentered)
		elog(ERROR, "gpusort: a process left a parallel sort while it fed it");
}

typedef enum FeedOutcome
{
	FEED_GOES_ON,
	FEED_CLOSED,
	FEED_BROKEN /* the device has failed */
} FeedOutcome;

/* How the feeding stands; closes the sort if that is due. */
static FeedOutcome
feed_outcome(SortShare *share)
{
	FeedOutcome outcome = FEED_GOES_ON;

	SpinLockAcquire(&share->mutex);
	if (share->closed)
		outcome = FEED_CLOSED;
	else if (share->failed)
		outcome = FEED_BROKEN;
	else if (share->nfed == share->nentered)
	{
		share->closed = true;
		outcome = FEED_CLOSED;
	}
	SpinLockRelease(&share->mutex);
	return outcome;
}

bool
sort_share_wait_all_fed(SortShare *share)
{
	FeedOutcome outcome;

	while ((outcome = feed_outcome(share)) == FEED_GOES_ON)
		ConditionVariableSleep(&share->changed, gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
	ConditionVariableCancelSleep();
	return outcome == FEED_CLOSED;
}

/* Has every process come to this meeting? */
static bool
have_met(SortShare *share, uint32 meeting)
{
	bool met;

	SpinLockAcquire(&share->mutex);
	met = share->meeting != meeting;
	SpinLockRelease(&share->mutex);
	return met;
}

void
sort_share_meet(SortShare *share)
{
	uint32 meeting;
	bool last;

	SpinLockAcquire(&share->mutex);
	meeting = share->meeting;
	last = ++share->nmet == share->nentered;
	if (last)
	{
		share->nmet = 0;
		share->meeting++;
	}
	SpinLockRelease(&share->mutex);
	if (last)
		ConditionVariableBroadcast(&share->changed);
	else
	{
		while (!have_met(share, meeting))
			ConditionVariableSleep(&share->changed, gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
		ConditionVariableCancelSleep();
	}
}

static bool
is_none(SortShare *share, const int *number)
{
	bool none;

	SpinLockAcquire(&share->mutex);
	none = *number == 0;
	SpinLockRelease(&share->mutex);
	return none;
}

bool
sort_share_wait_for_none(SortShare *share, const int *number)
{
	bool waited = false;

	for (; !is_none(share, number); waited = true)
		ConditionVariableSleep(&share->changed, gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
	ConditionVariableCancelSleep();
	return waited;
}

void
sort_share_note_overflow(SortShare *share)
{
	SpinLockAcquire(&share->mutex);
	share->overflowed = true;
	SpinLockRelease(&share->mutex);
	ConditionVariableBroadcast(&share->changed);
}

void
sort_share_fail(SortShare *share, SortFailureReason reason, const char *message)
{
	if (share == NULL)
		return;
	SpinLockAcquire(&share->mutex);
	if (!share->failed)
	{
		share->failed = true;
		share->failure_reason = reason;
		strlcpy(share->failure, message, sizeof(share->failure));
	}
	SpinLockRelease(&share->mutex);
	ConditionVariableBroadcast(&share->changed);
}
