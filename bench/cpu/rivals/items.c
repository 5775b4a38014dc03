/*
 * items.c
 *		The input of a case, and how it becomes items and is checked.
 */
#include "postgres.h"

#include <pthread.h>

#include "cpu/cpu_sort.h"
#include "cpu/rivals/items.h"
#include "memory/alloc.h"

#define THREADS_MAX 64

/* Words of the widest item. */
#define ITEM_WORDS_MAX 3

const ItemShape item_shapes[NITEM_LAYOUTS] = {
	[KEYS] = {1, 0, 8, 0, 0, 0, false, false},
	[KEY_THEN_ROW] = {1, 8, 16, 0, 16, 8, false, false},
	[ROW_THEN_KEY] = {1, 8, 16, 8, 16, 0, false, false},
	[KEY_THEN_NUMBER] = {1, 4, 12, 0, 12, 8, false, false},
	[KEYS_APART_FROM_ROWS] = {1, 8, 8, 0, 8, 0, false, true},
	[KEYS_APART_FROM_NUMBERS] = {1, 4, 8, 0, 4, 0, false, true},
	[WIDE_KEYS] = {2, 0, 16, 0, 0, 0, false, false},
	[WIDE_KEYS_LAST_WORD_FIRST] = {2, 0, 16, 0, 0, 0, true, false},
	[WIDE_KEY_THEN_ROW] = {2, 8, 24, 0, 24, 16, false, false},
};

const char *const key_distribution_name[NKEY_DISTRIBUTIONS] = {"random", "100 values", "sorted"};

/* ---------------------------------------------------------------- the input */

/* The words of the i-th key.  Of two words the first repeats, unless all are random. */
static uint64
key_word(KeyDistribution distribution, int word, int nwords, uint64 i)
{
	switch (distribution)
	{
		case FEW_KEYS:
			return random_below(100) * UINT64CONST(0x0123456789ABCDEF);
		case SORTED_KEYS:
			return word == nwords - 1 ? i * 3 : i / 1000;
		default:
			return random64();
	}
}

static void
append_entry(Chunk *chunk, KeyDistribution distribution, int nwords, bool has_rows, uint64 i)
{
	uint64 *entry = (uint64 *) (chunk->base + chunk->front);

	for (int w = 0; w < nwords; w++)
		entry[w] = KEY_WORD_TO_HOST(key_word(distribution, w, nwords, i));
	if (has_rows)
	{
		chunk->back -= sizeof(uint64);
		*(uint64 *) (chunk->base + chunk->back) = i;
		entry[nwords] = chunk->back;
	}
	chunk->front += chunk->entry_size;
	chunk->nrows++;
}

void
case_input_make(CaseInput *input, KeyDistribution distribution, int nwords, bool has_rows, uint64 n)
{
	Size key_width = nwords * sizeof(uint64);
	uint64 rows_in_chunk = CHUNK_SIZE / (key_width + (has_rows ? 2 * sizeof(uint64) : 0));
	Chunk **link = &input->first;

	input->nwords = nwords;
	input->has_rows = has_rows;
	input->n = n;
	input->rows_in_chunk = rows_in_chunk;
	input->nchunks = (n + rows_in_chunk - 1) / rows_in_chunk;
	input->chunks = palloc(input->nchunks * sizeof(Chunk *));
	for (uint64 c = 0; c < input->nchunks; c++)
	{
		Chunk *chunk = *link = make_chunk(CHUNK_SIZE, (int) key_width, has_rows);

		link = &chunk->next;
		input->chunks[c] = chunk;
		for (uint64 i = c * rows_in_chunk; i < Min(n, (c + 1) * rows_in_chunk); i++)
			append_entry(chunk, distribution, nwords, has_rows, i);
	}
}

void
case_input_free(CaseInput *input)
{
	free_chunks(input->first);
	pfree(input->chunks);
}

static const uint64 *
input_entry(const CaseInput *input, uint64 i)
{
	const Chunk *chunk = input->chunks[i / input->rows_in_chunk];

	return (const uint64 *) (chunk->base + i % input->rows_in_chunk * chunk->entry_size);
}

/* ---------------------------------------------------------------- items */

Size
items_size(uint64 n)
{
	return (n + 1) * ITEM_WORDS_MAX * sizeof(uint64);
}

void *
items_rows(ItemLayout layout, void *items, uint64 n)
{
	const ItemShape *shape = &item_shapes[layout];

	return shape->apart ? (char *) items + n * shape->key_stride : items;
}

/* Makes items of a chunk's entries, from the first-th on; each layout has a loop of its own. */
static pg_attribute_always_inline void
unpack_chunk(const ItemShape *shape, const Chunk *chunk, uint64 first, char *keys, char *rows)
{
	for (uint64 i = 0; i < chunk->nrows; i++)
	{
		const uint64 *entry = (const uint64 *) (chunk->base + i * chunk->entry_size);
		char *key = keys + (first + i) * shape->key_stride + shape->key_offset;
		char *row = rows + (first + i) * shape->row_stride + shape->row_offset;

		for (int w = 0; w < shape->nwords; w++)
		{
			uint64 word = KEY_WORD_TO_HOST(entry[w]);
			int place = shape->swapped ? shape->nwords - 1 - w : w;

			memcpy(key + place * sizeof(uint64), &word, sizeof(word));
		}
		if (shape->row_size == sizeof(uint64))
		{
			const char *address = chunk->base + entry[shape->nwords];

			memcpy(row, &address, sizeof(address));
		}
		else if (shape->row_size == sizeof(uint32))
		{
			uint32 number = (uint32) (first + i);

			memcpy(row, &number, sizeof(number));
		}
	}
}

static void
unpack(const CaseInput *input, ItemLayout layout, char *keys, char *rows, uint64 from, uint64 to)
{
	for (uint64 c = from; c < to; c++)
	{
		const Chunk *chunk = input->chunks[c];
		uint64 first = c * input->rows_in_chunk;

		switch (layout)
		{
#define UNPACK(layout)                                                \
	case layout:                                                      \
		unpack_chunk(&item_shapes[layout], chunk, first, keys, rows); \
		break
			UNPACK(KEYS);
			UNPACK(KEY_THEN_ROW);
			UNPACK(ROW_THEN_KEY);
			UNPACK(KEY_THEN_NUMBER);
			UNPACK(KEYS_APART_FROM_ROWS);
			UNPACK(KEYS_APART_FROM_NUMBERS);
			UNPACK(WIDE_KEYS);
			UNPACK(WIDE_KEYS_LAST_WORD_FIRST);
			UNPACK(WIDE_KEY_THEN_ROW);
#undef UNPACK
			default:
				break;
		}
	}
}

/* What one of the threads unpacks. */
typedef struct UnpackTask
{
	const CaseInput *input;
	ItemLayout layout;
	char *keys;
	char *rows;
	uint64 from;
	uint64 to;
} UnpackTask;

static void *
run_task(void *arg)
{
	const UnpackTask *task = arg;

	unpack(task->input, task->layout, task->keys, task->rows, task->from, task->to);
	return NULL;
}

/* What the t-th of so many threads has to do. */
static UnpackTask
task_of(const CaseInput *input, ItemLayout layout, void *items, int t, int threads)
{
	return (UnpackTask){input,
						layout,
						items,
						items_rows(layout, items, input->n),
						input->nchunks * t / threads,
						input->nchunks * (t + 1) / threads};
}

void
items_unpack(const CaseInput *input, ItemLayout layout, void *items, int threads)
{
	UnpackTask own = task_of(input, layout, items, 0, threads);
	UnpackTask task[THREADS_MAX];
	pthread_t thread[THREADS_MAX];

	for (int t = 1; t < threads; t++)
	{
		task[t] = task_of(input, layout, items, t, threads);
		if (pthread_create(&thread[t], NULL, run_task, &task[t]) != 0)
			fail("can't start a thread", "unpack", input->n, input->nwords);
	}
	run_task(&own);
	for (int t = 1; t < threads; t++)
		pthread_join(thread[t], NULL);
}

/* ---------------------------------------------------------------- the proof */

/* A sum that tells which keys there are, in any order. */
static uint64
key_hash(const uint64 *words, int nwords)
{
	uint64 hash = 0;

	for (int w = 0; w < nwords; w++)
		hash = (hash ^ words[w]) * UINT64CONST(0x9E3779B97F4A7C15) + w;
	return hash ^ (hash >> 29);
}

static void
load_key(const ItemShape *shape, const char *items, uint64 i, uint64 *words)
{
	const char *key = items + i * shape->key_stride + shape->key_offset;

	for (int w = 0; w < shape->nwords; w++)
		memcpy(&words[w], key + (shape->swapped ? shape->nwords - 1 - w : w) * sizeof(uint64),
			   sizeof(uint64));
}

static void
load_input_key(const CaseInput *input, uint64 i, uint64 *words)
{
	const uint64 *entry = input_entry(input, i);

	for (int w = 0; w < input->nwords; w++)
		words[w] = KEY_WORD_TO_HOST(entry[w]);
}

static uint64
load_row_number(const ItemShape *shape, const char *rows, uint64 i)
{
	const char *row = rows + i * shape->row_stride + shape->row_offset;
	uint32 number;
	const uint64 *address;

	if (shape->row_size == sizeof(uint32))
	{
		memcpy(&number, row, sizeof(number));
		return number;
	}
	memcpy(&address, row, sizeof(address));
	return *address;
}

static void
check_row(const CaseInput *input, const char *name, uint64 row, const uint64 *words, uint8 *seen)
{
	uint64 original[KEY_MAX_WORDS];

	if (row >= input->n || seen[row])
		fail("a row is there twice, or none", name, input->n, input->nwords);
	seen[row] = 1;
	load_input_key(input, row, original);
	if (compare_host_words(original, words, input->nwords) != 0)
		fail("an item has another key than its row", name, input->n, input->nwords);
}

void
items_check(const CaseInput *input, ItemLayout layout, void *items, const char *name)
{
	const ItemShape *shape = &item_shapes[layout];
	const char *rows = items_rows(layout, items, input->n);
	uint64 before[KEY_MAX_WORDS] = {0};
	uint64 words[KEY_MAX_WORDS] = {0};
	uint64 sum = 0;
	uint8 *seen = palloc0(input->n + 1);

	for (uint64 i = 0; i < input->n; i++)
	{
		load_key(shape, items, i, words);
		if (compare_host_words(before, words, input->nwords) > 0)
			fail("not in order", name, input->n, input->nwords);
		memcpy(before, words, sizeof(before));
		sum += key_hash(words, input->nwords);
		load_input_key(input, i, words);
		sum -= key_hash(words, input->nwords);
		if (shape->row_size > 0)
			check_row(input, name, load_row_number(shape, rows, i), before, seen);
	}
	if (sum != 0)
		fail("there are other keys", name, input->n, input->nwords);
	pfree(seen);
}
