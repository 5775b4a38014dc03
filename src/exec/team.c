/*
 * exec/team.c
 *		The processes of one sort: how workers find it, feed it, and read its rows by ranges.
 *
 * team.h says who calls what, and what they share.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"

#include "base/pg_compat.h"
#include "base/wait_events.h"
#include "exec/team.h"
#include "key/changes.h"
#include "key/sort_key.h"
#include "monitor/progress.h"

/* ---------------------------------------------------------------- feeding */

void
team_init(TeamShare *team, const Sorter *sorter, const SortKey *key, bool complete_rows)
{
	memset(team, 0, sizeof(*team));
	pg_atomic_init_u32(&team->sort.nlone, 0);
	pg_atomic_init_u64(&team->lone_rows, 0);
	ConditionVariableInit(&team->stepped);
	pg_atomic_init_u32(&team->step, 0);
	pg_atomic_init_u32(&team->joined, 0);
	pg_atomic_init_u32(&team->next_range, 0);
	if (sorter == NULL)
		return;
	team->newest_value = sort_key_newest_value(key);
	team->fingerprint = sort_key_fingerprint(key, team->newest_value);
	team->unmarked = sort_key_unmarked(key);
	team->complete_rows = complete_rows;
	team->sort.device = sorter->device->kind;
	if (sorter->share != NULL)
		team->sort.handle = sorter->share->arena.handle;
	if (sorter->files != NULL)
		team->sort.files = *sorter->files;
	team->sort.memory = sorter->lone_memory;
}

SortShare *
team_map(const TeamShare *team)
{
	return team->sort.handle.pid != 0 ? sort_share_attach(&team->sort.handle) : NULL;
}

Sorter *
team_join_mapped(TeamShare *team, SortShare *share, SortKey *key, TupleDesc desc)
{
	const SortDevice *device = sort_devices[team->sort.device];

	if (sort_key_fingerprint(key, team->newest_value) != team->fingerprint)
	{
		/* Whoever has entered reads all that is left. */
		if (sort_share_is_entered(share))
			return NULL;
		ereport(
			ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("a type or an operator of a sort column was changed while the sort began"),
			 errdetail(
				 "A parallel worker found a different order from that in the process that began the sort."),
			 errhint("Retry the query.")));
	}
	sort_device_set_layout(device, key);
	return device->join(&team->sort, share, key, team->complete_rows ? desc : NULL);
}

Sorter *
team_join(TeamShare *team, SortKey *key, TupleDesc desc)
{
	return team_join_mapped(team, team_map(team), key, desc);
}

bool
team_finish_feed(TeamShare *team, Sorter *sorter, uint64 rows, Stopwatch watch)
{
	if (sorter->failure != NULL)
		return false;
	/* for EXPLAIN VERBOSE: the share outlives the workers */
	sorter_note_rows(sorter, rows, stopwatch_ms(watch));
	sorter->device->finish_feed(sorter);
	if (IsParallelWorker() && sorter->share == NULL)
		pg_atomic_fetch_add_u64(&team->lone_rows, rows);
	return true;
}

bool
team_has_lone(TeamShare *team)
{
	return pg_atomic_read_u32(&team->sort.nlone) > 0;
}

void
team_close(TeamShare *team, Sorter *sorter)
{
	sorter->nlone = pg_atomic_read_u32(&team->sort.nlone);
	sorter->lone_rows = pg_atomic_read_u64(&team->lone_rows);
	if (sorter->nlone > 0 && sorter->files == NULL && !sort_share_is_entered(sorter->share))
		sorter_fail(sorter, SORT_FAILURE_MEMORY, "a worker could not map the memory of the sort");
}

/* ---------------------------------------------------------------- ranges */

/*
 * How far a team is, which the leader says.  From TEAM_FEEDS, when it has fed, to TEAM_SORTS, unless there
 * are rows of lone workers; then to TEAM_READS or TEAM_IS_THROUGH.
 */
typedef enum TeamStep
{
	TEAM_FEEDS,
	TEAM_SORTS, /* all have fed the sort, so they may be able to read it */
	TEAM_READS,
	TEAM_IS_THROUGH /* the leader reads alone */
} TeamStep;

static void
step(TeamShare *team, TeamStep to)
{
	pg_write_barrier();
	pg_atomic_write_u32(&team->step, to);
	ConditionVariableBroadcast(&team->stepped);
}

/* Waits until the leader has taken a step from there; which one? */
static TeamStep
await_step_from(TeamShare *team, TeamStep from)
{
	uint32 now;

	while ((now = pg_atomic_read_u32(&team->step)) == from)
		ConditionVariableSleep(&team->stepped, gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
	ConditionVariableCancelSleep();
	pg_read_barrier();
	return now;
}

bool
team_sort_together(TeamShare *team, Sorter *sorter)
{
	if (team_has_lone(team))
		return false;
	step(team, TEAM_SORTS);
	/* a card sorts now */
	progress_enter(sorter, PROGRESS_SORTING);
	return sorter->device->sort_together(sorter);
}

bool
team_share_out(TeamShare *team, const Sorter *sorter, uint32 nreaders, uint32 nranges)
{
	bool together = nreaders > 1 && sorter->failure == NULL;

	team->nreaders = nreaders;
	team->nranges = nranges;
	pg_atomic_write_u32(&team->joined, 1);
	step(team, together ? TEAM_READS : TEAM_IS_THROUGH);
	return together;
}

bool
team_await_ranges(TeamShare *team, Sorter *sorter)
{
	return await_step_from(team, TEAM_FEEDS) != TEAM_IS_THROUGH && sorter->device->sort_together(sorter) &&
		   await_step_from(team, TEAM_SORTS) == TEAM_READS &&
		   pg_atomic_fetch_add_u32(&team->joined, 1) < team->nreaders;
}

int
team_next_range(TeamShare *team, Sorter *sorter)
{
	uint32 range = pg_atomic_fetch_add_u32(&team->next_range, 1);

	if (range >= team->nranges)
		return -1;
	sorter->device->seek_range(sorter, range, team->nranges);
	return range;
}

int
team_readers(TeamShare *team)
{
	return Min(team->nreaders, pg_atomic_read_u32(&team->joined));
}

/* ---------------------------------------------------------------- workers of the leader's own */

/* Of the dynamic shared memory of a team that is launched here. */
#define KEY_TEAM UINT64CONST(0xB100000000000001)

/* Milliseconds between two reports, while the leader waits for the others. */
#define REPORT_EVERY_MS 100

/* All of it: what the caller shares and the text of the query stand behind it, so many bytes further on. */
typedef struct TeamMemory
{
	Size shared;
	Size text; /* 0: there is none */
	struct
	{
		BufferUsage buffers;
		WalUsage wal;
	} usage[FLEXIBLE_ARRAY_MEMBER]; /* of each worker */
} TeamMemory;

void *
team_create(const char *function, int nworkers, Size size, ParallelContext **result)
{
	Size text_size = debug_query_string != NULL ? strlen(debug_query_string) + 1 : 0;
	Size shared = MAXALIGN(offsetof(TeamMemory, usage) + nworkers * sizeof(((TeamMemory *) NULL)->usage[0]));
	Size text = add_size(shared, size);
	ParallelContext *context;
	TeamMemory *memory;

	EnterParallelMode();
	context = CreateParallelContext("gpusort", function, nworkers);
	shm_toc_estimate_chunk(&context->estimator, add_size(text, text_size));
	shm_toc_estimate_keys(&context->estimator, 1);
	InitializeParallelDSM(context);
	if (context->seg == NULL)
	{
		team_release(context);
		return NULL;
	}
	memory = shm_toc_allocate(context->toc, text + text_size);
	memory->shared = shared;
	memory->text = text_size > 0 ? text : 0;
	if (text_size > 0)
		memcpy((char *) memory + text, debug_query_string, text_size);
	shm_toc_insert(context->toc, KEY_TEAM, memory);
	*result = context;
	return (char *) memory + shared;
}

/* Is there a worker whose end this process has not been told of? */
static bool
workers_run(const ParallelContext *context)
{
	for (int i = 0; i < context->nworkers_launched; i++)
	{
		if (context->worker[i].error_mqh != NULL)
			return true;
	}
	return false;
}

void
team_wait(ParallelContext *context, void (*report)(void *arg), void *arg)
{
	TeamMemory *memory = shm_toc_lookup(context->toc, KEY_TEAM, false);

	for (;;)
	{
		CHECK_FOR_INTERRUPTS(); /* takes workers' messages */
		if (!workers_run(context))
			break;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, REPORT_EVERY_MS,
						 gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
		ResetLatch(MyLatch);
		report(arg);
	}
	WaitForParallelWorkersToFinish(context);
	for (int i = 0; i < context->nworkers_launched; i++)
		InstrAccumParallelQuery(&memory->usage[i].buffers, &memory->usage[i].wal);
}

void
team_release(ParallelContext *context)
{
	DestroyParallelContext(context);
	ExitParallelMode();
}

void *
team_worker_begin(shm_toc *toc)
{
	TeamMemory *memory = shm_toc_lookup(toc, KEY_TEAM, false);

	debug_query_string = memory->text != 0 ? (char *) memory + memory->text : NULL;
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	InstrStartParallelQuery();
	return (char *) memory + memory->shared;
}

void
team_worker_end(shm_toc *toc)
{
	TeamMemory *memory = shm_toc_lookup(toc, KEY_TEAM, false);

	InstrEndParallelQuery(&memory->usage[ParallelWorkerNumber].buffers,
						  &memory->usage[ParallelWorkerNumber].wal);
}
