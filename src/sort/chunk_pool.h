/*
 * sort/chunk_pool.h
 *		The chunks of a sort in memory: filled chunks, and chunks that have room.
 *
 * Under a bound the feed leaves out rows that cannot be wanted (sort/bound.h).  As it goes on, more of the
 * rows that it kept at first cannot be wanted either.  They are cut out when there are several times as many
 * rows as are wanted, or when memory is full.  A chunk that then has much room is filled further.
 *
 * The pool has no lock: the caller protects a pool that processes share.  A chunk that was taken is in no
 * list.
 */
#ifndef GPUSORT_SORT_CHUNK_POOL_H
#define GPUSORT_SORT_CHUNK_POOL_H

#include "postgres.h"

#include "sort/bound.h"
#include "sort/group_bound.h"
#include "sort/chunk.h"

typedef struct ChunkPool
{
	Chunk *filled; /* in the order in which they came */
	Chunk **filled_end;
	Chunk *open;	 /* chunks with room: partly filled, after rows were cut out, or empty */
	uint64 nrows;	 /* number of rows in all these chunks */
	uint64 cut_rows; /* number of rows that were left after the last cut */
	int nchunks;	 /* number of chunks made for the pool, with the chunks that are being filled */
	Size memory;	 /* bytes of these chunks */
} ChunkPool;

static inline void
chunk_pool_init(ChunkPool *pool)
{
	memset(pool, 0, sizeof(*pool));
	pool->filled_end = &pool->filled;
}

/* Adds a filled chunk. */
static inline void
chunk_pool_add(ChunkPool *pool, Chunk *chunk)
{
	chunk->next = NULL;
	*pool->filled_end = chunk;
	pool->filled_end = &chunk->next;
	pool->nrows += chunk->nrows;
}

/* Adds a chunk that is to be filled further. */
static inline void
chunk_pool_add_open(ChunkPool *pool, Chunk *chunk)
{
	chunk->next = pool->open;
	pool->open = chunk;
	pool->nrows += chunk->nrows;
}

/*
 * Takes a chunk, partly filled or empty, with room for a row; NULL: there is none.  at_least: bytes of this
 * row, with its entry.
 */
extern Chunk *chunk_pool_take_open(ChunkPool *pool, Size at_least);

/*
 * Returns the bytes of the next chunk, which grow with the memory.  growth: the chunk has 1 / growth of the
 * memory, between `least` and `most` bytes; at_least: bytes of a row, with its entry, that must fit.
 */
extern Size chunk_pool_next_size(const ChunkPool *pool, Size least, Size most, int growth, Size at_least);

/* Treats partly filled chunks as filled from now on. */
extern void chunk_pool_close(ChunkPool *pool);

/*
 * chunk_pool_take_all takes all chunks, to cut them.  chunk_pool_put_cut gives them back afterwards, with the
 * rows that are left.
 */
extern Chunk *chunk_pool_take_all(ChunkPool *pool);
extern void chunk_pool_put_cut(ChunkPool *pool, Chunk *chunks);

/* Cuts rows that can no longer be wanted out of chunks that were taken.  bound or groups: NULL. */
static inline void
chunks_cut(Chunk *chunks, SortBound *bound, GroupFilter *groups)
{
	for (; chunks != NULL; chunks = chunks->next)
		(void) (bound != NULL ? bound_cut_chunk(bound, chunks) : group_filter_cut(groups, chunks));
}

/*
 * Moves the first ones of the filled chunks, and all empty chunks, to another pool and to this place.  parts:
 * the moved chunks have the pool's rows divided by this number.  They still count as this pool's memory.
 */
extern void chunk_pool_hand_over(ChunkPool *pool, ChunkPool *to, int parts, struct Place *place);

/* Takes the filled chunks with fixed keys, or those with variable keys, if a sort has both (key/coded.h). */
extern Chunk *chunk_pool_take_filled(ChunkPool *pool, bool fixed);

/* Makes the filled chunks empty, because their rows are elsewhere. */
extern void chunk_pool_empty(ChunkPool *pool);

/* Free the filled chunks, and the empty ones, by the caller's function. */
typedef void (*ChunkRelease)(Chunk *chunk);
extern void chunk_pool_free_filled(ChunkPool *pool, ChunkRelease release);
extern void chunk_pool_free_empty(ChunkPool *pool, ChunkRelease release);

#endif /* GPUSORT_SORT_CHUNK_POOL_H */
