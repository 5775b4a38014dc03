/*
 * monitor/progress.c
 *		How far running sorts are, for the view pg_stat_progress_gpusort.
 *
 * A process has a list of its running sorts, and one display in which it shows the one that last entered a
 * phase: of a sort above another, that is the lower one until it returns its rows, then the upper one.  When
 * that ends it is the one that began last.  The displays are in shared memory, one a process, if the library
 * is in shared_preload_libraries; else each process has one that nobody else sees.
 *
 * Whoever writes to a display or reads it holds its spinlock.  That is some times a second: rows are noted by
 * the thousand.  Parallel workers that feed a sort add their rows to the display of their leader, in fields
 * of their own.
 *
 * A sort leaves the list with the memory context that its Progress is in, so after any error; a process that
 * exits clears its display.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "base/pg_compat.h"
#include "base/result_rows.h"
#include "base/spin.h"
#include "monitor/progress.h"

PG_FUNCTION_INFO_V1(gpusort_stat_get_progress);

/* What a display shows. */
typedef struct ProgressState
{
	int pid; /* 0: nothing */
	Oid datid;
	Oid userid; /* of the session */
	char device[16];
	ProgressPhase phase;
	int processes;
	uint64 expected_rows;
	uint64 rows_in; /* read by this process */
	uint64 bytes_in;
	uint64 rows_out;
	TimestampTz started_at;
} ProgressState;

/* What parallel workers have read. */
typedef struct ProgressOfWorkers
{
	uint64 rows_in;
	uint64 bytes_in;
} ProgressOfWorkers;

typedef struct ProgressDisplay
{
	slock_t mutex; /* of all the rest */
	ProgressState state;
	ProgressOfWorkers workers;
} ProgressDisplay;

struct Progress
{
	Progress *next;
	bool running;		  /* in the list? */
	const Sorter *sorter; /* NULL: not known yet */
	ProgressState state;
	ProgressOfWorkers workers; /* while another sort is shown */
	MemoryContextCallback callback;
};

static const char *const phase_names[] = {[PROGRESS_WAITING] = "waiting for device",
										  [PROGRESS_READING] = "reading input",
										  [PROGRESS_SORTING] = "sorting",
										  [PROGRESS_VERIFYING] = "verifying order",
										  [PROGRESS_WRITING] = "writing runs",
										  [PROGRESS_MERGING] = "merging",
										  [PROGRESS_RETURNING] = "returning rows"};

StaticAssertDecl(lengthof(phase_names) == PROGRESS_PHASES, "every phase has a name");

static ProgressDisplay local_display;
static ProgressDisplay *shared_displays; /* MaxBackends of them; NULL: there is only the local one */

static Progress *running; /* this process's sorts, the last one begun first */
static Progress *shown;	  /* the one in the display, or NULL */

/* ---------------------------------------------------------------- displays */

Size
progress_shmem_size(void)
{
	return mul_size(MaxBackends, sizeof(ProgressDisplay));
}

void
progress_shmem_init(void)
{
	bool found;

	shared_displays = ShmemInitStruct("gpusort progress", progress_shmem_size(), &found);
	if (found)
		return;
	memset(shared_displays, 0, progress_shmem_size());
	for (int i = 0; i < MaxBackends; i++)
		SpinLockInit(&shared_displays[i].mutex);
}

static ProgressDisplay *
my_display(void)
{
	return shared_displays != NULL ? &shared_displays[MyProcNumber] : &local_display;
}

static void
clear_display(void)
{
	ProgressDisplay *display = my_display();

	SpinLockAcquire(&display->mutex);
	display->state.pid = 0;
	SpinLockRelease(&display->mutex);
	shown = NULL;
}

static void
clear_display_at_exit(int code, Datum arg)
{
	clear_display();
}

/*
 * Gets the display ready for a process's first sort.  That may be within REPACK (CONCURRENTLY), which takes
 * back a callback of before_shmem_exit() when it has ended, and fails if that is not the latest: so none is
 * added there.
 */
static void
prepare_display(void)
{
	static bool prepared = false;

	if (prepared)
		return;
	prepared = true;
	if (shared_displays != NULL)
		on_shmem_exit(clear_display_at_exit, (Datum) 0);
	else
		SpinLockInit(&local_display.mutex);
}

/* Puts the sort into the display, in place of another or of what it was before. */
static void
show(Progress *progress)
{
	ProgressDisplay *display = my_display();

	SpinLockAcquire(&display->mutex);
	if (shown != progress)
	{
		if (shown != NULL)
			shown->workers = display->workers;
		display->workers = progress->workers;
		shown = progress;
	}
	display->state = progress->state;
	SpinLockRelease(&display->mutex);
}

/* Brings the display up to date, if it shows this sort or none. */
static void
update(Progress *progress)
{
	if (shown == progress || shown == NULL)
		show(progress);
}

/* ---------------------------------------------------------------- sorts of this process */

static void
end_with_context(void *arg)
{
	progress_end(arg);
}

Progress *
progress_create(void)
{
	Progress *progress = palloc0(sizeof(Progress));

	progress->callback.func = end_with_context;
	progress->callback.arg = progress;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &progress->callback);
	return progress;
}

void
progress_start(Progress *progress, const char *device, double expected_rows, int processes)
{
	prepare_display();
	progress_end(progress);
	progress->sorter = NULL;
	progress->workers = (ProgressOfWorkers){0};
	progress->state = (ProgressState){
		.pid = MyProcPid,
		.datid = MyDatabaseId,
		.userid = GetSessionUserId(),
		.phase = PROGRESS_WAITING,
		.processes = processes,
		.expected_rows = (uint64) Min(Max(expected_rows, 0.0), 1e18),
		.started_at = GetCurrentTimestamp(),
	};
	strlcpy(progress->state.device, device, sizeof(progress->state.device));
	progress->next = running;
	progress->running = true;
	running = progress;
	show(progress);
}

void
progress_set_sorter(Progress *progress, const Sorter *sorter)
{
	progress->sorter = sorter;
}

void
progress_note_processes(Progress *progress, int processes)
{
	progress->state.processes = processes;
	update(progress);
}

void
progress_note_returned(Progress *progress, uint64 rows)
{
	progress->state.rows_out = rows;
	update(progress);
}

void
progress_end(Progress *progress)
{
	Progress **link = &running;

	if (!progress->running)
		return;
	while (*link != progress)
		link = &(*link)->next;
	*link = progress->next;
	progress->running = false;
	if (shown != progress)
		return;
	clear_display();
	if (running != NULL)
		show(running);
}

/* ---------------------------------------------------------------- by sorter */

/* The running sort of this process that the sorter does, or NULL. */
static Progress *
find(const Sorter *sorter)
{
	Progress *progress = running;

	while (progress != NULL && progress->sorter != sorter)
		progress = progress->next;
	return progress;
}

ProgressPhase
progress_enter(const Sorter *sorter, ProgressPhase phase)
{
	Progress *progress = find(sorter);
	ProgressPhase left = phase;

	if (progress != NULL)
	{
		left = progress->state.phase;
		progress->state.phase = phase;
		show(progress);
	}
	return left;
}

/* Adds to what the leader of this parallel worker shows. */
static void
note_fed_to_leader(uint64 rows, uint64 bytes)
{
	PGPROC *leader = MyProc->lockGroupLeader;
	ProgressDisplay *display;

	if (shared_displays == NULL || leader == NULL || leader == MyProc)
		return;
	display = &shared_displays[GetNumberFromPGProc(leader)];
	SpinLockAcquire(&display->mutex);
	display->workers.rows_in += rows;
	display->workers.bytes_in += bytes;
	SpinLockRelease(&display->mutex);
}

void
progress_note_fed(const Sorter *sorter, uint64 rows, uint64 bytes)
{
	Progress *progress = find(sorter);

	if (progress != NULL)
	{
		progress->state.rows_in += rows;
		progress->state.bytes_in += bytes;
		update(progress);
	}
	else if (IsParallelWorker())
		note_fed_to_leader(rows, bytes);
}

/* ---------------------------------------------------------------- the view */

enum
{
	COLUMN_PID,
	COLUMN_DATID,
	COLUMN_DEVICE,
	COLUMN_PHASE,
	COLUMN_ROWS_IN,
	COLUMN_ROWS_EXPECTED,
	COLUMN_ROWS_OUT,
	COLUMN_BYTES_IN,
	COLUMN_PROCESSES,
	COLUMN_STARTED_AT,
	COLUMNS
};

static const Oid column_types[COLUMNS] = {INT4OID, OIDOID,	TEXTOID, TEXTOID, INT8OID,
										  INT8OID, INT8OID, INT8OID, INT4OID, TIMESTAMPTZOID};

/* Others' sorts are shown as pg_stat_activity shows their queries. */
static bool
may_see(Oid userid)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) || has_privs_of_role(GetUserId(), userid);
}

static void
put_sort(ReturnSetInfo *result, const ProgressState *state, const ProgressOfWorkers *workers)
{
	Datum values[COLUMNS] = {0};
	bool nulls[COLUMNS] = {false};

	values[COLUMN_PID] = Int32GetDatum(state->pid);
	values[COLUMN_DATID] = ObjectIdGetDatum(state->datid);
	if (may_see(state->userid))
	{
		values[COLUMN_DEVICE] = CStringGetTextDatum(state->device);
		values[COLUMN_PHASE] = CStringGetTextDatum(phase_names[state->phase]);
		values[COLUMN_ROWS_IN] = Int64GetDatum(state->rows_in + workers->rows_in);
		values[COLUMN_ROWS_EXPECTED] = Int64GetDatum(state->expected_rows);
		values[COLUMN_ROWS_OUT] = Int64GetDatum(state->rows_out);
		values[COLUMN_BYTES_IN] = Int64GetDatum(state->bytes_in + workers->bytes_in);
		values[COLUMN_PROCESSES] = Int32GetDatum(state->processes);
		values[COLUMN_STARTED_AT] = TimestampTzGetDatum(state->started_at);
	}
	else
		memset(nulls + COLUMN_DEVICE, true, COLUMNS - COLUMN_DEVICE);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
gpusort_stat_get_progress(PG_FUNCTION_ARGS)
{
	ProgressDisplay *displays = shared_displays != NULL ? shared_displays : &local_display;
	int ndisplays = shared_displays != NULL ? MaxBackends : 1;

	prepare_display();
	(void) result_rows_begin(fcinfo, column_types, COLUMNS);
	for (int i = 0; i < ndisplays; i++)
	{
		ProgressState state;
		ProgressOfWorkers workers;

		SpinLockAcquire(&displays[i].mutex);
		state = displays[i].state;
		workers = displays[i].workers;
		SpinLockRelease(&displays[i].mutex);
		if (state.pid != 0)
			put_sort((ReturnSetInfo *) fcinfo->resultinfo, &state, &workers);
	}
	return (Datum) 0;
}
