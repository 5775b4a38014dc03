/*
 * bounds.c
 *		Bounded sorts: the rows that are kept are those that are wanted, and not many more.
 *
 * Several filters take turns, as the processes of a sort would.  Rows that are kept go to chunks, out of
 * which rows are cut now and then; some of them come back, as those do that a device refuses, and are fed
 * again.  In the end an oracle that has seen all keys says which rows had to be there.
 */
#include "postgres.h"

#include "cpu/cpu_sort.h"
#include "sort/bound.h"
#include "sort/record.h"

#define FILTERS_MAX 5
#define BOUND_CHUNK_SIZE ((Size) 64 * 1024)
#define KEY_SIZE_MAX 96

/* One case: what is sorted, and how it comes. */
typedef struct BoundCase
{
	uint64 n;
	uint64 wanted;
	bool with_ties;
	int words;	   /* of fixed keys; 0: variable ones */
	uint64 values; /* different keys at most; 0: any number */
	Size common;   /* bytes that all variable keys begin with */
	int order;	   /* 1 ascending, -1 descending, 0 none */
	int nfilters;
} BoundCase;

/* A key as it is fed. */
typedef struct CaseKey
{
	Size size;
	uint8 bytes[KEY_SIZE_MAX];
} CaseKey;

/* The running case. */
typedef struct BoundRun
{
	const BoundCase *spec;
	SortKey key;
	SortBound bound;
	BoundFilter *filters[FILTERS_MAX];
	Chunk *chunks;
	Chunk *filling;
	CaseKey *keys; /* of all rows */
} BoundRun;

/* ---------------------------------------------------------------- keys */

static uint64
key_number(const BoundCase *spec, uint64 i)
{
	uint64 number = spec->order > 0 ? i : spec->order < 0 ? spec->n - i : random64();

	return spec->values > 0 ? number % spec->values : number;
}

static void
make_key(const BoundCase *spec, uint64 i, CaseKey *key)
{
	uint64 number = KEY_WORD_TO_HOST(key_number(spec, i));

	if (spec->words > 0)
	{
		/* the last word varies, or all do */
		key->size = spec->words * sizeof(uint64);
		memset(key->bytes, 7, key->size);
		memcpy(key->bytes + key->size - sizeof(uint64), &number, sizeof(uint64));
		if (spec->values == 0 && spec->order == 0)
			memcpy(key->bytes, &number, sizeof(uint64));
		return;
	}
	memset(key->bytes, 'c', spec->common);
	memcpy(key->bytes + spec->common, &number, sizeof(uint64));
	key->size = spec->common + sizeof(uint64);
	/* some have more behind that, beyond what filters look at or not */
	for (uint64 more = spec->values > 0 ? random_below(3) : 0; more > 0; more--)
		key->bytes[key->size++] = 1 + random_below(3);
	while (key->size > 0 && key->bytes[key->size - 1] == 0)
		key->size--;
}

static int
compare_keys(const CaseKey *a, const CaseKey *b)
{
	int order = memcmp(a->bytes, b->bytes, Min(a->size, b->size));

	return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static int
compare_for_qsort(const void *a, const void *b)
{
	return compare_keys(a, b);
}

/* ---------------------------------------------------------------- feeding */

/* Rows differ in size; the first word is the row's number. */
static Size
row_size(uint64 row)
{
	return 8 * (1 + row % 5);
}

static void
keep_row(BoundRun *run, uint64 row)
{
	const CaseKey *key = &run->keys[row];
	int width = run->key.width;
	Size size = width > 0 ? chunk_entry_size(width, true) + row_size(row)
						  : chunk_entry_size(0, true) + record_whole_size(key->size, row_size(row));
	char *place;

	if (run->filling == NULL || !chunk_has_room(run->filling, size))
	{
		run->filling = make_chunk(BOUND_CHUNK_SIZE, width, true);
		run->filling->max_rows = PG_UINT64_MAX;
		chunk_reset(run->filling);
		run->filling->next = run->chunks;
		run->chunks = run->filling;
	}
	if (width > 0)
	{
		memcpy(chunk_reserve_fixed(run->filling, width, row_size(row), &place), key->bytes, width);
		chunk_commit_fixed(run->filling, width);
	}
	else
		place = chunk_append_variable(run->filling, key->bytes, key->size, row_size(row));
	memset(place, (int) (row & 0x7f), row_size(row));
	*(uint64 *) place = row;
}

static void
feed_row(BoundRun *run, BoundFilter *filter, uint64 row)
{
	const CaseKey *key = &run->keys[row];

	if (bound_filter_drops(filter, key->bytes, key->size))
	{
		filter->dropped++;
		return;
	}
	bound_filter_note(filter, key->bytes, key->size);
	keep_row(run, row);
}

static void
cut_chunks(BoundRun *run)
{
	for (Chunk *chunk = run->chunks; chunk != NULL; chunk = chunk->next)
	{
		uint64 before = chunk->nrows;

		if (bound_cut_chunk(&run->bound, chunk) != before - chunk->nrows)
			fail("a chunk was cut by another number of rows", "bounds", run->spec->n, run->spec->words);
	}
}

/* In a feed its memory goes with the feed's. */
static void
end_filter(BoundFilter *filter)
{
	bound_filter_flush(filter);
	pfree(filter->splitters);
	pfree(filter->first_words);
	pfree(filter->counts);
	pfree(filter->samples);
	pfree(filter);
}

static void
feed_rows(BoundRun *run)
{
	const BoundCase *spec = run->spec;

	for (uint64 row = 0; row < spec->n; row++)
	{
		feed_row(run, run->filters[random_below(spec->nfilters)], row);
		if (random_below(20000) == 0)
			cut_chunks(run);
	}
	for (int i = 0; i < spec->nfilters; i++)
		end_filter(run->filters[i]);
	cut_chunks(run);
}

/* ---------------------------------------------------------------- the proof */

/* Marks the rows in the chunks; they must be there once, whole, under their keys. */
static void
find_rows(const BoundRun *run, bool *is_there)
{
	Size entry_size = chunk_entry_size(run->key.width, true);

	for (const Chunk *chunk = run->chunks; chunk != NULL; chunk = chunk->next)
	{
		for (uint64 i = 0; i < chunk->nrows; i++)
		{
			const char *entry = chunk->base + i * entry_size;
			const char *place = chunk->base + *(const uint64 *) (entry + entry_size - sizeof(uint64));
			const char *row_place = run->key.variable ? (const char *) record_row(place) : place;
			uint64 row = *(const uint64 *) row_place;
			const CaseKey *key = &run->keys[row];

			if (row >= run->spec->n || is_there[row])
				fail("a row is there twice, or none", "bounds", run->spec->n, run->spec->words);
			is_there[row] = true;
			if (row_size(row) > 8 && row_place[row_size(row) - 1] != (char) (row & 0x7f))
				fail("a row has changed", "bounds", run->spec->n, run->spec->words);
			if (run->key.variable ? record_key_length(place) != key->size ||
										memcmp(record_key(place), key->bytes, key->size) != 0
								  : memcmp(entry, key->bytes, key->size) != 0)
				fail("a key has changed", "bounds", run->spec->n, run->spec->words);
		}
	}
}

static void
prove(const BoundRun *run)
{
	const BoundCase *spec = run->spec;
	CaseKey *sorted = palloc(sizeof(CaseKey) * spec->n);
	bool *is_there = palloc(spec->n);
	const CaseKey *last = &sorted[Min(spec->wanted, spec->n) - 1];
	uint64 enough = 0;

	memcpy(sorted, run->keys, sizeof(CaseKey) * spec->n);
	qsort(sorted, spec->n, sizeof(CaseKey), compare_for_qsort);
	memset(is_there, 0, spec->n);
	find_rows(run, is_there);
	for (uint64 row = 0; row < spec->n; row++)
	{
		int order = compare_keys(&run->keys[row], last);

		if (!is_there[row] && (order < 0 || (order == 0 && spec->with_ties)))
			fail("a row that is wanted is not there", "bounds", spec->n, spec->words);
		enough += is_there[row] && order <= 0;
	}
	if (enough < Min(spec->wanted, spec->n))
		fail("too few rows are there", "bounds", spec->n, spec->words);
	pfree(is_there);
	pfree(sorted);
}

/* Rows in no order, all different: about as many are kept as there must be. */
static void
prove_few_kept(const BoundRun *run)
{
	const BoundCase *spec = run->spec;
	double wanted = spec->wanted;
	uint64 kept = spec->n - run->bound.dropped;

	if (spec->order == 0 && spec->values == 0 && spec->common < 32 &&
		kept > 1.2 * wanted + 3.0 * BOUND_SAMPLES * spec->nfilters)
		fail("too many rows are kept", "bounds", spec->n, spec->words);
}

/* ---------------------------------------------------------------- cases */

static void
run_case(const BoundCase *spec)
{
	BoundRun run = {.spec = spec};
	Size live = live_bytes;

	run.key.variable = spec->words == 0;
	run.key.width = spec->words * sizeof(uint64);
	run.keys = palloc(sizeof(CaseKey) * spec->n);
	for (uint64 i = 0; i < spec->n; i++)
		make_key(spec, i, &run.keys[i]);
	bound_init(&run.bound, &run.key, spec->wanted, spec->with_ties);
	for (int i = 0; i < spec->nfilters; i++)
		run.filters[i] = bound_filter_create(&run.bound);
	feed_rows(&run);
	prove(&run);
	prove_few_kept(&run);
	free_chunks(run.chunks);
	pfree(run.keys);
	if (live_bytes != live)
		fail("memory is not given back", "bounds", spec->n, spec->words);
}

void
check_bounds(void)
{
	static const uint64 sizes[] = {1, 31, 1023, 1024, 1025, 5000, 100000};
	static const uint64 values[] = {0, 0, 1, 2, 100, 5000};
	static const Size commons[] = {0, 3, 55, 56, 57, 64, 80};

	for (int i = 0; i < 400; i++)
	{
		uint64 n = sizes[random_below(lengthof(sizes))];
		BoundCase spec = {
			.n = n,
			.wanted = random_below(2) ? 1 + random_below(n) : 1 + random_below(Min(n, 50)),
			.with_ties = random_below(3) == 0,
			.words = (int) random_below(KEY_MAX_WORDS + 1),
			.values = values[random_below(lengthof(values))],
			.common = commons[random_below(lengthof(commons))],
			.order = (int) random_below(3) - 1,
			.nfilters = 1 + (int) random_below(FILTERS_MAX),
		};

		run_case(&spec);
	}
}
