/*
 * device/cuda/spill.c
 *		The cuda device's way out when the device's memory is full: runs in temporary files.
 *
 * What is on the device is sorted there and comes back as a sorted run, which goes to a file; a new job takes
 * what was refused, and the sort goes on.  At the end what is on the device becomes the last run, and an
 * external sort merges all of them.  Keys don't come back from the device, nor does the external sort need
 * them where rows hold their sort columns; that is why they keep them.
 *
 * Others may have so much that a job finds no room for a single chunk, or have taken what it had before it
 * was sorted.  Then the cpu device sorts all, from the start; but if rows can't be had again, or there are
 * runs, the refused chunks are sorted in the backend and become a run.
 *
 * A row that is longer than a chunk becomes a run of its own, from memory of the backend.
 *
 * Runs are files/external_sort.c's.  A temporary file that can't be written is PostgreSQL's error and ends
 * the statement: the cpu device would need that space, too.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/limits.h"
#include "base/stopwatch.h"
#include "device/cuda/sorter.h"
#include "monitor/progress.h"

static void
create_external(CudaSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	if (sorter->external == NULL)
		sorter->external = external_sort_create(sorter->key, sorter->request.desc, sorter->limit,
												sorter->request.random_access, &sorter->stats);
	MemoryContextSwitchTo(old);
}

/* Makes room for one more run. */
static void
prepare_external(CudaSorter *sorter)
{
	create_external(sorter);
	if (external_sort_is_full(sorter->external))
		external_sort_merge_full_levels(sorter->external);
}

/* Adds a run to be written. */
static Run *
begin_run(CudaSorter *sorter)
{
	prepare_external(sorter);
	return external_sort_begin_run(sorter->external);
}

/* Writes the sorted rows of the job as a run. */
static bool
write_job(CudaSorter *sorter)
{
	Run *run = begin_run(sorter);
	Stopwatch watch = stopwatch_start();
	MinimalTuple row;

	progress_enter(sorter->whole, PROGRESS_WRITING);
	while ((row = cuda_next_row(sorter)) != NULL)
	{
		if (run->rows % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		run_write_row(run, row);
	}
	external_sort_end_run(sorter->external, run, stopwatch_ms(watch));
	return sorter->failure == NULL;
}

/* A job's chunks are gone when it ends. */
static void
check_no_chunk_is_filled(const CudaSorter *sorter)
{
	for (int i = 0; i < GPUSORTD_MAX_CHUNKS; i++)
	{
		if (sorter->client.chunk[i] == GPUSORTD_CHUNK_TAKEN)
			elog(ERROR, "a chunk is being filled while its job ends");
	}
}

/* Empties the device into a run. */
static bool
spill_job(CudaSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	bool done;

	check_no_chunk_is_filled(sorter);
	done = cuda_sort_job(sorter) && (sorter->nrows == 0 || write_job(sorter));

	MemoryContextSwitchTo(old);
	return done;
}

/* Makes a run of what was refused, in the backend. */
static void
sort_refused(CudaSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	Stopwatch watch = stopwatch_start();
	SortedRows sorted;
	uint64 nrows = 0;

	prepare_external(sorter);
	for (const Chunk *chunk = sorter->refused; chunk != NULL; chunk = chunk->next)
	{
		nrows += chunk->nrows;
		sorter->stats.bytes += chunk->front + chunk->size - chunk->back;
	}
	sorter->stats.rows += nrows;
	sorted_rows_make(&sorted, sorter->key, sorter->refused, nrows);
	sorter->stats.sort_ms += stopwatch_ms(watch);
	external_sort_add_run(sorter->external, &sorted);
	sorted_rows_free(&sorted);
	while (sorter->refused != NULL)
	{
		Chunk *chunk = sorter->refused;

		sorter->refused = chunk->next;
		cuda_free_chunk(chunk);
	}
	MemoryContextSwitchTo(old);
}

bool
cuda_spill(CudaSorter *sorter)
{
	ProgressPhase phase = progress_enter(sorter->whole, PROGRESS_SORTING);

	if (!cuda_share_take_over(sorter) || !cuda_flush(sorter) || !spill_job(sorter))
		return false;
	if (sorter->nrows == 0 && sorter->external == NULL && !sorter->request.fed_once)
		return cuda_fail(sorter, SORT_FAILURE_MEMORY, "the device has no memory for a single chunk");
	if (sorter->nrows == 0 && sorter->refused != NULL)
		sort_refused(sorter);
	progress_enter(sorter->whole, phase);
	return cuda_begin_job(sorter);
}

bool
cuda_finish_external(CudaSorter *sorter)
{
	if (!spill_job(sorter))
		return false;
	cuda_forget_window(sorter);
	gpu_client_close(&sorter->client);
	create_external(sorter);
	if (cuda_share(sorter) != NULL)
		external_sort_adopt(sorter->external, &cuda_share(sorter)->files, cuda_first_apart(sorter),
							sorter->job->napart, &sorter->stats);
	progress_enter(sorter->whole, PROGRESS_MERGING);
	external_sort_finish(sorter->external);
	sorter->stats.method = "external merge";
	return true;
}

/* ---------------------------------------------------------------- rows that are longer than a chunk */

Chunk *
cuda_open_lone_chunk(CudaSorter *sorter, Size size)
{
	Chunk *chunk = MemoryContextAllocZero(sorter->context, sizeof(Chunk));

	chunk->size = TYPEALIGN(8, size);
	chunk->base = MemoryContextAllocHuge(sorter->context, chunk->size);
	chunk->max_rows = 1;
	chunk_set_layout(chunk, sorter->key);
	chunk_reset(chunk);
	sorter->lone = chunk;
	sorter_stats_note_memory(&sorter->stats, sorter->client.memory_bytes + chunk->size);
	return chunk;
}

void
cuda_put_lone_chunk(CudaSorter *sorter)
{
	Chunk *chunk = sorter->lone;
	const char *place = chunk->base + chunk->back;
	Run *run = begin_run(sorter);
	Stopwatch watch = stopwatch_start();

	run_write_row(run, sorter->key->variable ? record_row(place) : (MinimalTuple) place);
	external_sort_end_run(sorter->external, run, stopwatch_ms(watch));
	sorter->stats.rows++;
	sorter->stats.bytes += chunk->front + chunk->size - chunk->back;
	sorter->lone = NULL;
	cuda_free_chunk(chunk);
}
