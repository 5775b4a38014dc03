/*
 * chunks.c
 *		Chunks that are put together: all rows are there, in their order, under their keys, and what the whole
 *		says of the order and the bits of its keys is true.  Chunks that go from one pool to another: none is
 *		lost, and neither is a row.
 */
#include "postgres.h"

#include "cpu/cpu_sort.h"
#include "sort/chunk_pool.h"

#define WHOLE_SIZE ((Size) 64 * 1024)
#define PART_SIZE ((Size) 8 * 1024)
#define PARTS_MAX 5
#define ROWS_MAX 40 /* of a part */

/* Rows of two words, of which the first is the last word of their key. */
#define ROW_SIZE (2 * sizeof(uint64))

/* The keys that were put into the whole, in words as they lie in memory. */
typedef struct Keys
{
	int nwords;
	uint64 n;
	uint64 words[PARTS_MAX * ROWS_MAX][KEY_MAX_WORDS];
} Keys;

static void
wrong(const char *what, const Keys *keys)
{
	fail(what, "chunks", keys->n, keys->nwords);
}

static Chunk *
make_empty(Size size, int nwords)
{
	Chunk *chunk = make_chunk(size, nwords * (int) sizeof(uint64), true);

	chunk->max_rows = PG_UINT64_MAX;
	chunk_reset(chunk);
	return chunk;
}

/* Some rows behind each other: their last words go up, go down, are equal, or are any. */
static Chunk *
make_part(Keys *keys, uint64 start)
{
	Chunk *part = make_empty(PART_SIZE, keys->nwords);
	int64 step = (int64) random_below(3) - 1;
	bool random = random_below(4) == 0;
	uint64 n = random_below(ROWS_MAX + 1);

	for (uint64 i = 0; i < n; i++)
	{
		uint64 *words = keys->words[keys->n++];
		int width = keys->nwords * (int) sizeof(uint64);
		char *place;

		memset(words, 0, sizeof(keys->words[0]));
		words[keys->nwords - 1] =
			KEY_WORD_TO_HOST(random ? random_below(100) : start + (uint64) (step * (int64) i));
		memcpy(chunk_reserve_fixed(part, width, ROW_SIZE, &place), words, width);
		chunk_commit_fixed(part, width);
		((uint64 *) place)[0] = words[keys->nwords - 1];
		((uint64 *) place)[1] = keys->n;
	}
	return part;
}

static void
prove_rows(const Keys *keys, const Chunk *whole)
{
	Size entry_size = chunk_entry_size(whole->key_width, true);

	if (whole->nrows != keys->n)
		wrong("there are more rows, or fewer", keys);
	for (uint64 i = 0; i < keys->n; i++)
	{
		const char *entry = whole->base + i * entry_size;
		const uint64 *row =
			(const uint64 *) (whole->base + *(const uint64 *) (entry + entry_size - sizeof(uint64)));

		if (memcmp(entry, keys->words[i], whole->key_width) != 0)
			wrong("a key is another one", keys);
		if (row[0] != keys->words[i][keys->nwords - 1] || row[1] != i + 1)
			wrong("a row is another one", keys);
	}
}

static void
prove_what_is_said(const Keys *keys, const Chunk *whole)
{
	int last = keys->nwords - 1;

	for (uint64 i = 1; i < keys->n; i++)
	{
		uint64 before = KEY_WORD_TO_HOST(keys->words[i - 1][last]);
		uint64 number = KEY_WORD_TO_HOST(keys->words[i][last]);

		if ((whole->ascending && number < before) || (whole->descending && number >= before))
			wrong("the order is not what is said", keys);
		if (((keys->words[i][last] ^ keys->words[0][last]) & ~whole->key_differs[last]) != 0)
			wrong("bits differ of which it is not said", keys);
	}
}

/* ---------------------------------------------------------------- pools */

#define POOL_CHUNKS_MAX 12

/* What the lists of a pool have. */
typedef struct Held
{
	uint64 chunks;
	uint64 rows;
} Held;

static Held
held_in(const Chunk *chunks)
{
	Held held = {0};

	for (; chunks != NULL; chunks = chunks->next)
	{
		held.chunks++;
		held.rows += chunks->nrows;
	}
	return held;
}

/* Some chunks, of which about half are empty, filled or with room. */
static void
fill_pool(ChunkPool *pool, Keys *keys)
{
	for (uint64 i = random_below(POOL_CHUNKS_MAX + 1); i > 0; i--)
	{
		Chunk *chunk = random_below(2) == 0 ? make_empty(PART_SIZE, keys->nwords) : make_part(keys, i);

		keys->n = 0;
		pool->nchunks++;
		pool->memory += chunk->size;
		if (chunk->nrows > 0 && random_below(2) == 0)
			chunk_pool_add(pool, chunk);
		else
			chunk_pool_add_open(pool, chunk);
	}
}

static void
free_one(Chunk *chunk)
{
	chunk->next = NULL;
	free_chunks(chunk);
}

/* What stays is handed over at last. */
static void
check_pools(Keys *keys)
{
	ChunkPool pool;
	ChunkPool to;
	Held before;
	Size memory;

	keys->n = 0;
	keys->nwords = 1;
	chunk_pool_init(&pool);
	chunk_pool_init(&to);
	fill_pool(&pool, keys);
	memory = pool.memory;
	chunk_pool_close(&pool);
	before.chunks = held_in(pool.filled).chunks + held_in(pool.open).chunks;
	before.rows = held_in(pool.filled).rows;
	for (int parts = 1 + (int) random_below(4); parts > 0; parts--)
	{
		uint64 rows = to.nrows + pool.nrows / parts;

		chunk_pool_hand_over(&pool, &to, parts, NULL);
		if (to.nrows < rows || (parts == 1 && pool.filled != NULL) || pool.open != NULL)
			wrong("a pool keeps chunks that it was to hand over", keys);
		if (to.nrows + pool.nrows != before.rows || held_in(to.filled).rows != to.nrows ||
			held_in(pool.filled).rows != pool.nrows)
			wrong("rows are lost between pools", keys);
	}
	if (held_in(to.filled).chunks + held_in(to.open).chunks != before.chunks || to.memory != memory)
		wrong("chunks are lost between pools", keys);
	chunk_pool_free_filled(&to, free_one);
	chunk_pool_free_empty(&to, free_one);
}

void
check_chunks(void)
{
	Keys *keys = palloc(sizeof(Keys));

	for (int i = 0; i < 2000; i++)
	{
		Chunk *whole;
		uint64 nparts = 1 + random_below(PARTS_MAX);

		keys->n = 0;
		keys->nwords = 1 + (int) random_below(KEY_MAX_WORDS);
		whole = make_empty(WHOLE_SIZE, keys->nwords);
		for (uint64 p = 0; p < nparts; p++)
		{
			Chunk *part = make_part(keys, 100 + random_below(100) * p);

			chunk_copy(whole, part);
			free_chunks(part);
			prove_rows(keys, whole);
			prove_what_is_said(keys, whole);
		}
		free_chunks(whole);
	}
	for (int i = 0; i < 500; i++)
		check_pools(keys);
	pfree(keys);
}
