/*
 * device/cpu/joint_spill.c
 *		The processes that feed a sort of the cpu device write what does not fit, and read it, together.
 *
 * They fill chunks that they share (shared_chunks.h) until one of them finds no room.  From then on each goes
 * apart, when it wants its next chunk or is through with its input: it sorts the rows that are in the chunks
 * that it has filled, writes them as a run, gives these chunks back to the kernel, and goes on with chunks of
 * its own, within an equal part of the memory.  At the end everybody's runs can be read by all, a range of
 * the order each; but where keys only guess at the order the leader merges them alone, and verifies it.
 *
 * All together they never have more than the limit.  What a process has filled, and what sorting that takes,
 * is in the limit when it goes apart; until the last one has done so none takes more than that, which may be
 * less than its part.  Only one that has filled next to nothing until then takes JOINT_LIMIT_MIN.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "device/cpu/joint_spill.h"
#include "monitor/progress.h"

/* Bytes that a process takes at least. */
#define JOINT_LIMIT_MIN ((Size) 128 * 1024)

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
	return all_apart ? part : Min(part, Max(sorter->held, JOINT_LIMIT_MIN));
}

void
joint_spill_note_memory(CpuSorter *sorter, Size bytes)
{
	SharedChunks *shared = sorter->shared;

	SpinLockAcquire(&shared->base.mutex);
	shared->memory += (int64) bytes - (int64) sorter->noted_memory;
	shared->peak_memory = Max(shared->peak_memory, shared->memory);
	SpinLockRelease(&shared->base.mutex);
	sorter->noted_memory = bytes;
}

/* ---------------------------------------------------------------- apart from the others */

/* The chunks that this process has filled are its own from now on. */
static void
take_filled_chunks(CpuSorter *sorter)
{
	ListCell *cell;

	foreach(cell, sorter->filled_chunks)
	{
		Chunk *chunk = lfirst(cell);

		chunk->next = NULL;
		*sorter->chunks_end = chunk;
		sorter->chunks_end = &chunk->next;
		sorter->chunk_memory += chunk->size;
		sorter->nrows += chunk->nrows;
		sorter->stats.rows += chunk->nrows;
		sorter->stats.bytes += chunk_bytes(chunk);
	}
	list_free(sorter->filled_chunks);
	sorter->filled_chunks = NIL;
}

/*
 * What all have in memory is what was within the limit when the first one goes apart; not to the last byte,
 * for sorting the rows of each takes a little more than sorting all of them.
 */
static void
note_held(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;

	sorter->held = sorter->chunk_memory + sorted_rows_memory(sorter->key, sorter->nrows);
	sorter->noted_memory = sorter->held;
	SpinLockAcquire(&shared->base.mutex);
	if (shared->peak_memory == 0)
		shared->peak_memory = shared->memory = shared->joint_memory =
			shared->chunk_memory +
			sorted_rows_memory(sorter->key, shared->filled_rows + shared->reserved_rows);
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

static void
go_apart(CpuSorter *sorter)
{
	sorter->apart = true;
	arena_trim(&sorter->shared->base.arena, 0);
	sorter->limit = equal_part(sorter->shared);
	take_filled_chunks(sorter);
	note_held(sorter);
	if (sorter->nrows > 0)
		cpu_spill(sorter);
	cpu_free_chunks(sorter, &sorter->empty_chunks);
	joint_spill_note_memory(sorter, 0);
	note_apart(sorter->shared);
}

Chunk *
joint_spill_get_chunk(CpuSorter *sorter, Size at_least)
{
	if (!sorter->apart)
		go_apart(sorter);
	sorter->limit = limit_now(sorter);
	return cpu_get_own_chunk(sorter, at_least);
}

/* ---------------------------------------------------------------- the runs of all */

/* What this process has done so far counts for all, and no more for itself. */
static void
pass_stats_on(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;
	SorterStats *stats = &sorter->stats;

	SpinLockAcquire(&shared->base.mutex);
	shared->spilled_rows += stats->rows;
	shared->spilled_bytes += stats->bytes;
	shared->corrections += stats->corrections;
	shared->disk_bytes += stats->disk_bytes;
	shared->runs += stats->runs;
	SpinLockRelease(&shared->base.mutex);
	stats->rows = stats->bytes = stats->corrections = stats->disk_bytes = 0;
	stats->runs = 0;
}

void
joint_spill_finish(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;

	if (!sorter->apart)
		go_apart(sorter);
	sorter->limit = equal_part(shared);
	if (sorter->nrows > 0)
		cpu_spill(sorter);
	cpu_free_chunks(sorter, &sorter->empty_chunks);
	cpu_begin_external(sorter);
	external_sort_publish(sorter->external, run_ranges_runs_each(shared->base.nentered, equal_part(shared)));
	sorter->external = NULL;
	sorter->published = true;
	joint_spill_note_memory(sorter, 0);
	pass_stats_on(sorter);
	sort_share_meet(&shared->base);
}

static RunRanges *
open_ranges(CpuSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	if (sorter->ranges == NULL)
	{
		sorter->ranges = run_ranges_open(sorter->files, sorter->shared->base.nentered, sorter->key,
										 equal_part(sorter->shared));
		joint_spill_note_memory(sorter, run_ranges_memory(sorter->ranges));
	}
	MemoryContextSwitchTo(old);
	return sorter->ranges;
}

void
joint_spill_seek(CpuSorter *sorter, int range, int nranges)
{
	run_ranges_seek(open_ranges(sorter), range, nranges);
}

/* Merges the runs, whose order is verified so, with what was fed after they were published. */
static void
merge_with_later_rows(CpuSorter *sorter)
{
	if (sorter->nrows > 0)
		cpu_spill(sorter);
	cpu_free_chunks(sorter, &sorter->empty_chunks);
	if (sorter->ranges != NULL)
		run_ranges_end(sorter->ranges);
	sorter->ranges = NULL;
	cpu_begin_external(sorter);
	external_sort_adopt(sorter->external, sorter->files, sorter->shared->base.nentered);
	external_sort_finish(sorter->external);
}

void
joint_spill_perform(CpuSorter *sorter)
{
	const SharedChunks *shared = sorter->shared;
	SorterStats *stats = &sorter->stats;

	if (sorter->nrows > 0 || sorter->external != NULL || sorter->key->verified)
		merge_with_later_rows(sorter);
	else
		joint_spill_seek(sorter, 0, 1);
	stats->rows += shared->spilled_rows;
	stats->bytes += shared->spilled_bytes;
	stats->corrections += shared->corrections;
	stats->disk_bytes += shared->disk_bytes;
	stats->runs += shared->runs;
	sorter_stats_note_memory(stats, shared->peak_memory);
}
