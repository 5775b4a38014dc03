/*
 * index/joint_feed.c
 *		Feeds a build's sort from the heap, by this process and workers of its own.
 *
 * Every process takes parts of one scan of the heap (heap_scan.h) and puts index tuples into the one sort, as
 * exec/team.h says.  A concurrent build, which has a snapshot, is PostgreSQL's own scan.  If there are runs
 * of lone workers the leader loads alone.
 *
 * JointShared.mutex keeps the sums of what workers have scanned; what stands before it is set before they
 * start, but for the team's own and the counters of HeapScanShare.  Without dynamic shared memory the leader
 * scans alone (begin_joint_feed).  If the device fails all scan on, without putting their tuples, and
 * index_build.c begins again.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/snapmgr.h"

#include "base/pg_compat.h"
#include "base/spin.h"
#include "base/stopwatch.h"
#include "exec/team.h"
#include "index/heap_scan.h"
#include "index/index_feed.h"
#include "index/index_key.h"
#include "index/joint_feed.h"

/*
 * What the leader's IndexInfo says that the catalogs may not.  PostgreSQL makes an IndexInfo of the catalogs
 * and then changes some of it: VACUUM FULL and CLUSTER rebuild unique indexes, and those of exclusion
 * constraints, without checking them, for an invalid one may break its constraint.  A worker can only make an
 * IndexInfo of the catalogs, and takes these from the leader's.
 */
typedef struct BuildInfo
{
	bool unique;
	bool nulls_not_distinct;
	bool excludes;
	bool concurrent;
} BuildInfo;

/* What leader and workers share. */
typedef struct JointShared
{
	Oid heap;
	Oid index;
	BuildInfo info;
	TeamShare team;
	HeapScanShare blocks; /* of a build that is not concurrent */
	Size snapshot_scan;	  /* of a concurrent one: where its scan stands, from here on */

	slock_t mutex; /* of all that follows */
	double heap_tuples;
	double index_tuples;
	bool broken_hot_chain;
	/* a LoadShare behind it, aligned, and the scan of a concurrent build */
} JointShared;

/* In the leader. */
typedef struct JointFeed
{
	const Load *load;
	HeapFeed *feed;
	JointShared *shared;
	Snapshot snapshot; /* of a concurrent build, else NULL */
} JointFeed;

extern PGDLLEXPORT void gpusort_index_worker(dsm_segment *segment, shm_toc *toc);

static LoadShare *
load_share_of(JointShared *shared)
{
	return (LoadShare *) ((char *) shared + MAXALIGN(sizeof(JointShared)));
}

static ParallelTableScanDesc
snapshot_scan_of(JointShared *shared)
{
	return (ParallelTableScanDesc) ((char *) shared + shared->snapshot_scan);
}

/* Scans this process's part of the heap into the sort.  shared: NULL if there is this process alone. */
static void
scan_part(const Load *load, JointShared *shared, HeapFeed *feed)
{
	IndexFeed *rows = index_feed_create(load->index, load->key, load->sorter);
	bool is_leader = load->progress != NULL;
	HeapScanShare alone;

	if (shared == NULL)
		heap_scan_share_init(&alone, load->heap);
	if (!load->info->ii_Concurrent)
		feed->heap_tuples =
			heap_scan_part(load->heap, load->index, load->info, shared != NULL ? &shared->blocks : &alone,
						   is_leader, index_feed_callback, rows);
	else
		feed->heap_tuples =
			table_index_build_scan(load->heap, load->index, load->info, true, is_leader, index_feed_callback,
								   rows,
								   shared != NULL ? beginscan_parallel(load->heap, snapshot_scan_of(shared))
												  : NULL);
	feed->index_tuples = index_feed_end(rows);
}

/* ---------------------------------------------------------------- leader */

/* Reports how far all processes are, while this one waits. */
static void
report_progress(void *arg)
{
	JointFeed *joint = arg;

	if (joint->feed->is_loaded)
		load_report(load_share_of(joint->shared), joint->load->progress);
	else if (joint->snapshot == NULL)
		heap_scan_report(&joint->shared->blocks);
}

/* Launches workers that scan with this process.  False: there is no memory for what they share. */
static bool
begin_joint_feed(JointFeed *joint, int nworkers)
{
	const Load *load = joint->load;
	Size load_size = load_share_size(1 + nworkers);
	Size scan = MAXALIGN(sizeof(JointShared)) + MAXALIGN(load_size);
	Size scan_size = 0;
	JointShared *shared;

	if (load->info->ii_Concurrent)
	{
		joint->snapshot = RegisterSnapshot(GetTransactionSnapshot());
		scan_size = table_parallelscan_estimate(load->heap, joint->snapshot);
	}
	shared = team_create("gpusort_index_worker", nworkers, add_size(scan, scan_size), &joint->feed->context);
	if (shared == NULL)
	{
		UnregisterSnapshot(joint->snapshot);
		return false;
	}
	memset(shared, 0, sizeof(JointShared));
	joint->shared = shared;
	shared->heap = RelationGetRelid(load->heap);
	shared->index = RelationGetRelid(load->index);
	shared->info = (BuildInfo){
		.unique = load->info->ii_Unique,
		.nulls_not_distinct = load->info->ii_NullsNotDistinct,
		.excludes = load->info->ii_ExclusionOps != NULL,
		.concurrent = load->info->ii_Concurrent,
	};
	team_init(&shared->team, load->sorter, load->key, false);
	heap_scan_share_init(&shared->blocks, load->heap);
	SpinLockInit(&shared->mutex);
	load_share_init(load_share_of(shared), 1 + nworkers, joint->feed->context->seg);
	if (joint->snapshot != NULL)
	{
		shared->snapshot_scan = scan;
		table_parallelscan_initialize(load->heap, snapshot_scan_of(shared), joint->snapshot);
	}
	/* so that no worker can be through with all of the scan before this process takes part */
	(void) load->sorter->device->enter(load->sorter, 1 + nworkers);
	LaunchParallelWorkers(joint->feed->context);
	return true;
}

static void
end_joint_feed(JointFeed *joint)
{
	HeapFeed *feed = joint->feed;
	JointShared *shared = joint->shared;

	team_wait(feed->context, report_progress, joint);
	feed->heap_tuples += shared->heap_tuples;
	feed->index_tuples += shared->index_tuples;
	joint->load->info->ii_BrokenHotChain |= shared->broken_hot_chain;
	feed->workers = feed->context->nworkers_launched;
	if (!feed->is_loaded)
		team_close(&shared->team, joint->load->sorter);
	else
	{
		load_finish(load_share_of(shared), joint->load, feed->index_tuples);
		feed->loaders = team_readers(&shared->team);
	}
	UnregisterSnapshot(joint->snapshot);
}

void
heap_feed_end(HeapFeed *feed)
{
	if (feed->context != NULL)
		team_release(feed->context);
	feed->context = NULL;
}

void
heap_feed(const Load *load, HeapFeed *feed, int nworkers)
{
	JointFeed joint = {.load = load, .feed = feed};
	Stopwatch watch = stopwatch_start();

	if (nworkers == 0)
	{
		scan_part(load, NULL, feed);
		return;
	}
	if (!begin_joint_feed(&joint, nworkers))
	{
		(void) load->sorter->device->enter(load->sorter, 1);
		scan_part(load, NULL, feed);
		(void) team_finish_feed(NULL, load->sorter, feed->index_tuples, watch);
		return;
	}
	scan_part(load, joint.shared, feed);
	WaitForParallelWorkersToAttach(feed->context);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_BTREE_PHASE_PERFORMSORT_1);
	(void) team_finish_feed(&joint.shared->team, load->sorter, feed->index_tuples, watch);
	feed->fed_ms = stopwatch_ms(watch);
	feed->is_loaded =
		load_together(load_share_of(joint.shared), &joint.shared->team, feed->context->seg, load);
	end_joint_feed(&joint);
}

/* ---------------------------------------------------------------- workers */

/* An IndexInfo that says what the leader's does. */
static IndexInfo *
make_info(Relation index, const BuildInfo *shared)
{
	IndexInfo *info = BuildIndexInfo(index);

	info->ii_Unique = shared->unique;
	info->ii_NullsNotDistinct = shared->nulls_not_distinct;
	info->ii_Concurrent = shared->concurrent;
	if (!shared->excludes)
	{
		info->ii_ExclusionOps = NULL;
		info->ii_ExclusionProcs = NULL;
		info->ii_ExclusionStrats = NULL;
	}
	return info;
}

/* Adds what this process has scanned. */
static void
note_scanned(JointShared *shared, const HeapFeed *feed, bool broken_hot_chain)
{
	SpinLockAcquire(&shared->mutex);
	shared->heap_tuples += feed->heap_tuples;
	shared->index_tuples += feed->index_tuples;
	shared->broken_hot_chain |= broken_hot_chain;
	SpinLockRelease(&shared->mutex);
}

/* Takes part in the sort, if it is not closed, and in the scan, if anything may be left; and loads ranges. */
static void
scan_and_feed(JointShared *shared, dsm_segment *segment, Load *load)
{
	Stopwatch watch = stopwatch_start();
	HeapFeed feed;

	load->key = index_key_create(load->index);
	load->sorter = team_join(&shared->team, load->key, NULL);
	if (load->sorter == NULL)
		return;
	load->info = make_info(load->index, &shared->info);
	scan_part(load, shared, &feed);
	note_scanned(shared, &feed, load->info->ii_BrokenHotChain);
	(void) team_finish_feed(&shared->team, load->sorter, feed.index_tuples, watch);
	(void) load_together(load_share_of(shared), &shared->team, segment, load);
	load->sorter->device->end(load->sorter);
}

/* Where a worker begins; PostgreSQL looks for it by its name. */
void
gpusort_index_worker(dsm_segment *segment, shm_toc *toc)
{
	JointShared *shared = team_worker_begin(toc);
	LOCKMODE heap_lock = shared->info.concurrent ? ShareUpdateExclusiveLock : ShareLock;
	LOCKMODE index_lock = shared->info.concurrent ? RowExclusiveLock : AccessExclusiveLock;
	Load load = {.heap = table_open(shared->heap, heap_lock), .index = index_open(shared->index, index_lock)};

	scan_and_feed(shared, segment, &load);
	team_worker_end(toc);
	index_close(load.index, index_lock);
	table_close(load.heap, heap_lock);
}
