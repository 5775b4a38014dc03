/*
 * sort/chunk_pool.c
 *		The chunks of a sort in memory: those that are filled, and those that have room.
 */
#include "postgres.h"

#include "sort/chunk_pool.h"

/* Takes the first chunk of a list, or NULL. */
static Chunk *
pop(Chunk **list)
{
	Chunk *first = *list;

	if (first != NULL)
		*list = first->next;
	return first;
}

Chunk *
chunk_pool_take_open(ChunkPool *pool, Size at_least)
{
	for (Chunk **link = &pool->open; *link != NULL; link = &(*link)->next)
	{
		Chunk *chunk = *link;

		if (chunk->back - chunk->front < at_least)
			continue;
		*link = chunk->next;
		pool->nrows -= chunk->nrows;
		return chunk;
	}
	return NULL;
}

Size
chunk_pool_next_size(const ChunkPool *pool, Size least, Size most, int growth, Size at_least)
{
	return TYPEALIGN(8, Max(Max(Min(most, pool->memory / growth), least), at_least));
}

/* Takes all chunks of a list of the pool. */
static Chunk *
take_list(ChunkPool *pool, Chunk **list)
{
	Chunk *chunks = *list;

	*list = NULL;
	for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
		pool->nrows -= chunk->nrows;
	if (pool->filled == NULL)
		pool->filled_end = &pool->filled;
	return chunks;
}

/* Adds chunks: filled ones if they have rows, and no room or are not to be filled further. */
static void
add_chunks(ChunkPool *pool, Chunk *chunks, bool further)
{
	Chunk *chunk;

	while ((chunk = pop(&chunks)) != NULL)
	{
		if (chunk->nrows > 0 && !(further && chunk_is_open(chunk)))
			chunk_pool_add(pool, chunk);
		else
			chunk_pool_add_open(pool, chunk);
	}
}

void
chunk_pool_close(ChunkPool *pool)
{
	add_chunks(pool, take_list(pool, &pool->open), false);
}

Chunk *
chunk_pool_take_all(ChunkPool *pool)
{
	*pool->filled_end = pool->open;
	pool->open = NULL;
	return take_list(pool, &pool->filled);
}

void
chunk_pool_put_cut(ChunkPool *pool, Chunk *chunks)
{
	pool->cut_rows = 0;
	for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
		pool->cut_rows += chunk->nrows;
	add_chunks(pool, chunks, true);
}

/* The chunk is another pool's from now on. */
static Chunk *
hand_over(Chunk *chunk, ChunkPool *to, struct Place *place)
{
	chunk->place = place;
	to->memory += chunk->size;
	return chunk;
}

void
chunk_pool_hand_over(ChunkPool *pool, ChunkPool *to, int parts, struct Place *place)
{
	uint64 least;
	uint64 rows = 0;

	chunk_pool_close(pool);
	while (pool->open != NULL)
		chunk_pool_add_open(to, hand_over(pop(&pool->open), to, place));
	for (least = pool->nrows / parts; pool->filled != NULL && rows < least;)
	{
		rows += pool->filled->nrows;
		chunk_pool_add(to, hand_over(pop(&pool->filled), to, place));
	}
	if (pool->filled == NULL)
		pool->filled_end = &pool->filled;
	pool->nrows -= rows;
}

Chunk *
chunk_pool_take_filled(ChunkPool *pool, bool fixed)
{
	Chunk *chunks = take_list(pool, &pool->filled);
	Chunk *taken = NULL;
	Chunk **end = &taken;
	Chunk *chunk;

	while ((chunk = pop(&chunks)) != NULL)
	{
		if ((chunk->key_width > 0) == fixed)
		{
			chunk->next = NULL;
			*end = chunk;
			end = &chunk->next;
		}
		else
			chunk_pool_add(pool, chunk);
	}
	return taken;
}

void
chunk_pool_empty(ChunkPool *pool)
{
	Chunk *chunks = chunk_pool_take_all(pool);

	for (Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
		chunk_reset(chunk);
	add_chunks(pool, chunks, false);
}

static void
free_chunks(ChunkPool *pool, Chunk *chunks, ChunkRelease release)
{
	Chunk *chunk;

	while ((chunk = pop(&chunks)) != NULL)
	{
		pool->memory -= chunk->size;
		release(chunk);
	}
}

void
chunk_pool_free_filled(ChunkPool *pool, ChunkRelease release)
{
	free_chunks(pool, take_list(pool, &pool->filled), release);
}

void
chunk_pool_free_empty(ChunkPool *pool, ChunkRelease release)
{
	chunk_pool_close(pool);
	free_chunks(pool, take_list(pool, &pool->open), release);
}
