/*
 * device/cpu/chunks.c
 *		The cpu device's memory: chunks within the limit, and runs in temporary files past it.
 *
 * Chunks are counted as they are allocated; a chunk's max_rows keeps room for the arrays that sorting takes.
 * Where several processes feed, their chunks come from shared memory (shared_chunks.c) until one of them
 * finds no room.
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
 * The first chunk is small, for the sake of small sorts; each next one is twice as large, up to the largest.
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
	Size used = sorter->chunk_memory + more_chunk +
				(sorter->external != NULL ? external_sort_memory(sorter->external) : 0);
	Size left = sorter->limit > used ? sorter->limit - used : 0;
	uint64 rows = left / (sorted_rows_memory(sorter->key, 1 << 20) >> 20);

	while (rows > 0 && sorted_rows_memory(sorter->key, rows) > left)
		rows -= rows / 64 + 1;
	return rows;
}

static Chunk *
chunk_create(CpuSorter *sorter, Size size)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	Chunk *chunk = palloc0(sizeof(Chunk));

	chunk->size = TYPEALIGN_DOWN(8, size);
	chunk->base = huge_alloc(chunk->size);
	chunk_set_layout(chunk, sorter->key);
	sorter->chunk_memory += chunk->size;
	MemoryContextSwitchTo(old);
	return chunk;
}

static void
chunk_free(CpuSorter *sorter, Chunk *chunk)
{
	sorter->chunk_memory -= chunk->size;
	if (shared_chunks_own(sorter->shared, chunk))
	{
		arena_discard(chunk->base, chunk->size);
		return;
	}
	huge_free(chunk->base);
	pfree(chunk);
}

void
cpu_free_chunks(CpuSorter *sorter, Chunk **list)
{
	while (*list != NULL)
	{
		Chunk *chunk = *list;

		*list = chunk->next;
		chunk_free(sorter, chunk);
	}
}

/* An empty chunk left over from an earlier run that is large enough, or NULL. */
static Chunk *
take_empty_chunk(CpuSorter *sorter, Size at_least)
{
	for (Chunk **link = &sorter->empty_chunks; *link != NULL; link = &(*link)->next)
	{
		Chunk *chunk = *link;

		if (chunk->size >= at_least)
		{
			*link = chunk->next;
			return chunk;
		}
	}
	return NULL;
}

/* Size of the next chunk to allocate. */
static Size
chunk_size(const CpuSorter *sorter, Size at_least)
{
	return Max(Max(sorter->next_chunk_size, CHUNK_SIZE_MIN), TYPEALIGN(8, at_least));
}

static void
grow_chunk_size(CpuSorter *sorter)
{
	Size largest = Max(CHUNK_SIZE_MIN, Min(CHUNK_SIZE_MAX, sorter->limit / CHUNKS_PER_LIMIT));

	sorter->next_chunk_size = Min(Max(sorter->next_chunk_size, CHUNK_SIZE_MIN) * 2, largest);
}

/* ---------------------------------------------------------------- sorting and spilling */

static void
verify_order(CpuSorter *sorter)
{
	ProgressPhase phase = progress_enter(&sorter->base, PROGRESS_VERIFYING);

	sorted_rows_verify(&sorter->sorted, sorter->key);
	sorter->stats.corrections += sorter->sorted.corrected;
	progress_enter(&sorter->base, phase);
}

void
cpu_sort_chunks(CpuSorter *sorter)
{
	Stopwatch watch = stopwatch_start();

	cpu_close_open_chunks(sorter);
	sorted_rows_make(&sorter->sorted, sorter->key, sorter->chunks, sorter->nrows);
	if (sorter->key->verified)
		verify_order(sorter);
	note_memory(sorter, sorter->chunk_memory + sorted_rows_used(&sorter->sorted));
	sorter->stats.sort_ms += stopwatch_ms(watch);
}

void
cpu_begin_external(CpuSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	if (sorter->external == NULL)
	{
		sorter->external = external_sort_create(sorter->key, sorter->complete_rows, sorter->limit,
												sorter->random_access, &sorter->stats);
		if (sorter->apart && !sorter->published)
			external_sort_share(sorter->external, sorter->files, sorter->process);
	}
	MemoryContextSwitchTo(old);
}

void
cpu_spill(CpuSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	ProgressPhase phase = progress_enter(&sorter->base, PROGRESS_SORTING);

	cpu_begin_external(sorter);
	cpu_sort_chunks(sorter);
	progress_enter(&sorter->base, PROGRESS_WRITING);
	external_sort_add_run(sorter->external, &sorter->sorted);
	sorted_rows_free(&sorter->sorted);
	note_memory(sorter, sorter->chunk_memory);

	*sorter->chunks_end = sorter->empty_chunks;
	sorter->empty_chunks = sorter->chunks;
	sorter->chunks = NULL;
	sorter->chunks_end = &sorter->chunks;
	sorter->nrows = 0;

	if (external_sort_is_full(sorter->external))
	{
		cpu_free_chunks(sorter, &sorter->empty_chunks);
		progress_enter(&sorter->base, PROGRESS_MERGING);
		external_sort_merge_full_generations(sorter->external);
	}
	progress_enter(&sorter->base, phase);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- handing out and taking back */

/*
 * A chunk that is ready to be filled, or filled further, with as many rows as can be sorted then, one at
 * least.
 */
static Chunk *
hand_out(const CpuSorter *sorter, Chunk *chunk)
{
	uint64 rows = rows_within_limit(sorter, 0);

	chunk->max_rows = Max(rows > sorter->nrows ? rows - sorter->nrows : 0, chunk->nrows + 1);
	chunk->next = NULL;
	return chunk;
}

Chunk *
cpu_get_own_chunk(CpuSorter *sorter, Size at_least)
{
	Chunk *chunk = cpu_take_open_chunk(sorter, at_least);
	Size size = chunk_size(sorter, at_least);

	if (chunk != NULL)
		return hand_out(sorter, chunk);
	chunk = take_empty_chunk(sorter, at_least);
	if (sorter->nrows > 0 &&
		rows_within_limit(sorter, chunk != NULL ? 0 : size) < sorter->nrows + CHUNK_ROWS_MIN)
	{
		if (chunk != NULL)
		{
			chunk->next = sorter->empty_chunks;
			sorter->empty_chunks = chunk;
		}
		if (cpu_cut_for_room(sorter))
			return cpu_get_own_chunk(sorter, at_least);
		cpu_spill(sorter);
		chunk = take_empty_chunk(sorter, at_least);
	}
	if (chunk == NULL)
	{
		/* a row wider than any chunk so far: its chunk may take the place of the others */
		if (sorter->chunk_memory + size > sorter->limit)
			cpu_free_chunks(sorter, &sorter->empty_chunks);
		chunk = chunk_create(sorter, size);
		grow_chunk_size(sorter);
		note_memory(sorter, sorter->chunk_memory);
	}
	chunk_reset(chunk);
	return hand_out(sorter, chunk);
}

void
cpu_take_filled(CpuSorter *sorter, int parts)
{
	Chunk *chunk = shared_chunks_take_filled(sorter->shared, parts, &sorter->empty_chunks);

	for (const Chunk *empty = sorter->empty_chunks; empty != NULL; empty = empty->next)
		sorter->chunk_memory += empty->size;
	for (*sorter->chunks_end = chunk; chunk != NULL; chunk = chunk->next)
	{
		sorter->chunks_end = &chunk->next;
		sorter->chunk_memory += chunk->size;
		cpu_count_chunk(sorter, chunk, 1);
	}
}

void
cpu_put_own_chunk(CpuSorter *sorter, Chunk *chunk)
{
	*sorter->chunks_end = chunk;
	sorter->chunks_end = &chunk->next;
	cpu_count_chunk(sorter, chunk, 1);
	(void) cpu_cut_many(sorter);
}
