/*
 * device/cpu/shared_chunks.c
 *		Chunks that several processes fill for one sort of the cpu device, in memory that they share.
 *
 * A chunk is handed out only if it fits within the limit together with what sorting all rows takes, those included that
 * chunks being filled may yet get: so many rows are reserved when a chunk is taken, and what was not used of them is free again when it is
 * put.  Chunks are small beside the limit, that each process may hold one which is not full.
 */
#include "postgres.h"

#include "device/cpu/shared_chunks.h"
#include "sort/sorted_rows.h"

/* Chunks grow from the one size to the other, as long as all processes' chunks together are a small part of the limit. */
#define SHARED_CHUNK_SIZE_MIN ((Size) 64 * 1024)
#define SHARED_CHUNK_SIZE_MAX ((Size) 1024 * 1024)
#define SHARED_CHUNKS_PER_LIMIT 16
#define SHARED_CHUNKS_BEFORE_GROWTH 4	/* each process's share of them, at the size they grow to */

/* Room in the shared memory besides what the limit counts: headers of chunks and rounding. */
#define SHARED_MEMORY_SLACK ((Size) 1024 * 1024)

SharedChunks *
shared_chunks_create(Size limit, int processes)
{
	Size		size = limit + limit / 64 + SHARED_MEMORY_SLACK;
	SharedChunks *shared = (SharedChunks *) sort_share_create(size, sizeof(SharedChunks));

	if (shared == NULL)
		return NULL;
	shared->limit = limit;
	shared->processes = processes;
	shared->filled_end = &shared->filled;
	return shared;
}

/* Size of the next chunk. */
static Size
chunk_size(const SharedChunks *shared, Size at_least)
{
	Size		largest = Min(SHARED_CHUNK_SIZE_MAX, shared->limit / (SHARED_CHUNKS_PER_LIMIT * shared->processes));
	Size		size = Min(largest, shared->chunk_memory / (SHARED_CHUNKS_BEFORE_GROWTH * shared->processes));

	return TYPEALIGN(8, Max(Max(size, SHARED_CHUNK_SIZE_MIN), at_least));
}

/* The most rows that a chunk of this size may hold. */
static uint64
most_rows(const SortKey *key, Size size)
{
	return size / (chunk_entry_size(key->width) + MAXALIGN(SizeofMinimalTupleHeader)) + 1;
}

/* Sets memory and rows aside for a chunk, if there is room for them. */
static bool
reserve(SharedChunks *shared, const SortKey *key, Size at_least, Size *size, uint64 *rows)
{
	bool		fits;
	Size		needed;

	SpinLockAcquire(&shared->base.mutex);
	*size = chunk_size(shared, at_least);
	*rows = most_rows(key, *size);
	needed = shared->chunk_memory + *size +
		sorted_rows_memory(key, shared->filled_rows + shared->reserved_rows + *rows);
	fits = needed <= shared->limit && !shared->base.overflowed;
	if (fits)
	{
		shared->nchunks++;
		shared->chunk_memory += *size;
		shared->reserved_rows += *rows;
	}
	SpinLockRelease(&shared->base.mutex);
	return fits;
}

Chunk *
shared_chunks_take(SharedChunks *shared, const SortKey *key, Size at_least)
{
	Size		size;
	uint64		rows;
	Chunk	   *chunk;

	if (!reserve(shared, key, at_least, &size, &rows))
		return NULL;
	chunk = sort_share_alloc(&shared->base, sizeof(Chunk) + size);
	if (chunk == NULL || !sort_share_populate(chunk, sizeof(Chunk) + size))
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
	chunk_reset(chunk);
	return chunk;
}

void
shared_chunks_put(SharedChunks *shared, Chunk *chunk)
{
	chunk->next = NULL;
	SpinLockAcquire(&shared->base.mutex);
	shared->reserved_rows -= chunk->max_rows;
	shared->filled_rows += chunk->nrows;
	*shared->filled_end = chunk;
	shared->filled_end = &chunk->next;
	SpinLockRelease(&shared->base.mutex);
}

uint64
shared_chunks_collect(SharedChunks *shared, Chunk ***end)
{
	uint64		nrows;

	SpinLockAcquire(&shared->base.mutex);
	nrows = shared->filled_rows;
	if (shared->filled != NULL)
	{
		**end = shared->filled;
		*end = shared->filled_end;
	}
	shared->filled = NULL;
	shared->filled_end = &shared->filled;
	shared->filled_rows = 0;
	SpinLockRelease(&shared->base.mutex);
	return nrows;
}
