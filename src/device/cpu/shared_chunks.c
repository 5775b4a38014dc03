/*
 * device/cpu/shared_chunks.c
 *		Chunks that several processes fill for one sort of the cpu device, in memory that they share.
 *
 * Rows that a chunk may get are reserved when it is taken; what was not used of them is free again when it is
 * put.  Chunks are small beside the limit, that each process may hold one which is not full.
 */
#include "postgres.h"

#include "base/wait_events.h"
#include "device/cpu/shared_chunks.h"
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
shared_chunks_create(Size limit, int processes, bool helped)
{
	Size size = limit + limit / 64 + SHARED_MEMORY_SLACK;
	SharedChunks *shared = (SharedChunks *) sort_share_create(size, sizeof(SharedChunks), processes);

	if (shared == NULL)
		return NULL;
	shared->limit = limit;
	shared->base.most = Min(SORT_SHARE_MAX_PROCESSES, Max(1, limit / PROCESS_MEMORY_MIN));
	shared->processes = Min(processes, shared->base.most);
	shared->helped = helped;
	shared->filled_end = &shared->filled;
	return shared;
}

/* Size of the next chunk. */
static Size
chunk_size(const SharedChunks *shared, Size at_least)
{
	Size largest = Min(SHARED_CHUNK_SIZE_MAX, shared->limit / (SHARED_CHUNKS_PER_LIMIT * shared->processes));
	Size size = Min(largest, shared->chunk_memory / (SHARED_CHUNKS_BEFORE_GROWTH * shared->processes));

	return TYPEALIGN(8, Max(Max(size, SHARED_CHUNK_SIZE_MIN), at_least));
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
		   shared->chunk_memory + size + memory_for_late(shared) +
				   shared_chunks_sort_memory(shared, key,
											 shared->filled_rows + shared->reserved_rows + rows) <=
			   shared->limit;
}

/* A chunk that is partly filled, if there is one with room for so many bytes. */
static Chunk *
take_open(SharedChunks *shared, const SortKey *key, Size at_least)
{
	Chunk *chunk = NULL;

	SpinLockAcquire(&shared->base.mutex);
	for (Chunk **link = &shared->open; *link != NULL; link = &(*link)->next)
	{
		uint64 more_rows = (*link)->max_rows - (*link)->nrows;

		if ((*link)->back - (*link)->front < at_least || more_rows == 0 || !fits(shared, key, 0, more_rows))
			continue;
		chunk = *link;
		*link = chunk->next;
		shared->filled_rows -= chunk->nrows;
		shared->reserved_rows += chunk->max_rows;
		break;
	}
	SpinLockRelease(&shared->base.mutex);
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
		shared->nchunks++;
		shared->chunk_memory += *size;
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
		shared->nchunks--;
		shared->chunk_memory -= size;
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

/* Appends a chunk to the filled ones.  The caller holds the lock. */
static void
append_filled(SharedChunks *shared, Chunk *chunk)
{
	chunk->next = NULL;
	*shared->filled_end = chunk;
	shared->filled_end = &chunk->next;
}

/* Takes all chunks to be cut, if there are at least so many rows and nobody else is at it; NULL: not now. */
static Chunk *
begin_cutting(SharedChunks *shared, uint64 at_least, uint64 *nrows)
{
	Chunk *chunks = NULL;

	SpinLockAcquire(&shared->base.mutex);
	if (!shared->cutting && shared->filled_rows >= at_least && !shared->base.overflowed)
	{
		*shared->filled_end = shared->open;
		chunks = shared->filled;
		*nrows = shared->filled_rows;
		shared->filled = shared->open = NULL;
		shared->filled_end = &shared->filled;
		shared->filled_rows = 0;
		shared->reserved_rows += *nrows;
		shared->cutting = true;
	}
	SpinLockRelease(&shared->base.mutex);
	return chunks;
}

/* Gives chunks back of which rows were taken out; there were so many in them before, and fewer are left. */
static void
end_cutting(SharedChunks *shared, Chunk *chunks, uint64 nrows)
{
	uint64 left = 0;

	SpinLockAcquire(&shared->base.mutex);
	while (chunks != NULL)
	{
		Chunk *chunk = chunks;

		chunks = chunk->next;
		left += chunk->nrows;
		if (chunk->nrows > 0 && !chunk_is_open(chunk))
			append_filled(shared, chunk);
		else
		{
			chunk->next = shared->open;
			shared->open = chunk;
		}
	}
	shared->reserved_rows -= nrows;
	shared->filled_rows += left;
	shared->cut_rows = left;
	shared->cutting = false;
	SpinLockRelease(&shared->base.mutex);
	ConditionVariableBroadcast(&shared->base.changed);
}

/*
 * Takes rows out of the filled chunks, if there are at least so many; false: there are not, or another
 * process is at it.
 */
static bool
cut(SharedChunks *shared, const SortKey *key, uint64 at_least)
{
	uint64 nrows;
	Chunk *chunks = begin_cutting(shared, at_least, &nrows);

	if (chunks == NULL)
		return false;
	for (Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
		(void) bound_cut_chunk(shared->base.bound, chunk);
	end_cutting(shared, chunks, nrows);
	return true;
}

static bool
is_cutting(SharedChunks *shared)
{
	bool cutting;

	SpinLockAcquire(&shared->base.mutex);
	cutting = shared->cutting;
	SpinLockRelease(&shared->base.mutex);
	return cutting;
}

/*
 * Makes room by taking rows out, or waits until another process has done so, which itself waits for nobody;
 * false: no use.
 */
static bool
cut_for_room(SharedChunks *shared, const SortKey *key)
{
	bool waited = false;

	if (shared->base.bound == NULL)
		return false;
	if (cut(shared, key, bound_rows_to_cut_for_room(shared->cut_rows)))
		return true;
	for (; is_cutting(shared); waited = true)
		ConditionVariableSleep(&shared->base.changed, gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
	ConditionVariableCancelSleep();
	return waited;
}

/* ---------------------------------------------------------------- handing out and taking back */

Chunk *
shared_chunks_take(SharedChunks *shared, const SortKey *key, Size at_least)
{
	for (;;)
	{
		Chunk *chunk = take_open(shared, key, at_least);

		if (chunk == NULL)
			chunk = make_chunk(shared, key, at_least);
		if (chunk != NULL || !cut_for_room(shared, key))
			return chunk;
	}
}

void
shared_chunks_put(SharedChunks *shared, const SortKey *key, Chunk *chunk)
{
	const SortBound *bound = shared->base.bound;

	SpinLockAcquire(&shared->base.mutex);
	shared->reserved_rows -= chunk->max_rows;
	shared->filled_rows += chunk->nrows;
	append_filled(shared, chunk);
	SpinLockRelease(&shared->base.mutex);
	if (bound != NULL)
		(void) cut(shared, key, bound_rows_to_cut(bound, shared->cut_rows));
}

/* The caller holds the lock, or there is nobody else. */
static Chunk *
close_open(SharedChunks *shared)
{
	Chunk *empty = NULL;

	while (shared->open != NULL)
	{
		Chunk *chunk = shared->open;

		shared->open = chunk->next;
		if (chunk->nrows > 0)
			append_filled(shared, chunk);
		else
		{
			chunk->next = empty;
			empty = chunk;
		}
	}
	return empty;
}

void
shared_chunks_close_open(SharedChunks *shared)
{
	shared->open = close_open(shared);
}

Chunk *
shared_chunks_take_filled(SharedChunks *shared, int parts, Chunk **empty)
{
	Chunk *filled;
	Chunk **end = &shared->filled;
	uint64 rows = 0;

	SpinLockAcquire(&shared->base.mutex);
	*empty = close_open(shared);
	filled = shared->filled;
	while (*end != NULL && rows < shared->filled_rows / parts)
	{
		rows += (*end)->nrows;
		end = &(*end)->next;
	}
	shared->filled = *end;
	if (shared->filled == NULL)
		shared->filled_end = &shared->filled;
	if (end == &shared->filled)
		filled = NULL;
	else
		*end = NULL;
	shared->filled_rows -= rows;
	SpinLockRelease(&shared->base.mutex);
	return filled;
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
