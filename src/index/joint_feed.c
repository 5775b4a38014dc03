/*
 * index/joint_feed.c
 *		Feeds a build's sort from the heap, by this process and workers of its own.
 *
 * Every process takes parts of one scan of the heap (heap_scan.h) and puts index tuples into the one sort
 * (device/participants.h).  A concurrent build, which has a snapshot, is PostgreSQL's own scan.
 *
 * A process that finds no room writes runs of its own, and so does a lone worker, which can't map the sort's
 * memory (device/team.h); then the leader loads alone.  No tuple goes from one process to another.  A worker
 * that comes when the sort is closed can't join, and ends without scanning (scan_and_feed).
 *
 * JointShared.mutex keeps the sums of what workers have scanned; what stands before it is set before they
 * start, but for the counters of HeapScanShare and of lone workers.  Without dynamic shared memory the leader
 * scans alone (begin_joint_feed).  An error in a worker is raised in the leader by PostgreSQL.  If the device
 * fails all scan on, without putting their tuples, and index_build.c begins again.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/snapmgr.h"

#include "base/pg_compat.h"
#include "base/stopwatch.h"
#include "base/wait_events.h"
#include "device/team.h"
#include "index/build_info.h"
#include "index/heap_scan.h"
#include "index/index_feed.h"
#include "index/index_key.h"
#include "index/joint_feed.h"
#include "index/load.h"

/* Keys of the dynamic shared memory. */
#define KEY_SHARED UINT64CONST(0xB100000000000001)
#define KEY_SCAN UINT64CONST(0xB100000000000002)
#define KEY_QUERY_TEXT UINT64CONST(0xB100000000000004)
#define KEY_WAL_USAGE UINT64CONST(0xB100000000000005)
#define KEY_BUFFER_USAGE UINT64CONST(0xB100000000000006)
#define KEY_LOAD UINT64CONST(0xB100000000000007)

/* Milliseconds between two reports of progress, while it waits for the others. */
#define REPORT_EVERY_MS 100

/* What leader and workers share. */
typedef struct JointShared
{
	Oid heap;
	Oid index;
	BuildInfo info;
	SortTeam team;
	HeapScanShare blocks; /* of a build that is not concurrent */

	slock_t mutex; /* of all that follows */
	double heap_tuples;
	double index_tuples;
	bool broken_hot_chain;
} JointShared;

/* In the leader. */
typedef struct JointFeed
{
	HeapFeed *base;
	ParallelContext *context;
	Snapshot snapshot;
	JointShared *shared;
	ParallelTableScanDesc scan;
	WalUsage *wal_usage;
	BufferUsage *buffer_usage;
	LoadShare *load;
	Stopwatch watch;
} JointFeed;

extern PGDLLEXPORT void gpusort_index_worker(dsm_segment *segment, shm_toc *toc);

/*
 * Scans this process's part of the heap.  snapshot_scan: the parallel scan of a concurrent build; NULL: there
 * is this process alone.
 */
static double
scan_heap(Relation heap, Relation index, IndexInfo *info, HeapScanShare *blocks,
		  ParallelTableScanDesc snapshot_scan, bool progress, IndexBuildCallback callback, void *state)
{
	if (!info->ii_Concurrent)
		return heap_scan_part(heap, index, info, blocks, progress, callback, state);
	return table_index_build_scan(heap, index, info, true, progress, callback, state,
								  snapshot_scan != NULL ? beginscan_parallel(heap, snapshot_scan) : NULL);
}

/* ---------------------------------------------------------------- one process */

void
heap_feed_alone(HeapFeed *base)
{
	IndexFeed *feed = index_feed_create(base->index, base->key, base->sorter);
	HeapScanShare blocks;

	heap_scan_share_init(&blocks, base->heap);
	base->heap_tuples =
		scan_heap(base->heap, base->index, base->info, &blocks, NULL, true, index_feed_callback, feed);
	base->index_tuples = index_feed_end(feed);
}

/* ---------------------------------------------------------------- leader: waiting */

/* Reports how far all processes are, while this one waits. */
static void
report_progress(JointFeed *joint)
{
	if (joint->base->is_loaded)
		load_report(joint->load, joint->base->progress);
	else if (!joint->shared->info.concurrent)
		heap_scan_report(&joint->shared->blocks);
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

/* Waits for the workers' end, and reports progress meanwhile. */
static void
wait_for_workers(JointFeed *joint)
{
	for (;;)
	{
		CHECK_FOR_INTERRUPTS(); /* takes workers' messages */
		if (!workers_run(joint->context))
			break;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, REPORT_EVERY_MS,
						 gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
		ResetLatch(MyLatch);
		report_progress(joint);
	}
	WaitForParallelWorkersToFinish(joint->context);
}

/* ---------------------------------------------------------------- leader: the parallel context */

static void
estimate_array(ParallelContext *context, Size size)
{
	shm_toc_estimate_chunk(&context->estimator, mul_size(size, context->nworkers));
	shm_toc_estimate_keys(&context->estimator, 1);
}

static void *
make_array(ParallelContext *context, uint64 key, Size size)
{
	void *memory = shm_toc_allocate(context->toc, mul_size(size, context->nworkers));

	shm_toc_insert(context->toc, key, memory);
	return memory;
}

static Size
query_text_size(void)
{
	return debug_query_string != NULL ? strlen(debug_query_string) + 1 : 0;
}

static void
estimate_shared(JointFeed *joint)
{
	shm_toc_estimator *estimator = &joint->context->estimator;

	shm_toc_estimate_chunk(estimator, sizeof(JointShared));
	shm_toc_estimate_chunk(estimator, table_parallelscan_estimate(joint->base->heap, joint->snapshot));
	shm_toc_estimate_chunk(estimator, query_text_size());
	shm_toc_estimate_chunk(estimator, load_share_size(1 + joint->context->nworkers));
	shm_toc_estimate_keys(estimator, 4);
	estimate_array(joint->context, sizeof(WalUsage));
	estimate_array(joint->context, sizeof(BufferUsage));
}

static void
make_shared(JointFeed *joint)
{
	HeapFeed *base = joint->base;
	shm_toc *toc = joint->context->toc;

	joint->shared = shm_toc_allocate(toc, sizeof(JointShared));
	memset(joint->shared, 0, sizeof(JointShared));
	joint->shared->heap = RelationGetRelid(base->heap);
	joint->shared->index = RelationGetRelid(base->index);
	joint->shared->info = build_info_of(base->info);
	sort_team_init(&joint->shared->team, base->sorter, base->key);
	heap_scan_share_init(&joint->shared->blocks, base->heap);
	SpinLockInit(&joint->shared->mutex);
	shm_toc_insert(toc, KEY_SHARED, joint->shared);

	joint->scan = shm_toc_allocate(toc, table_parallelscan_estimate(base->heap, joint->snapshot));
	table_parallelscan_initialize(base->heap, joint->scan, joint->snapshot);
	shm_toc_insert(toc, KEY_SCAN, joint->scan);
	if (query_text_size() > 0)
	{
		char *text = shm_toc_allocate(toc, query_text_size());

		memcpy(text, debug_query_string, query_text_size());
		shm_toc_insert(toc, KEY_QUERY_TEXT, text);
	}
	joint->load = shm_toc_allocate(toc, load_share_size(1 + joint->context->nworkers));
	load_share_init(joint->load, 1 + joint->context->nworkers, joint->context->seg);
	shm_toc_insert(toc, KEY_LOAD, joint->load);
	joint->wal_usage = make_array(joint->context, KEY_WAL_USAGE, sizeof(WalUsage));
	joint->buffer_usage = make_array(joint->context, KEY_BUFFER_USAGE, sizeof(BufferUsage));
}

static void
release_snapshot(JointFeed *joint)
{
	if (IsMVCCSnapshot(joint->snapshot))
		UnregisterSnapshot(joint->snapshot);
}

/* Launches workers that scan with this process.  False: there is no memory for what they share. */
static bool
begin_joint_feed(JointFeed *joint, int nworkers)
{
	EnterParallelMode();
	joint->context = CreateParallelContext("gpusort", "gpusort_index_worker", nworkers);
	joint->snapshot =
		joint->base->info->ii_Concurrent ? RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	estimate_shared(joint);
	InitializeParallelDSM(joint->context);
	if (joint->context->seg == NULL)
	{
		release_snapshot(joint);
		DestroyParallelContext(joint->context);
		ExitParallelMode();
		return false;
	}
	make_shared(joint);
	/* so that no worker can be through with all of the scan before this process takes part */
	(void) joint->base->sorter->device->enter(joint->base->sorter, 1 + nworkers);
	LaunchParallelWorkers(joint->context);
	return true;
}

/* What the leader loads. */
static Load
load_of(const HeapFeed *base)
{
	return (Load){.heap = base->heap,
				  .index = base->index,
				  .info = base->info,
				  .sorter = base->sorter,
				  .progress = base->progress};
}

static void
end_joint_feed(JointFeed *joint)
{
	HeapFeed *base = joint->base;

	wait_for_workers(joint);
	if (!base->is_loaded)
		sort_team_close(&joint->shared->team, base->sorter, true);
	for (int i = 0; i < joint->context->nworkers_launched; i++)
		InstrAccumParallelQuery(&joint->buffer_usage[i], &joint->wal_usage[i]);
	base->heap_tuples += joint->shared->heap_tuples;
	base->index_tuples += joint->shared->index_tuples;
	base->info->ii_BrokenHotChain |= joint->shared->broken_hot_chain;
	base->workers = joint->context->nworkers_launched;
	if (base->is_loaded)
	{
		Load load = load_of(base);
		uint64 loaded = load_finish(joint->load, &load, &base->loaders);

		if (loaded != (uint64) base->index_tuples)
			elog(ERROR, "gpusort: index \"%s\" has got " UINT64_FORMAT " of %.0f tuples",
				 RelationGetRelationName(base->index), loaded, base->index_tuples);
	}
	release_snapshot(joint);
	base->context = joint->context;
}

void
heap_feed_end(HeapFeed *base)
{
	if (base->context == NULL)
		return;
	DestroyParallelContext(base->context);
	ExitParallelMode();
	base->context = NULL;
}

/*
 * All that were fed have been sorted, if that was done together: then they are loaded together as well,
 * unless there are runs of lone workers, too.
 */
static void
load_with_others(JointFeed *joint)
{
	HeapFeed *base = joint->base;
	Load load = load_of(base);
	bool may_load = sort_team_lone(&joint->shared->team) == 0;

	base->fed_ms = stopwatch_ms(joint->watch);
	base->is_loaded = load_together(joint->load, joint->context->seg, &load, true, may_load);
}

void
heap_feed_jointly(HeapFeed *base, int nworkers)
{
	JointFeed joint = {.base = base, .watch = stopwatch_start()};
	IndexFeed *feed;

	if (!begin_joint_feed(&joint, nworkers))
	{
		(void) base->sorter->device->enter(base->sorter, 1);
		heap_feed_alone(base);
		if (base->sorter->failure == NULL)
			base->sorter->device->finish_feed(base->sorter);
		return;
	}
	feed = index_feed_create(base->index, base->key, base->sorter);
	base->heap_tuples = scan_heap(base->heap, base->index, base->info, &joint.shared->blocks, joint.scan,
								  true, index_feed_callback, feed);
	base->index_tuples = index_feed_end(feed);
	WaitForParallelWorkersToAttach(joint.context);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_BTREE_PHASE_PERFORMSORT_1);
	if (base->sorter->failure == NULL)
		base->sorter->device->finish_feed(base->sorter);
	load_with_others(&joint);
	end_joint_feed(&joint);
}

/* ---------------------------------------------------------------- workers */

/* In a worker. */
typedef struct WorkerFeed
{
	Relation heap;
	Relation index;
	JointShared *shared;
	Sorter *sorter;
	dsm_segment *segment;
	LoadShare *load;
} WorkerFeed;

/* Adds what this process has scanned. */
static void
note_scanned(JointShared *shared, double heap_tuples, double index_tuples, bool broken_hot_chain)
{
	SpinLockAcquire(&shared->mutex);
	shared->heap_tuples += heap_tuples;
	shared->index_tuples += index_tuples;
	shared->broken_hot_chain |= broken_hot_chain;
	SpinLockRelease(&shared->mutex);
}

/* Scans this process's part of the heap into the sort that key is for, and loads a part of the tuples. */
static void
scan_part(WorkerFeed *worker, SortKey *key, ParallelTableScanDesc scan)
{
	IndexFeed *feed = index_feed_create(worker->index, key, worker->sorter);
	IndexInfo *info = build_info_apply(worker->index, &worker->shared->info);
	Load load = {.heap = worker->heap, .index = worker->index, .info = info, .sorter = worker->sorter};
	double heap_tuples = scan_heap(worker->heap, worker->index, info, &worker->shared->blocks, scan, false,
								   index_feed_callback, feed);

	double index_tuples = index_feed_end(feed);

	note_scanned(worker->shared, heap_tuples, index_tuples, info->ii_BrokenHotChain);
	if (worker->sorter->failure == NULL)
		worker->sorter->device->finish_feed(worker->sorter);
	sort_team_add_lone_rows(&worker->shared->team, worker->sorter, index_tuples);
	(void) load_together(worker->load, worker->segment, &load, false, false);
}

/* Takes part in the sort, if it is not closed, and in the scan, if anything may be left. */
static void
scan_and_feed(WorkerFeed *worker, ParallelTableScanDesc scan)
{
	SortKey *key = index_key_create(worker->index);

	worker->sorter = sort_team_join(&worker->shared->team, key, NULL);
	if (worker->sorter == NULL)
		return;
	scan_part(worker, key, scan);
	worker->sorter->device->end(worker->sorter);
}

/* Where a worker begins; PostgreSQL looks for it by its name. */
void
gpusort_index_worker(dsm_segment *segment, shm_toc *toc)
{
	JointShared *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	WorkerFeed worker = {.shared = shared, .segment = segment, .load = shm_toc_lookup(toc, KEY_LOAD, false)};
	LOCKMODE heap_lock = shared->info.concurrent ? ShareUpdateExclusiveLock : ShareLock;
	LOCKMODE index_lock = shared->info.concurrent ? RowExclusiveLock : AccessExclusiveLock;
	BufferUsage *buffer_usage = shm_toc_lookup(toc, KEY_BUFFER_USAGE, false);
	WalUsage *wal_usage = shm_toc_lookup(toc, KEY_WAL_USAGE, false);

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY_TEXT, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	worker.heap = table_open(shared->heap, heap_lock);
	worker.index = index_open(shared->index, index_lock);
	InstrStartParallelQuery();
	scan_and_feed(&worker, shm_toc_lookup(toc, KEY_SCAN, false));
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber], &wal_usage[ParallelWorkerNumber]);
	index_close(worker.index, index_lock);
	table_close(worker.heap, heap_lock);
}
