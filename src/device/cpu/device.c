/*
 * device/cpu/device.c
 *		The cpu device: sorts in the backend's own memory, past its limit in temporary files.
 *
 * Filled chunks are kept.  As long as chunks and the arrays that sorting them takes stay within the limit,
 * all is in memory: perform sorts, next walks over the sorted items.  When the next chunk would not fit, what
 * is there is sorted and handed to an external sort as a run, and the chunks are filled again.
 *
 * If several processes feed the sort, they fill chunks in memory that they share (shared_chunks.h), within
 * the same limit.  When the limit is reached, they get no more, and rows come to the first process, which
 * takes the filled chunks over and goes on alone, as above; or, index tuples, each process goes on so by
 * itself, and all read what all have written (joint_spill.h).  Otherwise they sort together when the input is
 * over (joint_sort.h), and the first process has only to return the rows.
 *
 *		chunks.c			memory, chunks, spilling
 *		cut.c				rows that are not wanted any more are taken out of chunks
 *		shared_chunks.c		chunks that several processes fill
 *		joint_sort.c		several processes sort
 *		joint_spill.c		several processes write runs, and read them
 *		return_windows.c	several processes put sorted rows in order for the first one, which returns them
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/stopwatch.h"
#include "device/cpu/joint_sort.h"
#include "device/cpu/joint_spill.h"
#include "device/cpu/sorter.h"
#include "monitor/progress.h"

/* Less memory than this is not worth having; a smaller limit is taken as this one. */
#define MEMORY_LIMIT_MIN ((Size) 512 * 1024)

/* ---------------------------------------------------------------- the device */

static SortShare *
cpu_share(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	return sorter->shared != NULL ? &sorter->shared->base : NULL;
}

static void
create_bound(CpuSorter *sorter, const SortRequest *request)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	sorter->base.bound = sort_share_create_bound(cpu_share(&sorter->base), request);
	sorter->stats.rows_wanted = sorter->base.bound != NULL ? request->rows_wanted : 0;
	MemoryContextSwitchTo(old);
}

/* Bytes of memory for chunks and for sorting them. */
static Size
limit_for_rows(const SortRequest *request)
{
	Size filters = request->rows_wanted > 0 ? bound_memory(request->processes) : 0;

	return Max(request->memory_limit, filters + MEMORY_LIMIT_MIN) - filters;
}

static Sorter *
cpu_begin(const SortRequest *request)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cpu device", ALLOCSET_DEFAULT_SIZES);
	CpuSorter *sorter = MemoryContextAllocZero(context, sizeof(CpuSorter));

	sorter->base.device = &sort_device_cpu;
	sorter->key = request->key;
	sorter->complete_rows = request->complete_rows ? request->desc : NULL;
	sorter->limit = limit_for_rows(request);
	sorter->process_memory = request->process_memory;
	sorter->random_access = request->random_access;
	sorter->stats.processes = 1;
	sorter->context = context;
	sorter->chunks_end = &sorter->chunks;
	sorter->process = -1;
	if (request->shared)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		sorter->shared = shared_chunks_create(sorter->limit, request->processes);
		MemoryContextSwitchTo(old);
		if (sorter->shared != NULL)
			sorter->shared->helped = request->helped;
	}
	create_bound(sorter, request);
	return &sorter->base;
}

/* ---------------------------------------------------------------- several processes */

/* Of the processes that were expected some don't come, and don't bring their memory. */
static void
note_processes(CpuSorter *sorter, int processes)
{
	SharedChunks *shared = sorter->shared;
	Size missing = sorter->process_memory * Max(0, shared->processes - processes);

	sorter->limit = Max(sorter->limit, missing + MEMORY_LIMIT_MIN) - missing;
	SpinLockAcquire(&shared->base.mutex);
	shared->limit = sorter->limit;
	SpinLockRelease(&shared->base.mutex);
	arena_trim(&shared->base.arena, sorter->limit);
}

static bool
cpu_enter(Sorter *base, int processes)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->shared == NULL)
		return true;
	sorter->process = sort_share_enter(&sorter->shared->base);
	if (sorter->process < 0)
		return false; /* those who sort together now go by the limit as it is */
	note_processes(sorter, processes);
	return true;
}

static Sorter *
cpu_join(SortShare *share, const SortKey *key)
{
	int process = sort_share_enter(share);
	MemoryContext context;
	CpuSorter *sorter;

	if (process < 0)
		return NULL;
	context = AllocSetContextCreate(CurrentMemoryContext, "GpuSort cpu device", ALLOCSET_DEFAULT_SIZES);
	sorter = MemoryContextAllocZero(context, sizeof(CpuSorter));
	sorter->base.device = &sort_device_cpu;
	sorter->key = key;
	sorter->context = context;
	sorter->base.bound = share->bound;
	sorter->chunks_end = &sorter->chunks;
	sorter->shared = (SharedChunks *) share;
	sorter->process = process;
	return &sorter->base;
}

static void
cpu_finish_feed(Sorter *base, bool others_pass)
{
	CpuSorter *sorter = (CpuSorter *) base;
	SortShare *share = sorter->shared != NULL ? &sorter->shared->base : NULL;
	Stopwatch watch;
	MemoryContext old;

	if (share == NULL)
		return;
	if (others_pass)
		(void) sort_share_note_overflow(share);
	sort_share_note_fed(share, sorter->process);
	if (!sort_share_wait_all_fed(share))
		return;
	if (share->overflowed && share->spills_jointly)
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

static MinimalTuple
cpu_take_back(Sorter *base)
{
	return NULL; /* whoever gets a chunk may keep it */
}

static void
cpu_spill_jointly(Sorter *base, FileSet *files)
{
	CpuSorter *sorter = (CpuSorter *) base;

	Assert(base->bound == NULL && sorter->key->index_rows != NULL);
	if (sorter->shared == NULL)
		return;
	sorter->files = files;
	sorter->shared->base.spills_jointly = true;
}

static bool
cpu_read_together(Sorter *base, uint64 *nrows)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->published)
	{
		*nrows = sorter->shared->spilled_rows;
		/* a guess at the order cuts no ranges */
		return !sorter->key->verified;
	}
	if (sorter->shared == NULL || !sorter->shared->is_sorted)
		return false;
	joint_sort_rows(sorter->shared, sorter->key, &sorter->sorted);
	*nrows = sorter->sorted.nrows;
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

static bool
cpu_is_helped(Sorter *base)
{
	const SharedChunks *shared = ((CpuSorter *) base)->shared;

	return shared != NULL && shared->is_sorted && shared->windows != NULL;
}

static void
cpu_help_reader(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (!cpu_is_helped(base))
		return;
	joint_sort_rows(sorter->shared, sorter->key, &sorter->sorted);
	return_windows_help(sorter->shared->windows, &sorter->sorted);
}

static void
cpu_dismiss_helpers(Sorter *base)
{
	const SharedChunks *shared = ((CpuSorter *) base)->shared;

	if (shared != NULL && shared->windows != NULL)
		return_windows_dismiss(shared->windows);
}

/* Takes over what all processes fed.  True: they have sorted it too. */
static bool
take_over(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;

	if (shared->is_sorted)
	{
		joint_sort_rows(shared, sorter->key, &sorter->sorted);
		sorter->stats.corrections += sorter->sorted.corrected;
		sorter_stats_note_memory(&sorter->stats,
								 shared->chunk_memory +
									 sorted_rows_parallel_memory(sorter->key, shared->filled_rows,
																 shared->nchunks, shared->base.nentered) +
									 (shared->windows != NULL ? return_windows_memory(shared->windows) : 0));
		window_reader_init(&sorter->reader, shared->windows, &sorter->sorted);
	}
	if (!sorter->alone)
		cpu_take_chunks_over(sorter);
	cpu_collect_chunks(sorter);
	return shared->is_sorted;
}

/* None of the processes may still feed.  True: all are sorted. */
static bool
finish_sharing(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;

	if (shared->reserved_rows != 0 || shared->base.nfed != shared->base.nentered)
		elog(ERROR, "gpusort: a process left a parallel sort before it had passed on its rows");
	sorter->stats.processes = Max(shared->base.nentered, 1);
	if (!sorter->published)
		return take_over(sorter);
	joint_spill_perform(sorter);
	return true;
}

static void
cpu_perform(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	bool is_sorted = sorter->shared != NULL && finish_sharing(sorter);

	if (sorter->published)
		sorter->stats.method = "external merge";
	else if (sorter->external == NULL)
	{
		if (!is_sorted)
			cpu_sort_chunks(sorter);
		sorter->position = -1;
		sorter->range_end = sorter->sorted.nrows;
		sorter->stats.method = sorter->sorted.method;
	}
	else
	{
		if (sorter->nrows > 0)
			cpu_spill(sorter);
		cpu_free_chunks(sorter, &sorter->empty_chunks);
		progress_enter(base, PROGRESS_MERGING);
		external_sort_finish(sorter->external);
		sorter->stats.method = "external merge";
	}
	MemoryContextSwitchTo(old);
}

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
		return external_sort_next(sorter->external, forward);
	if (sorter->ranges != NULL)
		return run_ranges_next(sorter->ranges);
	return next_in_memory(sorter, forward);
}

static void
cpu_rewind(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	cpu_dismiss_helpers(base);
	sorter_forget_rows_at_hand(base);
	sorter->position = -1;
	if (sorter->external != NULL)
		external_sort_rewind(sorter->external);
}

static void
cpu_mark(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	sorter->mark = sorter->position;
	if (sorter->external != NULL)
		external_sort_mark(sorter->external);
}

static void
cpu_restore(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	sorter->position = sorter->mark;
	if (sorter->external != NULL)
		external_sort_restore(sorter->external);
}

static bool
cpu_has_random_access(const Sorter *base)
{
	const CpuSorter *sorter = (const CpuSorter *) base;

	return sorter->external == NULL || sorter->random_access;
}

static void
cpu_get_stats(const Sorter *base, SorterStats *stats)
{
	const CpuSorter *sorter = (const CpuSorter *) base;

	*stats = sorter->stats;
	stats->rows_helped = sorter->reader.rows_read;
	if (base->bound != NULL)
		stats->rows_dropped = bound_dropped(base->bound);
}

/* Of a sort that had room in memory: one that had not has given back what its chunks were. */
static bool
keeps_shared_memory(const CpuSorter *sorter)
{
	return sorter->shared != NULL && arena_is_own(&sorter->shared->base.arena) && sorter->external == NULL &&
		   !sorter->apart;
}

static void
cpu_end(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->shared != NULL && arena_is_own(&sorter->shared->base.arena))
		cpu_dismiss_helpers(base);
	if (keeps_shared_memory(sorter))
		arena_end(&sorter->shared->base.arena);
	if (sorter->external != NULL)
		external_sort_end(sorter->external);
	if (sorter->ranges != NULL)
		run_ranges_end(sorter->ranges);
	MemoryContextDelete(sorter->context);
}

const SortDevice sort_device_cpu = {
	.name = "cpu",
	.reads_tails = true,
	.begin = cpu_begin,
	.get_chunk = cpu_get_chunk,
	.try_chunk = cpu_try_chunk,
	.put_chunk = cpu_put_chunk,
	.take_back = cpu_take_back,
	.share = cpu_share,
	.enter = cpu_enter,
	.join = cpu_join,
	.spill_jointly = cpu_spill_jointly,
	.finish_feed = cpu_finish_feed,
	.read_together = cpu_read_together,
	.is_helped = cpu_is_helped,
	.help_reader = cpu_help_reader,
	.dismiss_helpers = cpu_dismiss_helpers,
	.seek_range = cpu_seek_range,
	.pass_range_end = cpu_pass_range_end,
	.perform = cpu_perform,
	.next = cpu_next,
	.rewind = cpu_rewind,
	.mark = cpu_mark,
	.restore = cpu_restore,
	.has_random_access = cpu_has_random_access,
	.get_stats = cpu_get_stats,
	.end = cpu_end,
};
