/*
 * device/cuda/spill.c
 *		The cuda device's way out when the device's memory is full: runs in temporary files.
 *
 * The first process has what is on the device sorted there.  It comes back as a sorted run, which goes to a
 * file; a new job takes the next chunks, and the sort goes on.  At the end what is on the device becomes the
 * last run, and an external sort merges all of them.  Keys don't come back from the device, nor does the
 * external sort need them where rows hold their sort columns; that is why they keep them.
 *
 * The other processes, and rows that a job can't take, go another way: each process has a sorter of the cpu
 * device that makes runs of them (the place `apart`), which the first process merges with its own.  Such rows
 * are those of chunks that the device has refused, and those that are longer than a chunk.
 *
 * Others may have so much that a job finds no room for a single chunk.  Then the cpu device sorts all, from
 * the start; but if rows can't be had again, or there are runs, the refused rows become runs as above.
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
#include "files/external_sort.h"
#include "files/shared_runs.h"
#include "monitor/progress.h"

/* ---------------------------------------------------------------- rows that find no room */

/* Of a sort's memory, where one process sorts and merges what the device has not. */
#define RUN_SORTER_SHARE 4

void
cuda_runs_init(CudaRuns *runs, Size memory)
{
	file_set_init(&runs->files);
	runs->memory = memory;
	pg_atomic_init_u32(&runs->n, 0);
}

/* What makes runs of this process's rows. */
static void
begin_run_sorter(CudaCard *card)
{
	MemoryContext old = MemoryContextSwitchTo(card->context);

	if (card->runs == NULL)
	{
		card->runs = palloc(sizeof(CudaRuns));
		cuda_runs_init(card->runs, card->limit / RUN_SORTER_SHARE);
	}
	if (card->share != NULL)
		card->share->incomplete = true;
	card->run_sorter =
		sort_cpu_begin_runs(card->key, card->coded, card->request.rows.desc, card->runs->memory,
							&card->runs->files, pg_atomic_fetch_add_u32(&card->runs->n, 1));
	MemoryContextSwitchTo(old);
}

Chunk *
cuda_take_apart(Place *place, int part, Size at_least)
{
	CudaCard *card = (CudaCard *) place->owner;

	if (card->run_sorter == NULL)
		begin_run_sorter(card);
	return sorter_get_chunk(card->run_sorter, 0, at_least);
}

void
cuda_publish_runs(CudaCard *card)
{
	SorterStats stats;

	if (card->run_sorter == NULL)
		return;
	sort_device_cpu.finish_feed(card->run_sorter);
	sort_device_cpu.get_stats(card->run_sorter, &stats);
	sorter_stats_note_memory(&card->stats, card->client.memory_bytes + stats.peak_memory);
	sort_device_cpu.end(card->run_sorter);
	card->run_sorter = NULL;
}

bool
cuda_has_runs(const CudaCard *card)
{
	return card->runs != NULL && pg_atomic_read_u32(&card->runs->n) > card->first_run_sorter;
}

/* ---------------------------------------------------------------- jobs */

static void
create_external(CudaCard *card)
{
	if (card->external == NULL)
		card->external = external_sort_create(card->key, card->request.rows.desc, card->limit,
											  card->request.rows.random_access, &card->stats);
}

/* Writes the sorted rows of the job as a run. */
static bool
write_job(CudaCard *card)
{
	Stopwatch watch;
	MinimalTuple row;
	Run *run;

	if (external_sort_is_full(card->external))
		external_sort_merge_full_generations(card->external);
	run = external_sort_begin_run(card->external);
	watch = stopwatch_start();
	progress_enter(card->whole, PROGRESS_WRITING);
	while ((row = sorter_next(&card->base, true)) != NULL)
	{
		if (run->rows % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		run_write_row(run, row);
	}
	external_sort_end_run(card->external, run, stopwatch_ms(watch));
	return card->base.failure == NULL;
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
	done = cuda_sort_job(card);
	if (done && card->base.nrows == 0 && card->has_refused && card->external == NULL &&
		!card->request.rows.fed_once)
		done = cuda_fail(card, SORT_FAILURE_MEMORY, "the device has no memory for a single chunk");
	if (done)
		create_external(card);
	if (done && card->base.nrows > 0)
		done = write_job(card);
	MemoryContextSwitchTo(old);
	return done;
}

bool
cuda_spill(CudaCard *card)
{
	ProgressPhase phase = progress_enter(card->whole, PROGRESS_SORTING);

	if (!cuda_share_take_over(card) || !cuda_flush(card) || !spill_job(card))
		return false;
	progress_enter(card->whole, phase);
	return cuda_begin_job(card);
}

bool
cuda_finish_external(CudaCard *card)
{
	if (!spill_job(card))
		return false;
	gpu_client_close(&card->client);
	cuda_publish_runs(card);
	if (cuda_has_runs(card))
		external_sort_adopt(card->external, &card->runs->files, card->first_run_sorter,
							pg_atomic_read_u32(&card->runs->n) - card->first_run_sorter, &card->stats);
	progress_enter(card->whole, PROGRESS_MERGING);
	external_sort_finish(card->external);
	sorter_read_merged(&card->base, external_sort_rows(card->external), card->request.rows.random_access);
	card->stats.method = "external merge";
	return true;
}
