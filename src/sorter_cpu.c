/*
 * sorter_cpu.c
 *		The cpu device: sorts in the backend's own memory, past its limit in temporary files.
 *
 * Filled chunks are kept.  As long as chunks and the arrays that sorting them takes stay within the limit, all is
 * in memory: perform sorts, next walks over the sorted items.  When the next chunk would
 * not fit, what is there is sorted and handed to an external sort as a run, and the chunks
 * are filled again.
 *
 * Chunks are counted as they are allocated; a chunk's max_rows keeps room for the arrays.
 *
 * If several processes feed the sort, they fill chunks in memory that they share (shared_chunks.h), within the same limit.  When the
 * limit is reached, they get no more, and rows come to the first process, which takes the filled chunks
 * over and goes on alone, as above.  Otherwise they sort together when the input is over (joint_sort.h), and the
 * first process has only to return the rows.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "external_sort.h"
#include "huge_memory.h"
#include "joint_sort.h"
#include "progress.h"
#include "shared_chunks.h"
#include "sorted_rows.h"
#include "sorter.h"
#include "stopwatch.h"

/* The first chunk is small, for the sake of small sorts; each next one is twice as large, up to the largest. */
#define CHUNK_SIZE_MIN ((Size) 64 * 1024)
#define CHUNK_SIZE_MAX ((Size) 32 * 1024 * 1024)

/* A limit shrinks the largest chunk to one in so many, so that the last one wastes little. */
#define CHUNKS_PER_LIMIT 16

/* Less memory than this is not worth having; a smaller limit is taken as this one. */
#define MEMORY_LIMIT_MIN ((Size) 512 * 1024)

/* A chunk that could take fewer rows than this is not begun. */
#define CHUNK_ROWS_MIN 32

typedef struct CpuSorter
{
	Sorter		base;
	const SortKey *key;
	Size		limit;
	bool		random_access;
	MemoryContext context;		/* all that the sorter holds */
	SorterStats stats;

	Chunk	   *chunks;			/* filled, in feed order */
	Chunk	  **chunks_end;
	Chunk	   *empty_chunks;	/* from an earlier run */
	Size		chunk_memory;	/* bytes of all chunks */
	Size		next_chunk_size;
	uint64		nrows;			/* in the filled chunks */

	SharedChunks *shared;		/* NULL: this process alone feeds */
	int			process;		/* this one's number among them; -1: it does not feed with them */
	bool		alone;			/* shared: the first process has taken the chunks over */
	Chunk	   *own_chunk;		/* shared: the chunk that the first process fills alone */

	ExternalSort *external;		/* NULL: all rows are in memory, in sorted once performed */
	SortedRows sorted;
	int64		position;		/* in sorted: the row last returned, -1 before the first, nrows after the last */
	int64		mark;
} CpuSorter;

/* ---------------------------------------------------------------- chunks */

/* How many rows could be sorted with the chunks there are and one more of so many bytes? */
static uint64
rows_within_limit(const CpuSorter *sorter, Size more_chunk)
{
	Size		used = sorter->chunk_memory + more_chunk +
		(sorter->external != NULL ? external_sort_memory(sorter->external) : 0);
	Size		left = sorter->limit > used ? sorter->limit - used : 0;
	uint64		rows = left / (sorted_rows_memory(sorter->key, 1 << 20) >> 20);

	while (rows > 0 && sorted_rows_memory(sorter->key, rows) > left)
		rows -= rows / 64 + 1;
	return rows;
}

static Chunk *
chunk_create(CpuSorter *sorter, Size size)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	Chunk	   *chunk = palloc0(sizeof(Chunk));

	chunk->size = TYPEALIGN_DOWN(8, size);
	chunk->base = huge_alloc(chunk->size);
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
		sort_share_discard(chunk->base, chunk->size);
		return;
	}
	pfree(chunk->base);
	pfree(chunk);
}

static void
free_chunk_list(CpuSorter *sorter, Chunk **list)
{
	while (*list != NULL)
	{
		Chunk	   *chunk = *list;

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
		Chunk	   *chunk = *link;

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
	return Max(sorter->next_chunk_size, TYPEALIGN(8, at_least));
}

static void
grow_chunk_size(CpuSorter *sorter)
{
	Size		largest = Max(CHUNK_SIZE_MIN, Min(CHUNK_SIZE_MAX, sorter->limit / CHUNKS_PER_LIMIT));

	sorter->next_chunk_size = Min(sorter->next_chunk_size * 2, largest);
}

/* ---------------------------------------------------------------- sorting and spilling */

static void
sort_chunks(CpuSorter *sorter)
{
	Stopwatch	watch = stopwatch_start();

	sorter_stats_note_memory(&sorter->stats,
							 sorter->chunk_memory + sorted_rows_memory(sorter->key, sorter->nrows));
	sorted_rows_make(&sorter->sorted, sorter->key, sorter->chunks, sorter->nrows);
	sorter->stats.sort_ms += stopwatch_ms(watch);
}

/* Sorts the filled chunks into a run; they become empty ones. */
static void
spill(CpuSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	ProgressPhase phase = progress_enter(&sorter->base, PROGRESS_SORTING);

	if (sorter->external == NULL)
		sorter->external = external_sort_create(sorter->key, sorter->limit, sorter->random_access, &sorter->stats);
	sort_chunks(sorter);
	progress_enter(&sorter->base, PROGRESS_WRITING);
	external_sort_add_run(sorter->external, &sorter->sorted);
	sorted_rows_free(&sorter->sorted);

	*sorter->chunks_end = sorter->empty_chunks;
	sorter->empty_chunks = sorter->chunks;
	sorter->chunks = NULL;
	sorter->chunks_end = &sorter->chunks;
	sorter->nrows = 0;

	if (external_sort_is_full(sorter->external))
	{
		free_chunk_list(sorter, &sorter->empty_chunks);
		progress_enter(&sorter->base, PROGRESS_MERGING);
		external_sort_merge_full_levels(sorter->external);
	}
	progress_enter(&sorter->base, phase);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- the device */

static Sorter *
cpu_begin(const SortRequest *request)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "GpuSort cpu device", ALLOCSET_DEFAULT_SIZES);
	CpuSorter  *sorter = MemoryContextAllocZero(context, sizeof(CpuSorter));

	sorter->base.device = &sort_device_cpu;
	sorter->key = request->key;
	sorter->limit = Max(request->memory_limit, MEMORY_LIMIT_MIN);
	sorter->random_access = request->random_access;
	sorter->stats.processes = 1;
	sorter->context = context;
	sorter->chunks_end = &sorter->chunks;
	sorter->next_chunk_size = CHUNK_SIZE_MIN;
	sorter->process = -1;
	if (request->shared)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		sorter->shared = shared_chunks_create(sorter->limit, request->processes);
		MemoryContextSwitchTo(old);
	}
	return &sorter->base;
}

/* A chunk in the process's own memory, or one that was taken over; spills where there is no room for it. */
static Chunk *
get_own_chunk(CpuSorter *sorter, Size at_least)
{
	Chunk	   *chunk = take_empty_chunk(sorter, at_least);
	Size		size = chunk_size(sorter, at_least);
	uint64		coming = sorter->shared != NULL ? sorter->shared->reserved_rows : 0;
	uint64		rows;

	if (sorter->nrows > 0 &&
		rows_within_limit(sorter, chunk != NULL ? 0 : size) < sorter->nrows + coming + CHUNK_ROWS_MIN)
	{
		if (chunk != NULL)
		{
			chunk->next = sorter->empty_chunks;
			sorter->empty_chunks = chunk;
		}
		spill(sorter);
		chunk = take_empty_chunk(sorter, at_least);
	}
	if (chunk == NULL)
	{
		/* a row wider than any chunk so far: its chunk may take the place of the others */
		if (sorter->chunk_memory + size > sorter->limit)
			free_chunk_list(sorter, &sorter->empty_chunks);
		chunk = chunk_create(sorter, size);
		grow_chunk_size(sorter);
		sorter_stats_note_memory(&sorter->stats, sorter->chunk_memory);
	}
	rows = rows_within_limit(sorter, 0);
	chunk->max_rows = rows > sorter->nrows + coming ? rows - sorter->nrows - coming : 1;
	chunk->next = NULL;
	chunk_reset(chunk);
	return chunk;
}

/* In the first process: the chunks that were filled meanwhile become its own. */
static void
collect_shared_chunks(CpuSorter *sorter)
{
	Chunk	  **collected = sorter->chunks_end;
	uint64		nrows = shared_chunks_collect(sorter->shared, &sorter->chunks_end);

	if (nrows > 0)
	{
		for (const Chunk *chunk = *collected; chunk != NULL; chunk = chunk->next)
			sorter->stats.bytes += chunk_bytes(chunk);
	}
	sorter->nrows += nrows;
	sorter->stats.rows += nrows;
}

/* The first process goes on alone: no other gets a chunk from now on. */
static void
take_chunks_over(CpuSorter *sorter)
{
	sort_share_note_overflow(&sorter->shared->base);
	sorter->chunk_memory += sorter->shared->chunk_memory;
	sorter->alone = true;
}

static Chunk *
cpu_get_chunk(Sorter *base, Size at_least)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	if (sorter->shared == NULL)
		return get_own_chunk(sorter, at_least);
	if (!sorter->alone)
	{
		Chunk	   *chunk = shared_chunks_take(sorter->shared, sorter->key, at_least);

		if (chunk != NULL)
			return chunk;
		take_chunks_over(sorter);
	}
	collect_shared_chunks(sorter);
	return sorter->own_chunk = get_own_chunk(sorter, at_least);
}

static Chunk *
cpu_try_chunk(Sorter *base, Size at_least)
{
	CpuSorter  *sorter = (CpuSorter *) base;
	Chunk	   *chunk;

	if (sorter->shared == NULL)
		return get_own_chunk(sorter, at_least);
	chunk = shared_chunks_take(sorter->shared, sorter->key, at_least);
	if (chunk == NULL)
		sort_share_note_overflow(&sorter->shared->base);
	return chunk;
}

static void
cpu_put_chunk(Sorter *base, Chunk *chunk)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	if (sorter->shared != NULL && chunk != sorter->own_chunk)
	{
		shared_chunks_put(sorter->shared, chunk);
		return;
	}
	sorter->own_chunk = NULL;
	*sorter->chunks_end = chunk;
	sorter->chunks_end = &chunk->next;
	sorter->nrows += chunk->nrows;
	sorter->stats.rows += chunk->nrows;
	sorter->stats.bytes += chunk_bytes(chunk);
}

/* ---------------------------------------------------------------- several processes */

static SortShare *
cpu_share(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	return sorter->shared != NULL ? &sorter->shared->base : NULL;
}

static bool
cpu_enter(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	if (sorter->shared == NULL)
		return true;
	sorter->process = sort_share_enter(&sorter->shared->base);
	return sorter->process >= 0;
}

static Sorter *
cpu_join(SortShare *share, const SortKey *key)
{
	int			process = sort_share_enter(share);
	MemoryContext context;
	CpuSorter  *sorter;

	if (process < 0)
		return NULL;
	context = AllocSetContextCreate(CurrentMemoryContext, "GpuSort cpu device", ALLOCSET_DEFAULT_SIZES);
	sorter = MemoryContextAllocZero(context, sizeof(CpuSorter));
	sorter->base.device = &sort_device_cpu;
	sorter->key = key;
	sorter->context = context;
	sorter->shared = (SharedChunks *) share;
	sorter->process = process;
	return &sorter->base;
}

static void
cpu_finish_feed(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	SortShare  *share = sorter->shared != NULL ? &sorter->shared->base : NULL;
	Stopwatch	watch;
	MemoryContext old;

	if (share == NULL)
		return;
	sort_share_note_fed(share, sorter->process);
	if (!sort_share_wait_all_fed(share))
		return;
	progress_enter(base, PROGRESS_SORTING);
	watch = stopwatch_start();
	old = MemoryContextSwitchTo(sorter->context);
	joint_sort(sorter->shared, sorter->process, sorter->key);
	MemoryContextSwitchTo(old);
	sorter->stats.sort_ms += share->processes[sorter->process].sort_ms = stopwatch_ms(watch);
}

static MinimalTuple
cpu_take_back(Sorter *base)
{
	return NULL;				/* whoever gets a chunk may keep it */
}

/* Takes over what all processes fed, none of which may still feed.  True: they have sorted it too. */
static bool
finish_sharing(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;
	bool		is_sorted;

	if (shared->reserved_rows != 0 || shared->base.nfed != shared->base.nentered)
		elog(ERROR, "gpusort: a process left a parallel sort before it had passed on its rows");
	is_sorted = !sorter->alone && joint_sort_result(shared, &sorter->sorted);
	if (is_sorted)
		sorter_stats_note_memory(&sorter->stats, shared->chunk_memory +
								 sorted_rows_parallel_memory(sorter->key, shared->filled_rows, shared->nchunks,
															 shared->base.nentered));
	if (!sorter->alone)
		take_chunks_over(sorter);
	collect_shared_chunks(sorter);
	sorter->stats.processes = Max(shared->base.nentered, 1);
	return is_sorted;
}

static void
cpu_perform(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	bool		is_sorted = sorter->shared != NULL && finish_sharing(sorter);

	if (sorter->external == NULL)
	{
		if (!is_sorted)
			sort_chunks(sorter);
		sorter->position = -1;
		sorter->stats.method = sorter->sorted.method;
	}
	else
	{
		if (sorter->nrows > 0)
			spill(sorter);
		free_chunk_list(sorter, &sorter->empty_chunks);
		progress_enter(base, PROGRESS_MERGING);
		external_sort_finish(sorter->external);
		sorter->stats.method = "external merge";
	}
	MemoryContextSwitchTo(old);
}

static inline MinimalTuple
next_in_memory(CpuSorter *sorter, bool forward)
{
	int64		end = sorter->sorted.nrows;
	int64		position = sorter->position + (forward ? 1 : -1);

	sorter->position = Max(-1, Min(end, position));
	if (position < 0 || position >= end)
		return NULL;
	sorted_rows_prefetch(&sorter->sorted, position, forward ? 1 : -1);
	return sorted_rows_row(&sorter->sorted, position);
}

static MinimalTuple
cpu_next(Sorter *base, bool forward)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	if (sorter->external != NULL)
		return external_sort_next(sorter->external, forward);
	return next_in_memory(sorter, forward);
}

static void
cpu_rewind(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	sorter->position = -1;
	if (sorter->external != NULL)
		external_sort_rewind(sorter->external);
}

static void
cpu_mark(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	sorter->mark = sorter->position;
	if (sorter->external != NULL)
		external_sort_mark(sorter->external);
}

static void
cpu_restore(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;

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
	*stats = ((const CpuSorter *) base)->stats;
}

static void
cpu_end(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	if (sorter->external != NULL)
		external_sort_end(sorter->external);
	MemoryContextDelete(sorter->context);
}

const SortDevice sort_device_cpu = {
	.name = "cpu",
	.begin = cpu_begin,
	.get_chunk = cpu_get_chunk,
	.try_chunk = cpu_try_chunk,
	.put_chunk = cpu_put_chunk,
	.take_back = cpu_take_back,
	.share = cpu_share,
	.enter = cpu_enter,
	.join = cpu_join,
	.finish_feed = cpu_finish_feed,
	.perform = cpu_perform,
	.next = cpu_next,
	.rewind = cpu_rewind,
	.mark = cpu_mark,
	.restore = cpu_restore,
	.has_random_access = cpu_has_random_access,
	.get_stats = cpu_get_stats,
	.end = cpu_end,
};
