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
#include "device/cpu/sorter.h"
#include "files/shared_runs.h"
#include "monitor/progress.h"
#include "sort/value_bound.h"

/* ---------------------------------------------------------------- the device */

static CpuSorter *
create_sorter(const SortKey *key)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cpu device", ALLOCSET_DEFAULT_SIZES);
	CpuSorter *sorter = MemoryContextAllocZero(context, sizeof(CpuSorter));

	sorter->base.device = &sort_device_cpu;
	sorter->key = sorter->plain = key;
	sorter->context = context;
	sorter->stats.processes = 1;
	sorter->base.process = -1;
	cpu_open_own_place(sorter);
	sorter->base.places = &sorter->own_place;
	return sorter;
}

/* ---------------------------------------------------------------- the place that processes share */

static Chunk *
take_shared(Place *place, int part, Size at_least)
{
	CpuSorter *sorter = (CpuSorter *) place->owner;
	Chunk *chunk = sorter->apart ? NULL : shared_chunks_take(sorter->shared, sorter->key, at_least);

	if (chunk != NULL)
		chunk->place = place;
	return chunk;
}

static void
put_shared(Chunk *chunk)
{
	const CpuSorter *sorter = chunk->place->owner;

	shared_chunks_put(sorter->shared, &sorter->base, chunk);
}

static bool
drain_shared(Place *place, int part, Size at_least)
{
	CpuSorter *sorter = (CpuSorter *) place->owner;

	if (!sorter->apart && shared_chunks_cut_for_room(sorter->shared, &sorter->base))
		return true;
	if (!sorter->apart)
		sort_share_note_overflow(&sorter->shared->base);
	joint_spill_go_apart(sorter);
	return false;
}

static void
discard_shared(Chunk *chunk)
{
	arena_discard(chunk->base, chunk->size);
}

static void
share_chunks(CpuSorter *sorter, SharedChunks *shared)
{
	if (shared == NULL)
		return;
	sorter->shared = shared;
	sorter->base.share = &shared->base;
	sorter->shared_place =
		(Place){sorter, &sorter->own_place, take_shared, put_shared, drain_shared, discard_shared};
	sorter->base.places = &sorter->shared_place;
}

/* ---------------------------------------------------------------- beginning */

/* Others may feed it; those that can't write runs for this one, the leader. */
static void
let_join(CpuSorter *sorter, const SortRequest *request)
{
	sorter->files = sorter->base.files = palloc(sizeof(FileSet));
	file_set_init(sorter->files);
	sorter->base.lone_memory = request->memory.limit / request->processes.n;
	share_chunks(sorter, shared_chunks_create(sorter->limit, request->memory.groups + request->memory.values,
											  request->processes.n, request->processes.help));
	if (sorter->shared == NULL)
		return;
	sorter->shared->read_jointly = request->processes.read_jointly;
	sorter->shared->few_read = request->rows.few_read;
}

static Sorter *
cpu_begin(const SortRequest *request)
{
	CpuSorter *sorter = create_sorter(request->key);
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	sorter->complete_rows = request->rows.complete ? request->rows.desc : NULL;
	sorter->limit = Max(request->memory.limit, SORT_MEMORY_MIN);
	sorter->process_memory = request->memory.of_each;
	sorter->planned = request->processes.n;
	sorter->random_access = request->rows.random_access;
	if (request->processes.share)
		let_join(sorter, request);
	sorter->base.bound = sort_share_create_bound(sorter->base.share, request);
	cpu_begin_coding(sorter, sort_share_create_coded(sorter->base.share, request));
	sorter->base.groups = sort_share_create_groups(sorter->base.share, request, sorter->key);
	sorter->base.values = sort_share_create_values(sorter->base.share, request, sorter->key);
	sorter->stats.rows_wanted = sorter->base.bound != NULL	  ? request->rows.wanted
								: sorter->base.values != NULL ? request->rows.wanted_by_value
															  : 0;
	MemoryContextSwitchTo(old);
	return &sorter->base;
}

/* ---------------------------------------------------------------- several processes */

/* Of the processes that were planned some don't come, and don't bring their memory. */
static void
take_missing(CpuSorter *sorter, int processes)
{
	Size missing = sorter->process_memory * Max(0, sorter->planned - processes);

	sorter->limit = Max(sorter->limit, missing + SORT_MEMORY_MIN) - missing;
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
		sorter->limit = Max(sorter->limit / processes, SORT_MEMORY_MIN);
		return true;
	}
	if (!sorter_enter(base, processes))
		return false; /* those who sort together now go by the limit as it is */
	note_processes(sorter, processes);
	return true;
}

Sorter *
sort_cpu_begin_runs(const SortKey *key, SortKey *coded, TupleDesc complete_rows, Size memory, FileSet *files,
					int number)
{
	CpuSorter *sorter = create_sorter(key);

	sorter->complete_rows = complete_rows;
	sorter->limit = Max(memory, SORT_MEMORY_MIN);
	sorter->files = files;
	sorter->base.process = number;
	sorter->apart = true;
	cpu_begin_coding(sorter, coded);
	return &sorter->base;
}

/* In a worker: its keys have codes if the leader's have. */
static void
join_coding(CpuSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	if (sorter->base.share->tables != NULL)
		cpu_begin_coding(sorter,
						 sort_key_create_coded((SortKey *) sorter->plain, sorter->base.share->tables));
	MemoryContextSwitchTo(old);
}

static Sorter *
cpu_join(SortTeam *team, SortShare *share, const SortKey *key, TupleDesc complete_rows)
{
	CpuSorter *sorter;
	int process;

	if (share == NULL)
		return sort_cpu_begin_runs(key, NULL, complete_rows, team->memory, &team->files,
								   SORT_SHARE_MAX_PROCESSES + sort_team_add_lone(team));
	process = sort_share_enter(share);
	if (process < 0)
		return NULL;
	sorter = create_sorter(key);
	sorter->base.bound = share->bound;
	sorter->base.groups = share->groups;
	sorter->base.values = share->values;
	sorter->complete_rows = complete_rows;
	sorter->base.process = process;
	sorter->files = &team->files;
	share_chunks(sorter, (SharedChunks *) share);
	join_coding(sorter);
	return &sorter->base;
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
	sorter_note_fed(base);
	if (!sort_share_wait_all_fed(share))
		return;
	cpu_settle_coding(sorter);
	if (share->overflowed)
	{
		joint_spill_finish(sorter);
		return;
	}
	progress_enter(base, PROGRESS_SORTING);
	watch = stopwatch_start();
	old = MemoryContextSwitchTo(sorter->context);
	joint_sort(sorter->shared, sorter->base.process, sorter->key, base);
	MemoryContextSwitchTo(old);
	sorter->stats.sort_ms += share->processes[sorter->base.process].sort_ms = stopwatch_ms(watch);
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
		base->nrows = sorter->shared->spilled.rows;
		/* a guess at the order cuts no ranges */
		return !sorter->plain->verified;
	}
	if (!sorter->shared->is_sorted)
		return false;
	joint_sort_rows(sorter->shared, sorter->key, &sorter->sorted);
	sorter_begin_reading(base, sorter->sorted.nrows);
	return true;
}

static void
cpu_seek_range(Sorter *base, int range, int nranges)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->published)
		joint_spill_seek(sorter, range, nranges);
	else
		sorter_seek_range(base, range, nranges);
}

static void
cpu_pass_range_end(Sorter *base)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->published)
		run_ranges_pass_end(sorter->ranges);
	else
		sorter_pass_range_end(base);
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

	sort_share_check_all_fed(&shared->base);
	if (shared->reserved_rows != 0)
		elog(ERROR, "gpusort: a chunk of a parallel sort was not put");
	sorter->stats.processes = Max(shared->base.nentered, 1);
	cpu_settle_coding(sorter);
	if (shared->is_sorted)
		take_sorted(sorter);
	shared_chunks_collect(shared, 1, &sorter->own, &sorter->shared_place);
	if (shared->is_sorted)
		cpu_count_rows(sorter);
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
		sorter_begin_reading(base, sorter->sorted.nrows);
		sorter->stats.method = sorter->sorted.method;
	}
	MemoryContextSwitchTo(old);
	return true;
}

/* ---------------------------------------------------------------- rows */

static inline MinimalTuple
next_in_memory(CpuSorter *sorter, bool forward)
{
	int64 end = sorter->base.range_end;
	int64 position = sorter->base.position + (forward ? 1 : -1);

	sorter->base.position = Max(-1, Min(end, position));
	if (position < 0 || position >= end)
		return NULL;
	if (sorter->reader.windows != NULL && forward)
	{
		MinimalTuple row = window_reader_next(&sorter->reader, position);

		if (row != NULL && !sorter->random_access)
			sorter->base.position +=
				window_reader_hand_over(&sorter->reader, &sorter->base.at, &sorter->base.at_end);
		if (row != NULL)
			return row;
	}
	sorted_rows_settle(&sorter->sorted, position);
	sorted_rows_prefetch(&sorter->sorted, position, forward ? 1 : -1);
	return sorted_rows_row(&sorter->sorted, position);
}

static MinimalTuple
cpu_next(Sorter *base, bool forward)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (base->merged != NULL)
		return merged_rows_next(base->merged, forward);
	if (sorter->ranges != NULL)
		return run_ranges_next(sorter->ranges);
	return next_in_memory(sorter, forward);
}

static int64
cpu_count_keys(Sorter *base, int64 first, int64 end)
{
	CpuSorter *sorter = (CpuSorter *) base;

	if (sorter->key->verified || base->merged != NULL || sorter->ranges != NULL ||
		sorter->sorted.on_demand != NULL)
		return -1;
	return sorted_rows_count_keys(&sorter->sorted, first, end);
}

/* ---------------------------------------------------------------- statistics, end */

static void
get_coding(const CpuSorter *sorter, SorterStats *stats)
{
	if (sorter->tables == NULL)
		return;
	stats->values = sort_key_tables_values(sorter->tables);
	stats->value_bytes = sort_key_tables_bytes(sorter->tables);
	stats->coding_ended = sort_key_tables_ended(sorter->tables);
	stats->values_full = stats->coding_ended && sort_key_tables_full(sorter->tables);
	stats->peak_memory += stats->value_bytes;
}

static void
cpu_get_stats(const Sorter *base, SorterStats *stats)
{
	const CpuSorter *sorter = (const CpuSorter *) base;

	*stats = sorter->stats;
	stats->rows_helped = sorter->reader.rows_read;
	get_coding(sorter, stats);
	if (base->bound != NULL)
		stats->rows_dropped = bound_dropped(base->bound);
	else if (base->values != NULL)
		stats->rows_dropped = pg_atomic_read_u64(&base->values->dropped);
	sorter_get_groups(base, stats);
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
	.kind = DEVICE_CPU,
	.properties = SORT_READS_TAILS,
	.count_parts = sorter_has_one_part,
	.begin = cpu_begin,
	.join = cpu_join,
	.enter = cpu_enter,
	.end_coding = cpu_end_coding,
	.finish_feed = cpu_finish_feed,
	.sort = cpu_sort,
	.sort_together = cpu_sort_together,
	.help = cpu_help,
	.dismiss = cpu_dismiss,
	.next = cpu_next,
	.count_keys = cpu_count_keys,
	.seek_range = cpu_seek_range,
	.pass_range_end = cpu_pass_range_end,
	.get_stats = cpu_get_stats,
	.end = cpu_end,
};
