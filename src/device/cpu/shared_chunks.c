/*
 * device/cpu/shared_chunks.c
 *		A place of the cpu device: chunks that several processes fill for one sort, in memory that they share.
 *
 * Rows that a chunk may get are reserved when it is taken; what was not used of them is free again when it is
 * put.  Chunks are small beside the limit, that each process may hold one which is not full.
 */
#include "postgres.h"

#include "device/cpu/shared_chunks.h"
#include "key/coded.h"
#include "sort/sorted_rows.h"

/*
 * Chunks grow from the one size to the other, as long as all processes' chunks together are a small part of
 * the limit.
 */
#ifndef SHARED_CHUNK_SIZE_MIN
#define SHARED_CHUNK_SIZE_MIN ((Size) 64 * 1024)
#define SHARED_CHUNK_SIZE_MAX ((Size) 1024 * 1024)
#endif
/* A process with less than that for itself would write runs of a few rows. */
#define PROCESS_MEMORY_MIN ((Size) 192 * 1024)

#define SHARED_CHUNKS_PER_LIMIT 16
#define SHARED_CHUNKS_BEFORE_GROWTH 4 /* each process's share of them, at the size they grow to */

/* Room in the shared memory besides what the limit counts: headers of chunks and rounding. */
#define SHARED_MEMORY_SLACK ((Size) 1024 * 1024)

SharedChunks *
shared_chunks_create(Size limit, Size more, int processes, bool helped)
{
	Size size = limit + limit / 64 + more + SHARED_MEMORY_SLACK;
	SharedChunks *shared = (SharedChunks *) sort_share_create(size, sizeof(SharedChunks), processes);

	if (shared == NULL)
		return NULL;
	shared->limit = limit;
	shared->base.most = Min(SORT_SHARE_MAX_PROCESSES, Max(1, limit / PROCESS_MEMORY_MIN));
	shared->processes = Min(processes, shared->base.most);
	shared->helped = helped;
	pg_atomic_init_u32(&shared->next_chunk, 0);
	chunk_pool_init(&shared->pool);
	return shared;
}

/* Size of the next chunk. */
static Size
chunk_size(const SharedChunks *shared, Size at_least)
{
	Size largest = Min(SHARED_CHUNK_SIZE_MAX, shared->limit / (SHARED_CHUNKS_PER_LIMIT * shared->processes));

	return chunk_pool_next_size(&shared->pool, SHARED_CHUNK_SIZE_MIN, largest,
								SHARED_CHUNKS_BEFORE_GROWTH * shared->processes, at_least);
}

/* The most rows that a chunk of this size may hold. */
static uint64
most_rows(const SortKey *key, Size size)
{
	Size least_row = key->policy.alone ? 0 : MAXALIGN(SizeofMinimalTupleHeader);

	return size / (chunk_entry_size(key->width, !key->policy.alone) + least_row) + 1;
}

/* Bytes that are kept for processes that have not come yet. */
static Size
memory_for_late(const SharedChunks *shared)
{
	return Max(0, shared->processes - shared->base.nentered) * shared_chunks_late_memory(shared);
}

/* May so many more rows come, beside so many more bytes of chunks?  The caller holds the lock. */
static bool
fits(const SharedChunks *shared, const SortKey *key, Size size, uint64 rows)
{
	return !shared->base.overflowed && !shared->base.closed &&
		   shared->pool.memory + size + memory_for_late(shared) +
				   shared_chunks_sort_memory(shared, key,
											 shared->pool.nrows + shared->reserved_rows + rows) <=
			   shared->limit;
}

/* A chunk that has room, if there is one for so many bytes. */
static Chunk *
take_open(SharedChunks *shared, const SortKey *key, Size at_least)
{
	Chunk *chunk;

	SpinLockAcquire(&shared->base.mutex);
	chunk = chunk_pool_take_open(&shared->pool, at_least);
	if (chunk != NULL && fits(shared, key, 0, chunk->max_rows))
		shared->reserved_rows += chunk->max_rows;
	else if (chunk != NULL)
	{
		chunk_pool_add_open(&shared->pool, chunk);
		chunk = NULL;
	}
	SpinLockRelease(&shared->base.mutex);
	if (chunk != NULL && chunk->nrows == 0)
		chunk_set_layout(chunk, key);
	return chunk;
}

/* Sets memory and rows aside for a chunk, if there is room for them. */
static bool
reserve(SharedChunks *shared, const SortKey *key, Size at_least, Size *size, uint64 *rows)
{
	bool has_room;

	SpinLockAcquire(&shared->base.mutex);
	*size = chunk_size(shared, at_least);
	*rows = most_rows(key, *size);
	has_room = fits(shared, key, *size, *rows);
	if (has_room)
	{
		shared->pool.nchunks++;
		shared->pool.memory += *size;
		shared->reserved_rows += *rows;
	}
	SpinLockRelease(&shared->base.mutex);
	return has_room;
}

/* A new chunk. */
static Chunk *
make_chunk(SharedChunks *shared, const SortKey *key, Size at_least)
{
	Size size;
	uint64 rows;
	Chunk *chunk;

	if (!reserve(shared, key, at_least, &size, &rows))
		return NULL;
	chunk = arena_alloc(&shared->base.arena, sizeof(Chunk) + size);
	if (chunk == NULL)
	{
		SpinLockAcquire(&shared->base.mutex);
		shared->pool.nchunks--;
		shared->pool.memory -= size;
		shared->reserved_rows -= rows;
		SpinLockRelease(&shared->base.mutex);
		return NULL;
	}
	chunk->base = (char *) (chunk + 1);
	chunk->size = size;
	chunk->max_rows = rows;
	chunk->next = NULL;
	chunk_set_layout(chunk, key);
	chunk_reset(chunk);
	return chunk;
}

/* ---------------------------------------------------------------- rows that are not wanted any more */

/* Takes all chunks to be cut, if there are at least so many rows and nobody else is at it; NULL: not now. */
static Chunk *
begin_cutting(SharedChunks *shared, uint64 at_least, uint64 *nrows)
{
	Chunk *chunks = NULL;

	SpinLockAcquire(&shared->base.mutex);
	*nrows = shared->pool.nrows;
	if (shared->ncutting == 0 && *nrows >= at_least && !shared->base.overflowed)
	{
		chunks = chunk_pool_take_all(&shared->pool);
		shared->reserved_rows += *nrows;
		shared->ncutting = 1;
	}
	SpinLockRelease(&shared->base.mutex);
	return chunks;
}

/*
 * Takes rows out of the filled chunks, if there are at least so many; false: there are not, or another
 * process is at it.
 */
static bool
cut(SharedChunks *shared, GroupFilter *groups, uint64 at_least)
{
	uint64 nrows;
	Chunk *chunks = begin_cutting(shared, at_least, &nrows);

	if (chunks == NULL)
		return false;
	chunks_cut(chunks, shared->base.bound, groups);
	SpinLockAcquire(&shared->base.mutex);
	chunk_pool_put_cut(&shared->pool, chunks);
	/* the rows of a chunk with codes are fed again; other rows may not be put behind them */
	if (shared->base.tables != NULL && sort_key_tables_ended(shared->base.tables))
		chunk_pool_close(&shared->pool);
	shared->reserved_rows -= nrows;
	shared->ncutting = 0;
	SpinLockRelease(&shared->base.mutex);
	ConditionVariableBroadcast(&shared->base.changed);
	return true;
}

bool
shared_chunks_cut_for_room(SharedChunks *shared, const Sorter *sorter)
{
	if (shared->base.bound == NULL && !sorter_may_cut(sorter, &shared->pool, true))
		return false;
	if (cut(shared, sorter->group_filter, bound_rows_to_cut_for_room(shared->pool.cut_rows)))
		return true;
	return sort_share_wait_for_none(&shared->base, &shared->ncutting);
}

/* ---------------------------------------------------------------- handing out and taking back */

Chunk *
shared_chunks_take(SharedChunks *shared, const SortKey *key, Size at_least)
{
	Chunk *chunk = take_open(shared, key, at_least);

	return chunk != NULL ? chunk : make_chunk(shared, key, at_least);
}

void
shared_chunks_put(SharedChunks *shared, const Sorter *sorter, Chunk *chunk)
{
	const SortBound *bound = shared->base.bound;

	SpinLockAcquire(&shared->base.mutex);
	shared->reserved_rows -= chunk->max_rows;
	chunk_pool_add(&shared->pool, chunk);
	SpinLockRelease(&shared->base.mutex);
	if (bound != NULL)
		(void) cut(shared, NULL, bound_rows_to_cut(bound, shared->pool.cut_rows));
	else if (sorter_may_cut(sorter, &shared->pool, false))
		(void) cut(shared, sorter->group_filter, 1);
}

void
shared_chunks_collect(SharedChunks *shared, int parts, ChunkPool *own, Place *place)
{
	SpinLockAcquire(&shared->base.mutex);
	chunk_pool_hand_over(&shared->pool, own, parts, place);
	SpinLockRelease(&shared->base.mutex);
}

void
shared_chunks_note_memory(SharedChunks *shared, Size *noted, Size bytes)
{
	SpinLockAcquire(&shared->base.mutex);
	shared->memory += (int64) bytes - (int64) *noted;
	shared->peak_memory = Max(shared->peak_memory, shared->memory);
	SpinLockRelease(&shared->base.mutex);
	*noted = bytes;
}
