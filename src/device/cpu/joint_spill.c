/*
 * device/cpu/joint_spill.c
 *		The processes that feed a sort of the cpu device write what does not fit, and read it, together.
 *
 * README.md tells how a process goes apart, and who reads the runs.  A process puts its chunk before it goes
 * apart, so none is being filled when the last one takes all that are left.
 *
 * All together they never have more than the limit.  What a process takes, and what sorting that takes, is in
 * the limit when it goes apart; until the last one has done so none takes more than that, which may be less
 * than its part.  Only one that has taken next to nothing takes more (shared_chunks_late_memory), which is
 * kept for those that have not entered yet.  Lone workers are not in the limit: each has its part of the
 * sort's memory besides.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "device/cpu/sorter.h"
#include "monitor/progress.h"

/* ---------------------------------------------------------------- memory */

/* What each process may have. */
static Size
equal_part(const SharedChunks *shared)
{
	return shared->limit / shared->processes;
}

/* What this process may have now. */
static Size
limit_now(const CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;
	Size part = equal_part(shared);
	bool all_apart;

	SpinLockAcquire(&shared->base.mutex);
	all_apart = shared->napart == shared->base.nentered;
	SpinLockRelease(&shared->base.mutex);
	return all_apart ? part : Min(part, Max(sorter->held, shared_chunks_late_memory(shared)));
}

/* A process that is held to little at first must not merge in so little for ever. */
static void
set_limit(CpuSorter *sorter, Size limit)
{
	sorter->limit = limit;
	if (sorter->external != NULL)
		external_sort_allow(sorter->external, limit);
}

/* ---------------------------------------------------------------- apart from the others */

/* What is in memory becomes a run. */
static void
write_all(CpuSorter *sorter)
{
	if (sorter->own.nrows > 0)
		cpu_spill(sorter);
	chunk_pool_free_empty(&sorter->own, place_release);
}

/* This process leaves the others' chunks: the number of those that have not, with it. */
static int
begin_to_leave(SharedChunks *shared, const SortKey *key)
{
	int others;

	SpinLockAcquire(&shared->base.mutex);
	if (shared->nleaving == 0)
		shared->peak_memory = shared->memory = shared->joint_memory =
			shared->pool.memory +
			shared_chunks_sort_memory(shared, key, shared->pool.nrows + shared->reserved_rows);
	others = shared->base.nentered - shared->nleaving++;
	SpinLockRelease(&shared->base.mutex);
	return others;
}

/* What all have in memory is what was within the limit when the first one went apart. */
static void
note_held(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;

	sorter->held = sorter->own.memory + sorted_rows_memory(sorter->key, sorter->own.nrows);
	sorter->noted_memory = sorter->held;
	SpinLockAcquire(&shared->base.mutex);
	shared->joint_memory -= sorter->held;
	SpinLockRelease(&shared->base.mutex);
}

/* Once all have gone apart, nothing is left of what was set aside for rows that did not come. */
static void
note_apart(SharedChunks *shared)
{
	SpinLockAcquire(&shared->base.mutex);
	shared->napart++;
	if (shared->napart == shared->base.nentered)
	{
		shared->memory -= shared->joint_memory;
		shared->joint_memory = 0;
	}
	SpinLockRelease(&shared->base.mutex);
}

/* Takes its part of what is in memory, and writes it. */
static void
go_apart(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;
	int nwith = begin_to_leave(shared, sorter->key);

	sorter->apart = true;
	arena_trim(&shared->base.arena, 0);
	sorter->limit = equal_part(shared);
	shared_chunks_collect(shared, nwith, &sorter->own, &sorter->shared_place);
	note_held(sorter);
	write_all(sorter);
	shared_chunks_note_memory(shared, &sorter->noted_memory, 0);
	note_apart(shared);
}

void
joint_spill_go_apart(CpuSorter *sorter)
{
	if (!sorter->apart)
		go_apart(sorter);
	set_limit(sorter, limit_now(sorter));
}

/* ---------------------------------------------------------------- the runs of all */

/* What this process has done so far counts for all, and no more for itself. */
static void
pass_stats_on(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;
	SorterStats *stats = &sorter->stats;

	SpinLockAcquire(&shared->base.mutex);
	sorter_stats_add(&shared->spilled, stats);
	SpinLockRelease(&shared->base.mutex);
	stats->rows = stats->bytes = stats->corrections = stats->disk_bytes = 0;
	stats->runs = 0;
}

/* Can ranges of the runs be read, if that is wanted?  A guess at the order cuts none. */
static bool
has_ranges(const CpuSorter *sorter)
{
	return sorter->shared->read_jointly && !sorter->plain->verified;
}

/*
 * How many runs this process may publish, that all can be read at once, by each of several or by the leader.
 */
static int
most_runs(const CpuSorter *sorter)
{
	const SharedChunks *shared = sorter->shared;

	if (shared == NULL)
		return run_ranges_runs_each(1, sorter->limit);
	return run_ranges_runs_each(shared->base.nentered,
								has_ranges(sorter) ? equal_part(shared) : shared->limit);
}

void
joint_spill_publish(CpuSorter *sorter)
{
	write_all(sorter);
	if (sorter->external != NULL)
		external_sort_publish(sorter->external, most_runs(sorter));
	sorter->external = NULL;
	sorter->published = true;
}

void
joint_spill_finish(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;

	if (!sorter->apart)
		go_apart(sorter);
	set_limit(sorter, equal_part(shared));
	joint_spill_publish(sorter);
	shared_chunks_note_memory(sorter->shared, &sorter->noted_memory, 0);
	pass_stats_on(sorter);
	sort_share_meet(&shared->base);
}

static RunRanges *
open_ranges(CpuSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	if (sorter->ranges == NULL)
	{
		sorter->ranges = run_ranges_open(sorter->files, sorter->shared->base.nentered, sorter->plain,
										 sorter->complete_rows, equal_part(sorter->shared));
		shared_chunks_note_memory(sorter->shared, &sorter->noted_memory, run_ranges_memory(sorter->ranges));
	}
	MemoryContextSwitchTo(old);
	return sorter->ranges;
}

void
joint_spill_seek(CpuSorter *sorter, int range, int nranges)
{
	run_ranges_seek(open_ranges(sorter), range, nranges);
}

/* ---------------------------------------------------------------- the leader reads them all */

/* Counts what those did that have gone apart. */
static void
take_stats(CpuSorter *sorter)
{
	const SharedChunks *shared = sorter->shared;

	sorter_stats_add(&sorter->stats, &shared->spilled);
	sorter_stats_note_memory(&sorter->stats, shared->peak_memory);
}

/* Takes the runs of so many processes, from the first one on, which have so many rows together. */
static void
adopt_published(CpuSorter *sorter, int first, int nprocesses, uint64 rows, SorterStats *stats)
{
	uint64 before = stats->rows;

	external_sort_adopt(sorter->external, sorter->files, first, nprocesses, stats);
	if (stats->rows - before != rows)
		elog(ERROR, "gpusort: sorted runs have " UINT64_FORMAT " of " UINT64_FORMAT " rows",
			 stats->rows - before, rows);
}

/* Merges all runs, with what is in memory. */
static void
merge_runs(CpuSorter *sorter, bool is_sorted, bool overflowed)
{
	SorterStats counted = {0}; /* by those who wrote them (take_stats) */

	if (sorter->ranges != NULL)
		run_ranges_end(sorter->ranges);
	sorter->ranges = NULL;
	if (sorter->shared != NULL)
		sorter->limit = sorter->shared->limit;
	cpu_begin_external(sorter);
	if (is_sorted)
	{
		cpu_add_run(sorter);
		chunk_pool_free_filled(&sorter->own, place_release);
	}
	write_all(sorter);
	if (overflowed)
		adopt_published(sorter, 0, sorter->shared->base.nentered, sorter->shared->spilled.rows, &counted);
	adopt_published(sorter, SORT_SHARE_MAX_PROCESSES, sorter->base.nlone, sorter->base.lone_rows,
					&sorter->stats);
	progress_enter(&sorter->base, PROGRESS_MERGING);
	external_sort_finish(sorter->external);
	sorter_read_merged(&sorter->base, external_sort_rows(sorter->external), sorter->random_access);
}

void
joint_spill_perform(CpuSorter *sorter, bool is_sorted)
{
	bool overflowed = sorter->shared != NULL && sorter->shared->base.overflowed;

	if (overflowed && sorter->base.lone_rows == 0 && has_ranges(sorter))
		joint_spill_seek(sorter, 0, 1);
	else
		merge_runs(sorter, is_sorted, overflowed);
	if (overflowed)
		take_stats(sorter);
}
