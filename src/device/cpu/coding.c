/*
 * device/cpu/coding.c
 *		Sorts whose keys have codes in the place of values (key/coded.h).
 *
 * Before chunks are sorted, their codes become ranks.  Runs have plain keys.  When coding ends, each process
 * feeds the rows of the chunks with codes that it finds again, and no process puts such a chunk afterwards
 * without doing the same.  So, when all have fed, either all chunks have codes or none.
 */
#include "postgres.h"

#include "device/cpu/sorter.h"

void
cpu_begin_coding(CpuSorter *sorter, SortKey *coded)
{
	if (coded == NULL)
		return;
	sort_device_set_layout(sorter->base.device, coded);
	sorter->key = sorter->coded = sorter->base.coded = coded;
	sorter->tables = coded->coding->tables;
}

void
cpu_settle_coding(CpuSorter *sorter)
{
	if (sorter->tables != NULL && sort_key_tables_ended(sorter->tables))
		sorter->key = sorter->plain;
}

const SortKey *
cpu_key_of_chunks(const CpuSorter *sorter)
{
	const Chunk *chunk = sorter->own.filled;

	if (sorter->tables == NULL || chunk == NULL)
		return sorter->key;
	return chunk->key_width > 0 ? sorter->coded : sorter->plain;
}

/* ---------------------------------------------------------------- ranks */

static bool
has_codes(const Chunk *chunk)
{
	for (; chunk != NULL; chunk = chunk->next)
	{
		if (!chunk->ranked)
			return true;
	}
	return false;
}

/* Ranks the values, unless they were ranked for the run before, and none was added since. */
static void
rank_values(CpuSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	if (sorter->ranks != NULL && !value_ranks_have_all(sorter->ranks))
	{
		value_ranks_free(sorter->ranks);
		sorter->ranks = NULL;
	}
	if (sorter->ranks == NULL)
		sorter->ranks = value_ranks_create(sorter->coded);
	MemoryContextSwitchTo(old);
}

void
cpu_rank_chunks(CpuSorter *sorter)
{
	const SortKey *key = cpu_key_of_chunks(sorter);

	if (key->coding == NULL)
		return;
	if (!has_codes(sorter->own.filled))
	{
		/* all processes have ranked the chunks, and could not sort them */
		if (sorter->shared != NULL)
			value_ranks_make_rows(&sorter->shared->ranks, key);
		return;
	}
	rank_values(sorter);
	for (Chunk *chunk = sorter->own.filled; chunk != NULL; chunk = chunk->next)
	{
		value_ranks_give(&sorter->ranks->tables, key, chunk);
		CHECK_FOR_INTERRUPTS();
	}
	value_ranks_make_rows(&sorter->ranks->tables, key);
	if (sorter->external != NULL || key->policy.alone)
		return; /* the run needs the values' keys, and rows the values */
	value_ranks_free(sorter->ranks);
	sorter->ranks = NULL;
}

void
cpu_add_run(CpuSorter *sorter)
{
	bool coded = sorter->tables != NULL && !sorter->sorted.variable;

	if (coded && sorter->ranks == NULL)
		rank_values(sorter);
	sorted_rows_settle_all(&sorter->sorted);
	external_sort_add_run(sorter->external, &sorter->sorted, coded ? sorter->ranks : NULL);
}

/* ---------------------------------------------------------------- the end of codes */

/* Takes the shared chunks that have codes, and lets all processes know that coding has ended. */
static Chunk *
take_shared_chunks(CpuSorter *sorter)
{
	SharedChunks *shared = sorter->shared;
	Chunk *chunks = NULL;

	if (shared != NULL)
		SpinLockAcquire(&shared->base.mutex);
	pg_atomic_write_u32(&sorter->tables->ended, 1);
	if (shared != NULL)
	{
		chunk_pool_close(&shared->pool);
		chunks = chunk_pool_take_filled(&shared->pool, true);
		SpinLockRelease(&shared->base.mutex);
	}
	return chunks;
}

/* The chunk's rows were fed again. */
static void
reuse_chunk(CpuSorter *sorter, Chunk *chunk, bool is_shared)
{
	SharedChunks *shared = sorter->shared;

	chunk_set_layout(chunk, sorter->plain);
	chunk_reset(chunk);
	if (!is_shared)
		chunk_pool_add_open(&sorter->own, chunk);
	else if (sorter->apart)
		arena_discard(chunk->base, chunk->size); /* nobody takes shared chunks any more */
	else
	{
		SpinLockAcquire(&shared->base.mutex);
		chunk_pool_add_open(&shared->pool, chunk);
		SpinLockRelease(&shared->base.mutex);
	}
}

static void
feed_chunks_again(CpuSorter *sorter, Chunk *chunks, bool are_shared,
				  void (*feed_again)(Chunk *chunk, void *arg), void *arg)
{
	while (chunks != NULL)
	{
		Chunk *next = chunks->next;

		feed_again(chunks, arg);
		reuse_chunk(sorter, chunks, are_shared);
		chunks = next;
	}
}

void
cpu_end_coding(Sorter *base, void (*feed_again)(Chunk *chunk, void *arg), void *arg)
{
	CpuSorter *sorter = (CpuSorter *) base;
	Chunk *shared = take_shared_chunks(sorter);
	Chunk *own;

	chunk_pool_close(&sorter->own);
	own = chunk_pool_take_filled(&sorter->own, true);
	sorter->key = sorter->plain;
	base->coded = NULL;
	feed_chunks_again(sorter, own, false, feed_again, arg);
	feed_chunks_again(sorter, shared, true, feed_again, arg);
}
