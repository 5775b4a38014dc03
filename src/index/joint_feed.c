/*
 * index/joint_feed.c
 *		Feeds a build's sort from the heap, by this process and workers of its own.
 *
 * Every process takes parts of one scan of the heap (heap_scan.h) and puts index tuples into the one sort
 * (device/participants.h).  A concurrent build, which has a snapshot, is PostgreSQL's own scan.
 *
 * A process that finds no room spills by itself, to files in a set that all share, if the device can do that.
 * Otherwise a worker whose tuple finds no room is through with the sort, as is one that could not map the
 * sort's memory: from there on it passes all tuples to the leader, through a queue in the dynamic shared
 * memory.  The leader puts them by way of get_chunk, which makes room by spilling: when its own part of the
 * scan is over, or, if it has found no room itself, in between.  It never waits for a worker that waits for
 * it: a worker says that it is through before it passes its first tuple, and the leader waits for others only
 * until somebody has said so.
 *
 * A worker that comes when the sort is closed gets NULL from the device's join, and ends without scanning
 * (scan_and_feed).  One that can't map the memory or has another key sets JointShared.passes, under the
 * mutex, before it takes a block; each process looks at that when it has read its last one.
 *
 * JointShared.mutex keeps passes and the sums of what workers have scanned; what stands before it is set
 * before they start, but for the counters of HeapScanShare.  Without dynamic shared memory the leader scans
 * alone (begin_joint_feed).  An error in a worker is raised in the leader by PostgreSQL.  If the device fails
 * all scan on, without putting their tuples, and index_build.c begins again.
 *
 * The files last as long as the dynamic shared memory, until the sorter has ended.
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
#include "storage/proc.h"
#include "storage/sharedfileset.h"
#include "storage/shm_mq.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/snapmgr.h"

#include "base/pg_compat.h"
#include "base/stopwatch.h"
#include "base/wait_events.h"
#include "device/participants.h"
#include "index/build_info.h"
#include "index/heap_scan.h"
#include "index/index_feed.h"
#include "index/index_key.h"
#include "index/joint_feed.h"
#include "index/load.h"

/* Keys of the dynamic shared memory. */
#define KEY_SHARED UINT64CONST(0xB100000000000001)
#define KEY_SCAN UINT64CONST(0xB100000000000002)
#define KEY_QUEUES UINT64CONST(0xB100000000000003)
#define KEY_QUERY_TEXT UINT64CONST(0xB100000000000004)
#define KEY_WAL_USAGE UINT64CONST(0xB100000000000005)
#define KEY_BUFFER_USAGE UINT64CONST(0xB100000000000006)
#define KEY_LOAD UINT64CONST(0xB100000000000007)

/* Bytes of a worker's queue. */
#define QUEUE_SIZE ((Size) 64 * 1024)

/* The leader, while it feeds alone, looks into the queues each time it has put so many tuples. */
#define LOOK_EVERY 1024

/* Milliseconds between two reports of progress, while it waits for the others. */
#define REPORT_EVERY_MS 100

/* What leader and workers share. */
typedef struct JointShared
{
	Oid heap;
	Oid index;
	BuildInfo info;
	ArenaHandle sort;	  /* pid 0: the sorter can't be shared */
	uint64 fingerprint;	  /* of the leader's key */
	HeapScanShare blocks; /* of a build that is not concurrent */
	SharedFileSet files;  /* of processes that spill by themselves */

	slock_t mutex; /* of all that follows */
	bool passes;   /* a worker without a part in the sort passes its part of the heap */
	double heap_tuples;
	double index_tuples;
	bool broken_hot_chain;
} JointShared;

/* In the leader. */
typedef struct JointFeed
{
	HeapFeed *base;
	IndexFeed *feed;
	bool alone; /* no more with others: by way of get_chunk */
	ParallelContext *context;
	Snapshot snapshot;
	JointShared *shared;
	ParallelTableScanDesc scan;
	shm_mq_handle **queues; /* of the workers; NULL: has ended */
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
	IndexFeed *feed = index_feed_create(base->index, base->key, base->sorter, NULL, NULL);
	HeapScanShare blocks;

	heap_scan_share_init(&blocks, base->heap);
	index_feed_open(feed, SORT_FEED_ALONE);
	base->heap_tuples =
		scan_heap(base->heap, base->index, base->info, &blocks, NULL, true, index_feed_callback, feed);
	base->index_tuples = feed->fed;
	index_feed_end(feed);
}

/* ---------------------------------------------------------------- leader: rows that were passed */

/* Does a worker pass its part of the heap?  To be asked when the process's own part is read. */
static bool
others_pass(JointShared *shared)
{
	bool passes;

	SpinLockAcquire(&shared->mutex);
	passes = shared->passes;
	SpinLockRelease(&shared->mutex);
	return passes;
}

/* The sorter makes room for chunks from now on. */
static void
feed_alone(JointFeed *joint)
{
	const SortDevice *device = joint->base->sorter->device;

	if (joint->alone)
		return;
	joint->alone = true;
	if (joint->feed->is_open)
	{
		index_feed_close(joint->feed);
		if (joint->base->sorter->failure == NULL)
			device->finish_feed(joint->base->sorter, others_pass(joint->shared));
	}
	index_feed_open(joint->feed,
					device->properties & SORT_MAY_REFUSE_ROWS ? SORT_FEED_PASSED_ON : SORT_FEED_ALONE);
}

/* Puts a tuple, unless the sorter has failed: then all is to begin again. */
static void
put_tuple(JointFeed *joint, IndexTuple tuple)
{
	if (joint->base->sorter->failure != NULL)
		return;
	feed_alone(joint);
	if (joint->base->sorter->failure == NULL)
		index_feed_put_tuple(joint->feed, tuple);
}

/* Takes what is in the queues; false: there was nothing. */
static bool
look_into_queues(JointFeed *joint)
{
	bool found = false;

	for (int i = 0; i < joint->context->nworkers_launched; i++)
	{
		for (int n = 0; n < LOOK_EVERY && joint->queues[i] != NULL; n++)
		{
			Size size;
			void *tuple;
			shm_mq_result result = shm_mq_receive(joint->queues[i], &size, &tuple, true);

			if (result == SHM_MQ_WOULD_BLOCK)
				break;
			found = true;
			if (result == SHM_MQ_SUCCESS)
				put_tuple(joint, tuple);
			else
			{
				shm_mq_detach(joint->queues[i]);
				joint->queues[i] = NULL;
			}
		}
	}
	return found;
}

static bool
has_queues(const JointFeed *joint)
{
	for (int i = 0; i < joint->context->nworkers_launched; i++)
	{
		if (joint->queues[i] != NULL)
			return true;
	}
	return false;
}

/* Reports how far all processes are, while this one waits. */
static void
report_progress(JointFeed *joint)
{
	if (joint->base->is_loaded)
		load_report(joint->load, joint->base->progress);
	else if (!joint->shared->info.concurrent)
		heap_scan_report(&joint->shared->blocks);
}

/* Takes all that workers pass, until they have ended. */
static void
drain_queues(JointFeed *joint)
{
	while (has_queues(joint))
	{
		CHECK_FOR_INTERRUPTS();
		if (look_into_queues(joint))
			continue;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, REPORT_EVERY_MS,
						 gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
		ResetLatch(MyLatch);
		report_progress(joint);
	}
}

/* A tuple of the leader's own part of the scan found no room. */
static void
leader_refused(IndexFeed *feed, IndexTuple tuple, void *arg)
{
	put_tuple(arg, tuple);
}

static void
leader_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool is_alive, void *arg)
{
	JointFeed *joint = arg;

	index_feed_callback(index, tid, values, isnull, is_alive, joint->feed);
	if (unlikely(joint->alone && joint->feed->fed % LOOK_EVERY == 0))
		(void) look_into_queues(joint);
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
	estimate_array(joint->context, QUEUE_SIZE);
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
	joint->shared->fingerprint = sort_key_fingerprint(base->key);
	if (base->sorter->share != NULL)
		joint->shared->sort = base->sorter->share->arena.handle;
	heap_scan_share_init(&joint->shared->blocks, base->heap);
	SharedFileSetInit(&joint->shared->files, joint->context->seg);
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

/* A queue for each worker that may be launched. */
static void
make_queues(JointFeed *joint)
{
	char *memory = make_array(joint->context, KEY_QUEUES, QUEUE_SIZE);

	joint->queues = palloc0(sizeof(shm_mq_handle *) * joint->context->nworkers);
	for (int i = 0; i < joint->context->nworkers; i++)
	{
		shm_mq *queue = shm_mq_create(memory + i * QUEUE_SIZE, QUEUE_SIZE);

		shm_mq_set_receiver(queue, MyProc);
		joint->queues[i] = shm_mq_attach(queue, joint->context->seg, NULL);
	}
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
	make_queues(joint);
	/* so that no worker can be through with all of the scan before this process takes part */
	(void) joint->base->sorter->device->enter(joint->base->sorter, 1 + nworkers, &joint->shared->files.fs);
	LaunchParallelWorkers(joint->context);
	for (int i = 0; i < joint->context->nworkers_launched; i++)
		shm_mq_set_handle(joint->queues[i], joint->context->worker[i].bgwhandle);
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

	WaitForParallelWorkersToFinish(joint->context);
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

/* All that were fed have been sorted, if that was done together: then they are loaded together as well. */
static void
load_with_others(JointFeed *joint)
{
	HeapFeed *base = joint->base;
	Load load = load_of(base);
	bool may_load = !others_pass(joint->shared) && !joint->alone;

	base->fed_ms = stopwatch_ms(joint->watch);
	base->is_loaded = load_together(joint->load, joint->context->seg, &load, true, may_load);
}

void
heap_feed_jointly(HeapFeed *base, int nworkers)
{
	JointFeed joint = {.base = base, .watch = stopwatch_start()};

	if (!begin_joint_feed(&joint, nworkers))
	{
		heap_feed_alone(base);
		return;
	}
	joint.feed = index_feed_create(base->index, base->key, base->sorter, leader_refused, &joint);
	index_feed_open(joint.feed, SORT_FEED_WITH_OTHERS);
	base->heap_tuples = scan_heap(base->heap, base->index, base->info, &joint.shared->blocks, joint.scan,
								  true, leader_callback, &joint);
	base->index_tuples = joint.feed->fed;
	WaitForParallelWorkersToAttach(joint.context);
	if (!joint.alone)
	{
		index_feed_close(joint.feed);
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_BTREE_PHASE_PERFORMSORT_1);
		if (base->sorter->failure == NULL)
			base->sorter->device->finish_feed(base->sorter, others_pass(joint.shared));
	}
	load_with_others(&joint);
	drain_queues(&joint);
	end_joint_feed(&joint);
	index_feed_end(joint.feed);
}

/* ---------------------------------------------------------------- workers */

/* In a worker. */
typedef struct WorkerFeed
{
	Relation heap;
	Relation index;
	JointShared *shared;
	Sorter *sorter; /* NULL: this process takes no part in the sort */
	shm_mq_handle *queue;
	dsm_segment *segment;
	LoadShare *load;
} WorkerFeed;

/* This process puts no more tuples into the sort. */
static void
finish_feed(WorkerFeed *worker, IndexFeed *feed)
{
	if (!feed->is_open)
		return;
	index_feed_close(feed);
	if (worker->sorter->failure == NULL)
		worker->sorter->device->finish_feed(worker->sorter, others_pass(worker->shared));
}

static void
pass_tuple(WorkerFeed *worker, IndexTuple tuple)
{
	shm_mq_result result = shm_mq_send(worker->queue, IndexTupleSize(tuple), tuple, false, false);

	if (result != SHM_MQ_SUCCESS)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("could not send an index tuple to the process that builds the index")));
}

/* A tuple found no room, or there is no sort here to put it into. */
static void
worker_refused(IndexFeed *feed, IndexTuple tuple, void *arg)
{
	WorkerFeed *worker = arg;

	finish_feed(worker, feed);
	if (worker->sorter == NULL || worker->sorter->failure == NULL)
		pass_tuple(worker, tuple);
}

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

/* Before it takes any part of the heap: this process has none in the sort. */
static void
note_passes(JointShared *shared)
{
	SpinLockAcquire(&shared->mutex);
	shared->passes = true;
	SpinLockRelease(&shared->mutex);
}

/* Scans this process's part of the heap into the sort that key is for, or past it. */
static void
scan_part(WorkerFeed *worker, SortKey *key, ParallelTableScanDesc scan)
{
	IndexFeed *feed = index_feed_create(worker->index, key, worker->sorter, worker_refused, worker);
	IndexInfo *info = build_info_apply(worker->index, &worker->shared->info);
	double heap_tuples;

	if (worker->sorter != NULL)
		index_feed_open(feed, SORT_FEED_WITH_OTHERS);
	heap_tuples = scan_heap(worker->heap, worker->index, info, &worker->shared->blocks, scan, false,
							index_feed_callback, feed);
	note_scanned(worker->shared, heap_tuples, feed->fed, info->ii_BrokenHotChain);
	if (feed->is_open)
	{
		Load load = {.heap = worker->heap, .index = worker->index, .info = info, .sorter = worker->sorter};

		finish_feed(worker, feed);
		(void) load_together(worker->load, worker->segment, &load, false, false);
	}
	index_feed_end(feed);
}

/* Passes what the device did not keep after all. */
static void
pass_back(WorkerFeed *worker)
{
	MinimalTuple row;

	while (worker->sorter->failure == NULL &&
		   (row = worker->sorter->device->take_back(worker->sorter)) != NULL)
		pass_tuple(worker, &((IndexRow *) row)->tuple);
}

/* Takes part in the sort, if there is one and it is not closed, and in the scan, if anything may be left. */
static void
scan_and_feed(WorkerFeed *worker, ParallelTableScanDesc scan)
{
	SortKey *key = index_key_create(worker->index);
	bool may_join = worker->shared->sort.pid != 0 && sort_key_fingerprint(key) == worker->shared->fingerprint;
	SortShare *share = may_join ? sort_share_attach(&worker->shared->sort) : NULL;

	if (share != NULL)
	{
		const SortDevice *device = share->on_gpu ? &sort_device_cuda : &sort_device_cpu;

		sort_device_set_layout(device, key);
		SharedFileSetAttach(&worker->shared->files, worker->segment);
		worker->sorter = device->join(share, key, &worker->shared->files.fs);
		if (worker->sorter == NULL)
			return;
	}
	else
		note_passes(worker->shared);
	scan_part(worker, key, scan);
	if (worker->sorter != NULL)
	{
		pass_back(worker);
		worker->sorter->device->end(worker->sorter);
	}
}

static shm_mq_handle *
attach_queue(dsm_segment *segment, shm_toc *toc)
{
	char *queues = shm_toc_lookup(toc, KEY_QUEUES, false);
	shm_mq *queue = (shm_mq *) (queues + ParallelWorkerNumber * QUEUE_SIZE);

	shm_mq_set_sender(queue, MyProc);
	return shm_mq_attach(queue, segment, NULL);
}

/* Where a worker begins; PostgreSQL looks for it by its name. */
void
gpusort_index_worker(dsm_segment *segment, shm_toc *toc)
{
	JointShared *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	WorkerFeed worker = {.shared = shared,
						 .queue = attach_queue(segment, toc),
						 .segment = segment,
						 .load = shm_toc_lookup(toc, KEY_LOAD, false)};
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
	shm_mq_detach(worker.queue);
	index_close(worker.index, index_lock);
	table_close(worker.heap, heap_lock);
}
