/*
 * device/cpu/chunks.c
 *		The cpu device's memory: chunks within the limit, and runs in temporary files past it.
 *
 * Chunks are counted as they are allocated; a chunk's max_rows keeps room for the arrays that sorting takes.
 * Where several processes feed, their chunks come from shared memory, until the first process takes all over
 * and goes on alone, in its own memory and with the chunks that it has taken over.
 *
 * All here belongs to the sorter's memory context, and runs to the resource owner or the FileSet
 * (files/run.h).  A temporary file that can't be written is PostgreSQL's error, raised out of cpu_spill.
 */
#include "postgres.h"

#include "base/stopwatch.h"
#include "device/cpu/joint_spill.h"
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

/*
 * Milliseconds that a process which begins to go on alone gives the others to put their chunks: none, but in
 * tests.
 */
#ifndef PAUSE_ALONE
#define PAUSE_ALONE 0
#endif

/* This process has so many bytes of chunks and of what sorts them. */
static void
note_memory(CpuSorter *sorter, Size bytes)
{
	sorter_stats_note_memory(&sorter->stats, bytes);
	if (sorter->apart)
		joint_spill_note_memory(sorter, bytes);
}

/* ---------------------------------------------------------------- chunks */

/* Bytes within the limit beside the chunks there are and one more of so many bytes. */
static Size
memory_left(const CpuSorter *sorter, Size more_chunk)
{
	Size used = sorter->chunk_memory + more_chunk +
				(sorter->external != NULL ? external_sort_memory(sorter->external) : 0);

	return sorter->limit > used ? sorter->limit - used : 0;
}

/* How many rows could be sorted with the chunks there are and one more of so many bytes? */
static uint64
rows_within_limit(const CpuSorter *sorter, Size more_chunk)
{
	Size left = memory_left(sorter, more_chunk);
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
		external_sort_merge_full_levels(sorter->external);
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
	uint64 others = sorter->nrows + sorter->coming;

	chunk->max_rows = Max(rows > others ? rows - others : 0, chunk->nrows + 1);
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
		rows_within_limit(sorter, chunk != NULL ? 0 : size) < sorter->nrows + sorter->coming + CHUNK_ROWS_MIN)
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
cpu_collect_chunks(CpuSorter *sorter)
{
	Chunk **collected = sorter->chunks_end;
	uint64 nrows =
		shared_chunks_collect(sorter->shared, &sorter->chunks_end, &sorter->empty_chunks, &sorter->coming);

	if (nrows > 0)
	{
		for (const Chunk *chunk = *collected; chunk != NULL; chunk = chunk->next)
			sorter->stats.bytes += chunk_bytes(chunk);
	}
	sorter->nrows += nrows;
	sorter->stats.rows += nrows;
}

void
cpu_take_chunks_over(CpuSorter *sorter)
{
	sorter->chunk_memory += sorter->shared->chunk_memory;
	sorter->alone = true;
}

/*
 * Others get no chunk from now on.  They may still fill those they have; but they don't sort them, or they
 * would read what this process changes.
 */
static void
go_on_alone(CpuSorter *sorter)
{
	if (!sort_share_note_overflow(&sorter->shared->base))
		elog(ERROR, "gpusort: a row has come to a sort that is closed");
	cpu_take_chunks_over(sorter);
	arena_trim(&sorter->shared->base.arena, 0);
}

/* A chunk for rows that are not passed on, in memory that is made where there is none. */
static Chunk *
make_room(CpuSorter *sorter, Size at_least)
{
	if (sorter->apart)
		return sorter->own_chunk = joint_spill_get_chunk(sorter, at_least);
	if (!sorter->alone)
	{
		Chunk *chunk = shared_chunks_take(sorter->shared, sorter->key, at_least);

		if (chunk != NULL)
			return chunk;
		go_on_alone(sorter);
		cpu_collect_chunks(sorter);
		for (int i = 0; i < PAUSE_ALONE && sorter->shared->reserved_rows > 0; i++)
			pg_usleep(1000);
	}
	else
		cpu_collect_chunks(sorter);
	return sorter->own_chunk = cpu_get_own_chunk(sorter, at_least);
}

Chunk *
cpu_get_chunk(Sorter *base, int part, Size at_least, bool makes_room)
{
	CpuSorter *sorter = (CpuSorter *) base;
	Chunk *chunk;

	if (sorter->shared == NULL)
		return cpu_get_own_chunk(sorter, at_least);
	if (makes_room)
		return make_room(sorter, at_least);
	chunk = shared_chunks_take(sorter->shared, sorter->key, at_least);
	if (chunk != NULL)
		return chunk;
	(void) sort_share_note_overflow(&sorter->shared->base);
	return sorter->files != NULL ? sorter->own_chunk = joint_spill_get_chunk(sorter, at_least) : NULL;
}

/* Gives a chunk back that this process shares with others. */
static void
put_shared_chunk(CpuSorter *sorter, Chunk *chunk)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	if (sorter->files != NULL)
		sorter->filled_chunks = lappend(sorter->filled_chunks, chunk);
	shared_chunks_put(sorter->shared, sorter->key, chunk);
	MemoryContextSwitchTo(old);
}

void
cpu_put_chunk(Sorter *base, int part, Chunk *chunk)
{
	CpuSorter *sorter = (CpuSorter *) base;

	/* one that shares none may fill two at a time: its own rows', and those that workers pass on */
	if (sorter->shared != NULL && chunk != sorter->own_chunk)
	{
		put_shared_chunk(sorter, chunk);
		return;
	}
	sorter->own_chunk = NULL;
	*sorter->chunks_end = chunk;
	sorter->chunks_end = &chunk->next;
	sorter->nrows += chunk->nrows;
	sorter->stats.rows += chunk->nrows;
	sorter->stats.bytes += chunk_bytes(chunk);
	(void) cpu_cut_many(sorter);
}
