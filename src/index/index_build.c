/*
 * index/index_build.c
 *		Builds a B-tree by a sort of ours.
 *
 *		feed		the heap is scanned, by several processes if PostgreSQL wants so (joint_feed.c); each
 *				tuple becomes a key (index_key.c) and an index tuple (index_feed.c) in the sort's chunks
 *		sort		a device sorts (device/sorter.h), spilling where maintenance_work_mem is short
 *		load		tuples come back in order, a unique index is checked (unique.c), pages are written
 *				(load.c, btree_writer.c), by all processes that have sorted together
 *
 * README.md says what happens on failure.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "commands/defrem.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/pg_compat.h"
#include "base/stopwatch.h"
#include "device/participants.h"
#include "index/index_build.h"
#include "index/choice.h"
#include "index/device_choice.h"
#include "index/index_key.h"
#include "index/joint_feed.h"
#include "monitor/counters.h"
#include "monitor/fallback_log.h"
#include "monitor/progress.h"
#include "sort/sorted_rows.h"

/* What the cpu device takes for a row, at most: a build waits no longer for a card. */
#define CPU_NS_PER_ROW 1000

/* Chunks are not full to the last byte: one part in so many of the memory is lost by that. */
#define MEMORY_SLACK 8

/* Of an index that REINDEX CONCURRENTLY builds. */
#define LABEL "_ccnew"

typedef struct IndexBuild
{
	Load load;
	HeapFeed feed;
	BuildShape shape; /* by estimate */
	Stopwatch watch;  /* since the build began */
	double sorted_ms; /* until all tuples were in order */
	SorterStats stats;
} IndexBuild;

/* ---------------------------------------------------------------- the name, for messages */

/* PostgreSQL says so of itself, unless track_activities is off. */
static bool
is_reindexed_concurrently(void)
{
	return MyBEEntry != NULL && MyBEEntry->st_progress_command == PROGRESS_COMMAND_CREATE_INDEX &&
		   MyBEEntry->st_progress_param[PROGRESS_CREATEIDX_COMMAND] ==
			   PROGRESS_CREATEIDX_COMMAND_REINDEX_CONCURRENTLY;
}

/* The last label in the name, with its number; NULL: there is none. */
static const char *
find_label(const char *name)
{
	const char *found = NULL;

	for (const char *at = strstr(name, LABEL); at != NULL; at = strstr(at + 1, LABEL))
		found = at + 1;
	return found;
}

/*
 * The name of the index that the user knows.  REINDEX CONCURRENTLY builds an index in the place of another
 * one, whose name it gets at the end, and is h1_ccnew until then: that of the other one.  Nothing in the
 * catalogs tells which one that is; but the name is made of the other's, by makeObjectName and a label with a
 * number.
 */
static const char *
index_name(Relation heap, Relation index)
{
	const char *name = RelationGetRelationName(index);
	const char *label = find_label(name);
	ListCell *cell;

	if (label == NULL || !is_reindexed_concurrently())
		return name;
	foreach(cell, RelationGetIndexList(heap))
	{
		const char *other = get_rel_name(lfirst_oid(cell));

		if (other != NULL && strcmp(makeObjectName(other, NULL, label), name) == 0)
			return other;
	}
	return name;
}

/* ---------------------------------------------------------------- feed and sort */

static void
make_request(const IndexBuild *build, const SortDevice *device, SortRequest *request)
{
	int nworkers = build->load.info->ii_ParallelWorkers;

	memset(request, 0, sizeof(*request));
	request->key = build->load.key;
	request->memory.limit = (Size) maintenance_work_mem * 1024;
	request->processes.share = nworkers > 0;
	request->processes.n = 1 + nworkers;
	request->processes.read_jointly = request->processes.share;
	request->expected.rows = request->expected.kept = build->shape.rows;
	request->expected.row_bytes = build->shape.row_bytes;
	request->expected.key_bytes = build->shape.key_bytes;
	request->expected.cpu_ms = build->shape.rows * CPU_NS_PER_ROW / 1e6;
	if (device->kind == DEVICE_CPU)
		request->rows.coded = build->shape.coded.columns;
	request->expected.values = build->shape.coded.values;
	request->expected.times = build->shape.coded.times;
	sort_request_set_filters_aside(request);
}

/* Says why there are not as many workers as the setting allows, if anybody asks for such messages. */
static void
report_workers(const IndexBuild *build)
{
	const Load *load = &build->load;
	int launched = build->feed.workers;
	int planned = load->info->ii_ParallelWorkers;
	const char *why = NULL;

	if (!message_level_is_interesting(DEBUG1))
		return;
	if (launched < planned)
		why = "no more background workers were free, see max_parallel_workers and max_worker_processes";
	else if (max_parallel_maintenance_workers == 0)
		why = "max_parallel_maintenance_workers is 0";
	else if (planned < max_parallel_maintenance_workers)
		why = index_build_why_few_workers(load->heap, load->index, planned);
	if (why != NULL)
		ereport(DEBUG1, (errmsg_internal("gpusort builds index \"%s\" with %d of %d workers: %s",
										 index_name(load->heap, load->index), launched,
										 max_parallel_maintenance_workers, why)));
}

static void
feed_tuples(IndexBuild *build)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN);
	progress_enter(build->load.sorter, PROGRESS_READING);
	heap_feed(&build->load, &build->feed, build->load.info->ii_ParallelWorkers);
	report_workers(build);
	if (!build->feed.is_loaded)
		load_report_total(build->feed.index_tuples);
}

/*
 * The build has needed temporary files: would more memory have helped?  Not where a worker could not join the
 * others in theirs.
 */
static void
report_spill(const IndexBuild *build, const SorterStats *stats)
{
	const SortKey *coded = stats->coding_ended ? NULL : build->load.sorter->coded;
	Size needed = stats->bytes + sorted_rows_memory(coded != NULL ? coded : build->load.key, stats->rows);
	int megabytes;

	if (coded != NULL)
		needed += sort_values_memory(2 * needed, stats->values, 1, 1 + build->load.info->ii_ParallelWorkers);
	megabytes = (needed + needed / MEMORY_SLACK) / (1024 * 1024) + 1;
	if (megabytes <= maintenance_work_mem / 1024)
		return;
	ereport(NOTICE,
			(errmsg("index \"%s\" did not fit into maintenance_work_mem and was sorted in temporary files",
					index_name(build->load.heap, build->load.index)),
			 errdetail("%.0f tuples took " UINT64_FORMAT " MB of temporary files.", build->feed.index_tuples,
					   stats->disk_bytes / (1024 * 1024) + 1),
			 errhint("Set maintenance_work_mem to about %d MB to build the index in memory.", megabytes)));
}

/* False: the sorter has failed. */
static bool
sort_tuples(IndexBuild *build)
{
	Sorter *sorter = build->load.sorter;
	SorterStats *stats = &build->stats;

	if (!build->feed.is_loaded)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_BTREE_PHASE_PERFORMSORT_1);
	progress_enter(sorter, PROGRESS_SORTING);
	if (!sorter->device->sort(sorter))
		return false;
	build->sorted_ms = build->feed.is_loaded ? build->feed.fed_ms : stopwatch_ms(build->watch);
	sorter->device->get_stats(sorter, stats);
	stats_count_sort(device_names[sorter->device->kind], stats);
	progress_note_processes(build->load.progress, stats->processes);
	if (stats->disk_bytes > 0)
		report_spill(build, stats);
	progress_enter(sorter, PROGRESS_RETURNING);
	return true;
}

/* Has the sorter of a device hold all tuples in order; false: it has failed. */
static bool
feed_and_sort(IndexBuild *build, const SortDevice *device)
{
	SortRequest request;
	Sorter *sorter;

	sort_device_set_layout(device, build->load.key);
	make_request(build, device, &request);
	progress_start(build->load.progress, device_names[device->kind], request.expected.rows,
				   request.processes.n);
	sorter = build->load.sorter = device->begin(&request);
	progress_set_sorter(build->load.progress, sorter);
	if (sorter->failure == NULL)
		feed_tuples(build);
	return sorter->failure == NULL && sort_tuples(build);
}

static void
release_sorter(IndexBuild *build)
{
	progress_end(build->load.progress);
	build->load.sorter->device->end(build->load.sorter);
	build->load.sorter = NULL;
	heap_feed_end(&build->feed);
}

/* The device has failed before it returned anything. */
static void
fall_back(IndexBuild *build)
{
	const Sorter *sorter = build->load.sorter;

	stats_count_fallback(device_names[sorter->device->kind], sorter->failure_reason);
	fallback_log_device(device_names[sorter->device->kind], sorter->failure_reason, sorter->failure);
	release_sorter(build);
	load_report_total(0);
}

/* ---------------------------------------------------------------- the build */

static const char *
codes_in_words(const SorterStats *stats)
{
	if (stats->value_bytes == 0)
		return "none";
	return psprintf("of " UINT64_FORMAT " values%s", stats->values, stats->coding_ended ? ", given up" : "");
}

/*
 * The times of the stages; where several processes sorted, in the middle of their feed, that of the longest.
 */
static void
report_stages(const IndexBuild *build)
{
	const SorterStats *stats = &build->stats;
	double sort_ms = stats->sort_ms + stats->spill_ms + stats->merge_ms;

	ereport(
		DEBUG1,
		(errmsg_internal(
			"gpusort has built index \"%s\" by device \"%s\": %.0f tuples, %d processes, loaded by %d, feed %.0f ms, sort %.0f ms, load %.0f ms, "
			"%zu kB of memory, " UINT64_FORMAT " kB of temporary files, codes %s",
			index_name(build->load.heap, build->load.index), device_names[build->load.sorter->device->kind],
			build->feed.index_tuples, stats->processes, build->feed.is_loaded ? build->feed.loaders : 1,
			Max(build->sorted_ms - sort_ms, 0), sort_ms, stopwatch_ms(build->watch) - build->sorted_ms,
			stats->peak_memory / 1024, stats->disk_bytes / 1024, codes_in_words(stats))));
}

/* The first tuple, unless all are loaded; false: the sorter has failed. */
static bool
read_first(IndexBuild *build, IndexTuple *first)
{
	*first = build->feed.is_loaded ? NULL : load_next_tuple(build->load.sorter);
	return build->load.sorter->failure == NULL;
}

static void
run_build(IndexBuild *build)
{
	const SortDevice *device;
	IndexTuple first = NULL;

	build->load.info->ii_ParallelWorkers = index_build_workers(build->load.info->ii_ParallelWorkers);
	build->watch = stopwatch_start();
	build->load.progress = progress_create();
	build->load.key = index_key_create(build->load.index);
	build->shape = build_shape(build->load.heap, build->load.index, build->load.key,
							   1 + build->load.info->ii_ParallelWorkers);
	device = sort_devices[build_device(&build->shape)];
	while (!feed_and_sort(build, device) || !read_first(build, &first))
	{
		fall_back(build);
		device = &sort_device_cpu;
	}
	if (!build->feed.is_loaded)
		load_alone(&build->load, first, build->feed.index_tuples);
	stats_count_index_build(device_names[build->load.sorter->device->kind]);
	report_stages(build);
	release_sorter(build);
}

/* The build is not ours. */
static IndexBuildResult *
leave_to_postgres(Relation heap, Relation index, IndexInfo *info, const Declined *why_not)
{
	if (why_not->reason != DECLINED_MODE_OFF)
		stats_count_declined(why_not->reason);
	fallback_log_build(RelationGetRelationName(index), why_not);
	return btbuild(heap, index, info);
}

IndexBuildResult *
index_build_btree(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuild build = {.load = {.heap = heap, .index = index, .info = info}};
	IndexBuildResult *result;
	MemoryContext context;
	MemoryContext old;
	Declined why_not;

	if (!index_build_is_ours(heap, index, &why_not))
		return leave_to_postgres(heap, index, info, &why_not);
	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	context = AllocSetContextCreate(CurrentMemoryContext, "GpuSort index build", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	run_build(&build);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);

	result = palloc(sizeof(IndexBuildResult));
	result->heap_tuples = build.feed.heap_tuples;
	result->index_tuples = build.feed.index_tuples;
	return result;
}
