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
#include "device/cuda/on_card.h"
#include "device/cuda/rows.h"
#include "monitor/progress.h"

static void
create_external(CudaCard *card)
{
	MemoryContext old = MemoryContextSwitchTo(card->context);

	if (card->external == NULL)
		card->external = external_sort_create(card->key, card->request.desc, card->limit,
											  card->request.random_access, &card->stats);
	MemoryContextSwitchTo(old);
}

/* Makes room for one more run. */
static void
prepare_external(CudaCard *card)
{
	create_external(card);
	if (external_sort_is_full(card->external))
		external_sort_merge_full_generations(card->external);
}

/* Writes the sorted rows of the job as a run. */
static bool
write_job(CudaCard *card)
{
	Stopwatch watch;
	MinimalTuple row;
	Run *run;

	prepare_external(card);
	run = external_sort_begin_run(card->external);
	watch = stopwatch_start();
	progress_enter(card->whole, PROGRESS_WRITING);
	while ((row = cuda_next_row(card)) != NULL)
	{
		if (run->rows % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		run_write_row(run, row);
	}
	external_sort_end_run(card->external, run, stopwatch_ms(watch));
	return card->failure == NULL;
}

/* A job's chunks are gone when it ends. */
static void
check_no_chunk_is_filled(const CudaCard *card)
{
	for (int i = 0; i < GPUSORTD_MAX_CHUNKS; i++)
	{
		if (card->client.chunk[i] == GPUSORTD_CHUNK_TAKEN)
			elog(ERROR, "a chunk is being filled while its job ends");
	}
}

/* Empties the device into a run. */
static bool
spill_job(CudaCard *card)
{
	MemoryContext old = MemoryContextSwitchTo(card->context);
	bool done;

	check_no_chunk_is_filled(card);
	done = cuda_sort_job(card) && (card->nrows == 0 || write_job(card));

	MemoryContextSwitchTo(old);
	return done;
}

/* Makes a run of these chunks' rows in the backend, and frees the chunks. */
static void
sort_chunks(CudaCard *card, Chunk **chunks)
{
	MemoryContext old = MemoryContextSwitchTo(card->context);
	Stopwatch watch = stopwatch_start();
	SortedRows sorted;
	uint64 nrows = 0;

	prepare_external(card);
	for (const Chunk *chunk = *chunks; chunk != NULL; chunk = chunk->next)
	{
		nrows += chunk->nrows;
		card->stats.bytes += chunk_bytes(chunk);
	}
	card->stats.rows += nrows;
	sorted_rows_make(&sorted, card->key, *chunks, nrows);
	card->stats.sort_ms += stopwatch_ms(watch);
	external_sort_add_run(card->external, &sorted);
	sorted_rows_free(&sorted);
	while (*chunks != NULL)
		cuda_free_first(chunks);
	MemoryContextSwitchTo(old);
}

bool
cuda_spill(CudaCard *card)
{
	ProgressPhase phase = progress_enter(card->whole, PROGRESS_SORTING);

	if (!cuda_share_take_over(card) || !cuda_flush(card) || !spill_job(card))
		return false;
	if (card->nrows == 0 && card->external == NULL && !card->request.fed_once)
		return cuda_fail(card, SORT_FAILURE_MEMORY, "the device has no memory for a single chunk");
	if (card->nrows == 0 && card->refused != NULL)
		sort_chunks(card, &card->refused);
	progress_enter(card->whole, phase);
	return cuda_begin_job(card);
}

bool
cuda_finish_external(CudaCard *card)
{
	if (!spill_job(card))
		return false;
	cuda_forget_window(card);
	gpu_client_close(&card->client);
	create_external(card);
	if (card->share != NULL)
		external_sort_adopt(card->external, &card->share->files, 0, card->share->napart, &card->stats);
	progress_enter(card->whole, PROGRESS_MERGING);
	external_sort_finish(card->external);
	card->stats.method = "external merge";
	return true;
}

/* ---------------------------------------------------------------- rows that are longer than a chunk */

Chunk *
cuda_open_lone_chunk(CudaCard *card, Size size)
{
	Chunk *chunk = MemoryContextAllocZero(card->context, sizeof(Chunk));

	chunk->size = TYPEALIGN(8, size);
	chunk->base = MemoryContextAllocHuge(card->context, chunk->size);
	chunk->max_rows = 1;
	chunk_set_layout(chunk, card->key);
	chunk_reset(chunk);
	card->lone = chunk;
	sorter_stats_note_memory(&card->stats, card->client.memory_bytes + chunk->size);
	return chunk;
}

void
cuda_put_lone_chunk(CudaCard *card)
{
	sort_chunks(card, &card->lone);
}
