/*
 * sort/chunk_pool.h
 *		The chunks of a sort in memory: those that are filled, and those that have room.
 *
 * Under a bound the feed leaves out rows that can't be wanted (sort/bound.h), but the longer it goes on, the
 * more of the rows that it kept at first can't be wanted either.  When there are several times as many rows
 * as are wanted, or when memory is full, they are cut out.  A chunk that has much room then is filled
 * further.
 *
 * The pool locks nothing: a pool that processes share has its caller's lock.  A chunk that was taken is in no
 * list.
 */
#ifndef GPUSORT_SORT_CHUNK_POOL_H
#define GPUSORT_SORT_CHUNK_POOL_H

#include "postgres.h"

#include "sort/bound.h"
#include "sort/chunk.h"

typedef struct ChunkPool
{
	Chunk *filled; /* in the order they came */
	Chunk **filled_end;
	Chunk *open;	 /* with room: partly filled, after rows were cut out, or empty */
	uint64 nrows;	 /* in all these */
	uint64 cut_rows; /* so many rows were left the last time */
	int nchunks;	 /* made for the pool, with those that are being filled */
	Size memory;	 /* bytes of them */
} ChunkPool;

static inline void
chunk_pool_init(ChunkPool *pool)
{
	memset(pool, 0, sizeof(*pool));
	pool->filled_end = &pool->filled;
}

/* A filled chunk. */
static inline void
chunk_pool_add(ChunkPool *pool, Chunk *chunk)
{
	chunk->next = NULL;
	*pool->filled_end = chunk;
	pool->filled_end = &chunk->next;
	pool->nrows += chunk->nrows;
}

/* One to be filled further. */
static inline void
chunk_pool_add_open(ChunkPool *pool, Chunk *chunk)
{
	chunk->next = pool->open;
	pool->open = chunk;
	pool->nrows += chunk->nrows;
}

/* A chunk with room for a row of so many bytes, partly filled or empty, or NULL. */
extern Chunk *chunk_pool_take_open(ChunkPool *pool, Size at_least);

/* Bytes of the next chunk, which grow with the memory: 1 / growth of it, between these two sizes. */
extern Size chunk_pool_next_size(const ChunkPool *pool, Size least, Size most, int growth, Size at_least);

/* Partly filled chunks are taken for filled ones. */
extern void chunk_pool_close(ChunkPool *pool);

/* All chunks are taken, to cut them; given back when that is done, with the rows that are left. */
extern Chunk *chunk_pool_take_all(ChunkPool *pool);
extern void chunk_pool_put_cut(ChunkPool *pool, Chunk *chunks);

/* Cuts rows that can't be wanted any more out of chunks that were taken. */
static inline void
chunks_cut(Chunk *chunks, SortBound *bound)
{
	for (; chunks != NULL; chunks = chunks->next)
		(void) bound_cut_chunk(bound, chunks);
}

/*
 * The first ones of the filled chunks, with one of so many parts of the rows, and all that are empty, are
 * another pool's from now on, and of this place.  They still count as this one's memory.
 */
extern void chunk_pool_hand_over(ChunkPool *pool, ChunkPool *to, int parts, struct Place *place);

/* The rows of the filled chunks are elsewhere: the chunks are empty. */
extern void chunk_pool_empty(ChunkPool *pool);

/* Frees the filled chunks; the empty ones.  The caller says how. */
typedef void (*ChunkRelease)(Chunk *chunk);
extern void chunk_pool_free_filled(ChunkPool *pool, ChunkRelease release);
extern void chunk_pool_free_empty(ChunkPool *pool, ChunkRelease release);

#endif /* GPUSORT_SORT_CHUNK_POOL_H */
