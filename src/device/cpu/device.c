/*
 * device/cpu/device.c
 *		The cpu device: sorts in the backend's own memory, past its limit in temporary files.
 *
 * The calls of the interface; what happens to rows in memory and past its limit, in one process and in
 * several, is told in README.md.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/stopwatch.h"
#include "device/cpu/joint_sort.h"
#include "device/cpu/joint_spill.h"
#include "device/cpu/sorter.h"
#include "files/shared_runs.h"
#include "monitor/progress.h"

/* Less memory than this is not worth having; a smaller limit is taken as this one. */
#define MEMORY_LIMIT_MIN ((Size) 512 * 1024)

/* ---------------------------------------------------------------- the device */

static CpuSorter *
create_sorter(const SortKey *key)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cpu device", ALLOCSET_DEFAULT_SIZES);
	CpuSorter *sorter = MemoryContextAllocZero(context, sizeof(CpuSorter));

	sorter->base.device = &sort_device_cpu;
	sorter->key = key;
	sorter->context = context;
	sorter->chunks_end = &sorter->chunks;
	sorter->process = -1;
	return sorter;
}

static void
share_chunks(CpuSorter *sorter, SharedChunks *shared)
{
	sorter->shared = shared;
	sorter->base.share = shared != NULL ? &shared->base : NULL;
}

/* Bytes of memory for chunks and for sorting them. */
static Size
limit_for_rows(const SortRequest *request)
{
	Size filters = request->rows_wanted > 0 ? bound_memory(request->processes) : 0;

	return Max(request->memory_limit, filters + MEMORY_LIMIT_MIN) - filters;
}

/* Others may write runs: for the leader, which has these files, or as all that becomes of the rows. */
static void
prepare_runs(CpuSorter *sorter, const SortRequest *request)
{
	sorter->files = request->files;
	sorter->process = request->files != NULL ? request->process : -1;
	sorter->apart = request->files != NULL;
	if (!request->shared)
		return;
	sorter->files = sorter->base.files = palloc(sizeof(FileSet));
	file_set_init(sorter->files);
	sorter->base.lone_memory = request->memory_limit / request->processes;
}

static Sorter *
cpu_begin(const SortRequest *request)
{
	CpuSorter *sorter = create_sorter(request->key);
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	sorter->complete_rows = request->complete_rows ? request->desc : NULL;
	sorter->limit = limit_for_rows(request);
	sorter->process_memory = request->process_memory;
	sorter->planned = request->processes;
	sorter->random_access = request->random_access;
	sorter->stats.processes = 1;
	prepare_runs(sorter, request);
	if (request->shared)
		share_chunks(sorter, shared_chunks_create(sorter->limit, request->processes, request->helped));
	sorter->base.bound = sort_share_create_bound(sorter->base.share, request);
	sorter->stats.rows_wanted = sorter->base.bound != NULL ? request->rows_wanted : 0;
	MemoryContextSwitchTo(old);
	return &sorter->base;
}

/* ---------------------------------------------------------------- several processes */

/* Of the processes that were planned some don't come, and don't bring their memory. */
static void
take_missing(CpuSorter *sorter, int processes)
{
	Size missing = sorter->process_memory * Max(0, sorter->planned - processes);

	sorter->limit = Max(sorter->limit, missing + MEMORY_LIMIT_MIN) - missing;
}

/* So many processes come. */
static void
note_processes(CpuSorter *sorter, int processes)
{
	SharedChunks *shared = sorter->shared;

	take_missing(sorter, processes);
	SpinLockAcquire(&shared->base.mutex);
	shared->limit = sorter->limit;
	shared->processes = Min(shared->processes, processes);
	SpinLockRelease(&shared->base.mutex);
	arena_trim(&shared->base.arena, sorter->limit);
}

static bool
cpu_enter(Sorter *base, int processes)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->shared == NULL)
	{
		/* the others are lone workers, with a part of the memory each */
		take_missing(sorter, processes);
		sorter->limit = Max(sorter->limit / processes, MEMORY_LIMIT_MIN);
		return true;
	}
	sorter->process = sort_share_enter(&sorter->shared->base);
	if (sorter->process < 0)
		return false; /* those who sort together now go by the limit as it is */
	note_processes(sorter, processes);
	return true;
}

/* A lone worker: it writes all of its rows. */
static Sorter *
begin_lone(SortTeam *team, const SortKey *key, TupleDesc complete_rows)
{
	SortRequest request = {.key = key,
						   .desc = complete_rows,
						   .complete_rows = complete_rows != NULL,
						   .memory_limit = team->memory,
						   .files = &team->files,
						   .process = SORT_SHARE_MAX_PROCESSES + sort_team_add_lone(team)};

	return cpu_begin(&request);
}

static Sorter *
cpu_join(SortTeam *team, SortShare *share, const SortKey *key, TupleDesc complete_rows)
{
	CpuSorter *sorter;
	int process;

	if (share == NULL)
		return begin_lone(team, key, complete_rows);
	process = sort_share_enter(share);
	if (process < 0)
		return NULL;
	sorter = create_sorter(key);
	sorter->base.bound = share->bound;
	sorter->complete_rows = complete_rows;
	sorter->process = process;
	sorter->files = &team->files;
	share_chunks(sorter, (SharedChunks *) share);
	return &sorter->base;
}

static Chunk *
cpu_get_chunk(Sorter *base, int part, Size at_least)
{
	CpuSorter *sorter = (CpuSorter *) base;
	Chunk *chunk;

	if (sorter->shared == NULL)
		return cpu_get_own_chunk(sorter, at_least);
	if (!sorter->apart)
	{
		chunk = shared_chunks_take(sorter->shared, sorter->key, at_least);
		if (chunk != NULL)
			return chunk;
		sort_share_note_overflow(&sorter->shared->base);
	}
	return joint_spill_get_chunk(sorter, at_least);
}

static void
cpu_put_chunk(Sorter *base, int part, Chunk *chunk)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->shared != NULL && !sorter->apart)
		shared_chunks_put(sorter->shared, sorter->key, chunk);
	else
		cpu_put_own_chunk(sorter, chunk);
}

static void
cpu_finish_feed(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;
	SortShare *share = base->share;
	Stopwatch watch;
	MemoryContext old;

	if (share == NULL)
	{
		if (sorter->apart)
			joint_spill_publish(sorter);
		return;
	}
	sort_share_note_fed(share, sorter->process);
	if (!sort_share_wait_all_fed(share))
		return;
	if (share->overflowed)
	{
		joint_spill_finish(sorter);
		return;
	}
	progress_enter(base, PROGRESS_SORTING);
	watch = stopwatch_start();
	old = MemoryContextSwitchTo(sorter->context);
	joint_sort(sorter->shared, sorter->process, sorter->key, base);
	MemoryContextSwitchTo(old);
	sorter->stats.sort_ms += share->processes[sorter->process].sort_ms = stopwatch_ms(watch);
}

/* Are all rows sorted, and can this process read them? */
static bool
cpu_sort_together(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->shared == NULL)
		return false;
	if (sorter->published)
	{
		sorter->base.together = sorter->shared->spilled.rows;
		/* a guess at the order cuts no ranges */
		return !sorter->key->verified;
	}
	if (!sorter->shared->is_sorted)
		return false;
	joint_sort_rows(sorter->shared, sorter->key, &sorter->sorted);
	sorter->base.together = sorter->sorted.nrows;
	return true;
}

static void
cpu_seek_range(Sorter *base, int range, int nranges)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->published)
	{
		joint_spill_seek(sorter, range, nranges);
		return;
	}
	sorter->position = (int64) (sorter->sorted.nrows * range / nranges) - 1;
	sorter->range_end = sorter->sorted.nrows * (range + 1) / nranges;
}

static void
cpu_pass_range_end(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->published)
		run_ranges_pass_end(sorter->ranges);
	sorter->position = Min(sorter->position, sorter->range_end - 1); /* who met the end stands behind it */
	sorter->range_end = sorter->sorted.nrows;
}

/* In the first process: will others help? In another one: helps. */
static bool
cpu_help(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;
	const SharedChunks *shared = sorter->shared;

	if (shared == NULL || !shared->is_sorted || shared->windows == NULL)
		return false;
	if (sort_share_is_own(&shared->base))
		return true;
	joint_sort_rows(sorter->shared, sorter->key, &sorter->sorted);
	return_windows_help(shared->windows, &sorter->sorted);
	return false;
}

static void
cpu_dismiss(Sorter *base)
{
	const SharedChunks *shared = ((CpuSorter *) base)->shared;

	if (shared != NULL && shared->windows != NULL)
		return_windows_dismiss(shared->windows);
}

/* What all have sorted together is this process's to read. */
static void
take_sorted(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;

	joint_sort_rows(shared, sorter->key, &sorter->sorted);
	sorter->stats.corrections += sorter->sorted.corrected;
	sorter_stats_note_memory(&sorter->stats, joint_sort_memory(shared, sorter->key) + shared->windows_size);
	sorter->reader = (WindowReader){.windows = shared->windows, .sorted = &sorter->sorted};
}

/* None of the processes may still feed.  True: all rows are sorted. */
static bool
finish_sharing(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;

	if (shared->reserved_rows != 0 || shared->base.nfed != shared->base.nentered)
		elog(ERROR, "gpusort: a process left a parallel sort while it fed it");
	sorter->stats.processes = Max(shared->base.nentered, 1);
	if (shared->is_sorted)
		take_sorted(sorter);
	cpu_take_filled(sorter, 1);
	return shared->is_sorted;
}

static bool
cpu_sort(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	bool is_sorted = sorter->shared != NULL && finish_sharing(sorter);

	if (sorter->base.lone_rows > 0 || sorter->external != NULL ||
		(sorter->shared != NULL && sorter->shared->base.overflowed))
	{
		joint_spill_perform(sorter, is_sorted);
		sorter->stats.method = "external merge";
	}
	else
	{
		if (!is_sorted)
			cpu_sort_chunks(sorter);
		sorter->position = -1;
		sorter->range_end = sorter->sorted.nrows;
		sorter->stats.method = sorter->sorted.method;
	}
	MemoryContextSwitchTo(old);
	return true;
}

/* ---------------------------------------------------------------- rows */

static inline MinimalTuple
next_in_memory(CpuSorter *sorter, bool forward)
{
	int64 end = sorter->range_end;
	int64 position = sorter->position + (forward ? 1 : -1);

	sorter->position = Max(-1, Min(end, position));
	if (position < 0 || position >= end)
		return NULL;
	if (sorter->reader.windows != NULL && forward)
	{
		MinimalTuple row = window_reader_next(&sorter->reader, position);

		if (row != NULL && !sorter->random_access)
			sorter->position +=
				window_reader_hand_over(&sorter->reader, &sorter->base.at, &sorter->base.at_end);
		if (row != NULL)
			return row;
	}
	sorted_rows_prefetch(&sorter->sorted, position, forward ? 1 : -1);
	return sorted_rows_row(&sorter->sorted, position);
}

static MinimalTuple
cpu_next(Sorter *base, bool forward)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->external != NULL)
		return merged_rows_next(external_sort_rows(sorter->external), forward);
	if (sorter->ranges != NULL)
		return run_ranges_next(sorter->ranges);
	return next_in_memory(sorter, forward);
}

static bool
cpu_rewind(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->external != NULL && !sorter->random_access)
		return false;
	cpu_dismiss(base);
	sorter_forget_rows_at_hand(&sorter->base);
	sorter->position = -1;
	if (sorter->external != NULL)
		merged_rows_rewind(external_sort_rows(sorter->external));
	return true;
}

static void
cpu_mark(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	sorter->mark = sorter->position;
	if (sorter->external != NULL)
		merged_rows_mark(external_sort_rows(sorter->external));
}

static void
cpu_restore(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	sorter->position = sorter->mark;
	if (sorter->external != NULL)
		merged_rows_restore(external_sort_rows(sorter->external));
}

/* ---------------------------------------------------------------- statistics, end */

static void
cpu_get_stats(const Sorter *base, SorterStats *stats)
{
	const CpuSorter *sorter = (const CpuSorter *) base;

	*stats = sorter->stats;
	stats->rows_helped = sorter->reader.rows_read;
	if (base->bound != NULL)
		stats->rows_dropped = bound_dropped(base->bound);
}

static void
cpu_end(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sort_share_is_own(base->share))
	{
		cpu_dismiss(base);
		/* a sort that had no room in memory has given back what its chunks were */
		if (sorter->external == NULL && !base->share->overflowed)
			arena_end(&base->share->arena);
	}
	if (sorter->external != NULL)
		external_sort_end(sorter->external);
	if (sorter->ranges != NULL)
		run_ranges_end(sorter->ranges);
	MemoryContextDelete(sorter->context);
}

const SortDevice sort_device_cpu = {
	.name = "cpu",
	.properties = SORT_READS_TAILS,
	.begin = cpu_begin,
	.join = cpu_join,
	.enter = cpu_enter,
	.get_chunk = cpu_get_chunk,
	.put_chunk = cpu_put_chunk,
	.finish_feed = cpu_finish_feed,
	.sort = cpu_sort,
	.sort_together = cpu_sort_together,
	.help = cpu_help,
	.dismiss = cpu_dismiss,
	.next = cpu_next,
	.rewind = cpu_rewind,
	.mark = cpu_mark,
	.restore = cpu_restore,
	.seek_range = cpu_seek_range,
	.pass_range_end = cpu_pass_range_end,
	.get_stats = cpu_get_stats,
	.end = cpu_end,
};
