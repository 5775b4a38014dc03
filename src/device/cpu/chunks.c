/*
 * device/cpu/chunks.c
 *		A place of the cpu device: the process's own memory within the limit, and runs in temporary files past
 *		it.
 *
 * Chunks are counted as they are allocated; a chunk's max_rows keeps room for the arrays that sorting takes.
 * Where several processes feed, their chunks come from shared memory (shared_chunks.c), the place before this
 * one, until one of them finds no room.
 *
 * All here belongs to the sorter's memory context, and runs to the resource owner or the FileSet
 * (files/run.h).  A temporary file that can't be written is PostgreSQL's error, raised out of cpu_spill.
 */
#include "postgres.h"

#include "base/stopwatch.h"
#include "device/cpu/sorter.h"
#include "memory/alloc.h"
#include "monitor/progress.h"

/*
 * The first chunk is small, for the sake of small sorts; each next one is as large as all before, up to the
 * largest.
 */
#ifndef CHUNK_SIZE_MIN
#define CHUNK_SIZE_MIN ((Size) 64 * 1024)
#define CHUNK_SIZE_MAX ((Size) 32 * 1024 * 1024)
#endif

/* A limit shrinks the largest chunk to one in so many, so that the last one wastes little. */
#define CHUNKS_PER_LIMIT 16

/* A chunk that could take fewer rows than this is not begun. */
#define CHUNK_ROWS_MIN 32

/* This process has so many bytes of chunks and of what sorts them. */
static void
note_memory(CpuSorter *sorter, Size bytes)
{
	sorter_stats_note_memory(&sorter->stats, bytes);
	if (sorter->apart && sorter->shared != NULL)
		shared_chunks_note_memory(sorter->shared, &sorter->noted_memory, bytes);
}

/* ---------------------------------------------------------------- chunks */

/* How many rows could be sorted with the chunks there are and one more of so many bytes? */
static uint64
rows_within_limit(const CpuSorter *sorter, Size more_chunk)
{
	Size used = sorter->own.memory + more_chunk +
				(sorter->external != NULL ? external_sort_memory(sorter->external) : 0);
	Size left = sorter->limit > used ? sorter->limit - used : 0;
	uint64 rows = left / (sorted_rows_memory(sorter->key, 1 << 20) >> 20);

	while (rows > 0 && sorted_rows_memory(sorter->key, rows) > left)
		rows -= rows / 64 + 1;
	return rows;
}

static Chunk *
make_chunk(CpuSorter *sorter, Size size)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	Chunk *chunk = palloc0(sizeof(Chunk));

	chunk->place = &sorter->own_place;
	chunk->size = size;
	chunk->base = huge_alloc(chunk->size);
	chunk_set_layout(chunk, sorter->key);
	chunk_reset(chunk);
	sorter->own.memory += chunk->size;
	MemoryContextSwitchTo(old);
	return chunk;
}

static void
free_chunk(Chunk *chunk)
{
	huge_free(chunk->base);
	pfree(chunk);
}

/* Size of the next chunk to allocate. */
static Size
next_size(const CpuSorter *sorter, Size at_least)
{
	return chunk_pool_next_size(&sorter->own, CHUNK_SIZE_MIN,
								Min(CHUNK_SIZE_MAX, sorter->limit / CHUNKS_PER_LIMIT), 1, at_least);
}

/* ---------------------------------------------------------------- sorting and spilling */

static void
verify_order(CpuSorter *sorter) /* only plain keys guess */
{
	ProgressPhase phase = progress_enter(&sorter->base, PROGRESS_VERIFYING);

	sorted_rows_verify(&sorter->sorted, sorter->plain);
	sorter->stats.corrections += sorter->sorted.corrected;
	progress_enter(&sorter->base, phase);
}

void
cpu_count_rows(CpuSorter *sorter)
{
	sorter->stats.rows += sorter->own.nrows;
	for (const Chunk *chunk = sorter->own.filled; chunk != NULL; chunk = chunk->next)
		sorter->stats.bytes += chunk_bytes(chunk);
}

void
cpu_sort_chunks(CpuSorter *sorter)
{
	Stopwatch watch = stopwatch_start();

	chunk_pool_close(&sorter->own);
	cpu_count_rows(sorter);
	cpu_rank_chunks(sorter);
	sorted_rows_make(&sorter->sorted, cpu_key_of_chunks(sorter), sorter->own.filled, sorter->own.nrows);
	if (cpu_key_of_chunks(sorter)->verified)
		verify_order(sorter);
	note_memory(sorter, sorter->own.memory + sorted_rows_used(&sorter->sorted));
	sorter->stats.sort_ms += stopwatch_ms(watch);
}

void
cpu_begin_external(CpuSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	if (sorter->external == NULL)
	{
		sorter->external = external_sort_create(sorter->plain, sorter->complete_rows, sorter->limit,
												sorter->random_access, &sorter->stats);
		if (sorter->apart && !sorter->published)
			external_sort_share(sorter->external, sorter->files, sorter->base.process);
	}
	MemoryContextSwitchTo(old);
}

/* Writes the filled chunks, which all have one kind of keys. */
static void
write_chunks(CpuSorter *sorter)
{
	ProgressPhase phase = progress_enter(&sorter->base, PROGRESS_SORTING);

	cpu_sort_chunks(sorter);
	progress_enter(&sorter->base, PROGRESS_WRITING);
	cpu_add_run(sorter);
	sorted_rows_free(&sorter->sorted);
	note_memory(sorter, sorter->own.memory);
	chunk_pool_empty(&sorter->own);
	progress_enter(&sorter->base, phase);
}

/* Merges runs if there is no room for one more. */
static void
merge_if_full(CpuSorter *sorter)
{
	if (!external_sort_is_full(sorter->external))
		return;
	chunk_pool_free_empty(&sorter->own, place_release);
	progress_enter(&sorter->base, PROGRESS_MERGING);
	external_sort_merge_full_generations(sorter->external);
}

void
cpu_spill(CpuSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	ProgressPhase phase = progress_enter(&sorter->base, PROGRESS_SORTING);
	Chunk *plain = NULL;

	cpu_begin_external(sorter);
	chunk_pool_close(&sorter->own);
	if (sorter->tables != NULL)
		plain = chunk_pool_take_filled(&sorter->own, false);
	if (sorter->own.nrows > 0)
		write_chunks(sorter);
	if (plain != NULL)
	{
		merge_if_full(sorter);
		for (Chunk *next; plain != NULL; plain = next)
		{
			next = plain->next;
			chunk_pool_add(&sorter->own, plain);
		}
		write_chunks(sorter);
	}
	merge_if_full(sorter);
	progress_enter(&sorter->base, phase);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- the place */

/* Is there room for a few rows more, with one more chunk of so many bytes? */
static bool
has_room(const CpuSorter *sorter, Size more_chunk)
{
	return sorter->own.nrows == 0 ||
		   rows_within_limit(sorter, more_chunk) >= sorter->own.nrows + CHUNK_ROWS_MIN;
}

/* A chunk with room, partly filled or of an earlier run; NULL: there is none. */
static Chunk *
take_open(CpuSorter *sorter, Size at_least)
{
	Chunk *chunk = chunk_pool_take_open(&sorter->own, at_least);

	if (chunk != NULL && chunk->nrows == 0)
		chunk_set_layout(chunk, sorter->key);
	if (chunk == NULL || chunk->nrows > 0 || has_room(sorter, 0))
		return chunk;
	chunk_pool_add_open(&sorter->own, chunk);
	return NULL;
}

static Chunk *
make_next_chunk(CpuSorter *sorter, Size at_least)
{
	Size size = next_size(sorter, at_least);
	Chunk *chunk;

	if (!has_room(sorter, size))
		return NULL;
	/* a row wider than any chunk so far: its chunk may take the place of the others */
	if (sorter->own.memory + size > sorter->limit)
		chunk_pool_free_empty(&sorter->own, place_release);
	chunk = make_chunk(sorter, size);
	note_memory(sorter, sorter->own.memory);
	return chunk;
}

/* The chunk may get as many rows as can be sorted with it, one at least. */
static Chunk *
take_chunk(Place *place, int part, Size at_least)
{
	CpuSorter *sorter = (CpuSorter *) place->owner;
	Chunk *chunk = take_open(sorter, at_least);
	uint64 rows;

	if (chunk == NULL)
		chunk = make_next_chunk(sorter, at_least);
	if (chunk == NULL)
		return NULL;
	rows = rows_within_limit(sorter, 0);
	chunk->max_rows = Max(rows > sorter->own.nrows ? rows - sorter->own.nrows : 0, chunk->nrows + 1);
	return chunk;
}

/* Cuts out rows that can't be wanted any more, if there are so many that this may be worth it. */
static bool
cut(CpuSorter *sorter, uint64 at_least)
{
	uint64 nrows = sorter->own.nrows;
	Chunk *chunks;

	if (nrows < at_least)
		return false;
	chunks = chunk_pool_take_all(&sorter->own);
	chunks_cut(chunks, sorter->base.bound, sorter->base.group_filter);
	chunk_pool_put_cut(&sorter->own, chunks);
	return sorter->own.nrows < nrows;
}

static void
put_chunk(Chunk *chunk)
{
	CpuSorter *sorter = (CpuSorter *) chunk->place->owner;
	const SortBound *bound = sorter->base.bound;

	chunk_pool_add(&sorter->own, chunk);
	if (bound != NULL)
		(void) cut(sorter, bound_rows_to_cut(bound, sorter->own.cut_rows));
	else if (sorter_may_cut(&sorter->base, &sorter->own, false))
		(void) cut(sorter, 1);
}

static bool
drain(Place *place, int part, Size at_least)
{
	CpuSorter *sorter = (CpuSorter *) place->owner;

	if ((sorter->base.bound == NULL && !sorter_may_cut(&sorter->base, &sorter->own, true)) ||
		!cut(sorter, bound_rows_to_cut_for_room(sorter->own.cut_rows)))
		cpu_spill(sorter);
	return true;
}

void
cpu_open_own_place(CpuSorter *sorter)
{
	chunk_pool_init(&sorter->own);
	sorter->own_place =
		(Place){.owner = sorter, .take = take_chunk, .put = put_chunk, .drain = drain, .release = free_chunk};
}
