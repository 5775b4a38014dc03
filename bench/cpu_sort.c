/*
 * cpu_sort.c
 *		Checks and times the host-memory sorts, without a server.
 *
 *	  cpu_sort --check [seed]		every distribution, width and edge size against an oracle; exits 1 at a failure
 *	  cpu_sort fixed [rows [name]]	ns of processor time a row of fixed keys, by distribution and width
 *	  cpu_sort strings [rows [name]]	the same of variable keys
 *
 * Every result is checked before its time is printed: the items are a permutation of
 * the entries, and their keys are in order.  --check compares with qsort as well.
 */
#include "postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "huge_memory.h"
#include "key_squeeze.h"
#include "sample_sort.h"
#include "string_sort.h"

/* The server's part, as far as the sorts use it.  Memory is counted, and must be given back. */

MemoryContext CurrentMemoryContext = NULL;
volatile sig_atomic_t InterruptPending = false;

static Size live_bytes;
static Size peak_bytes;

#define HEADER_SIZE 64

void *
MemoryContextAllocHuge(MemoryContext context, Size size)
{
	char	   *p = aligned_alloc(HEADER_SIZE, TYPEALIGN(HEADER_SIZE, size) + HEADER_SIZE);

	if (p == NULL)
		abort();
	*(Size *) p = size;
	live_bytes += size;
	peak_bytes = Max(peak_bytes, live_bytes);
	return p + HEADER_SIZE;
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return MemoryContextAllocHuge(context, size);
}

void *
palloc(Size size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, size);
}

void
pfree(void *p)
{
	live_bytes -= *(Size *) ((char *) p - HEADER_SIZE);
	free((char *) p - HEADER_SIZE);
}

void
ProcessInterrupts(void)
{
}

void
ExceptionalCondition(const char *condition, const char *type, const char *file, int line)
{
	fprintf(stderr, "assertion failed: %s, %s:%d\n", condition, file, line);
	abort();
}

/* Random numbers, splitmix64. */

static uint64 random_state;

static uint64
random64(void)
{
	uint64		z = (random_state += UINT64CONST(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static uint64
random_below(uint64 n)
{
	return random64() % n;
}

/* The processor's time: others on the machine slow it down, but don't count in full. */
static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Distributions: the i-th of n numbers. */

typedef enum Distribution
{
	UNIFORM,
	UNIFORM_32,
	FEW_DISTINCT,
	SQRT_DISTINCT,
	ZIPF,
	ALL_EQUAL,
	TWO_VALUES,
	MOSTLY_ONE,
	SORTED,
	REVERSED,
	NEARLY_SORTED,
	ORGAN_PIPE,
	EXPONENTIAL,
	STAGGERED,
	NDISTRIBUTIONS
} Distribution;

static const char *const distribution_name[] = {
	"uniform", "uniform 32 bit", "100 distinct", "sqrt(n) distinct", "zipf", "all equal", "two values", "90% one value",
	"sorted", "reversed", "nearly sorted", "organ pipe", "exponential", "staggered"
};

static uint64
distribution_key(Distribution d, uint64 i, uint64 n)
{
	switch (d)
	{
		case UNIFORM:
			return random64();
		case UNIFORM_32:
			return random64() >> 32;
		case FEW_DISTINCT:
			return random_below(100) * UINT64CONST(0x0123456789ABCDEF);
		case SQRT_DISTINCT:
			{
				uint64		root = 1;

				while (root * root < n)
					root *= 2;
				return random_below(root) * UINT64CONST(0x9E3779B97F4A7C15);
			}
		case ZIPF:
			/* P(rank > r) ~ 1/r */
			return (uint64) (1.0 / (((random64() >> 11) + 1) * 0x1p-53)) * UINT64CONST(0x9E3779B97F4A7C15);
		case ALL_EQUAL:
			return 42;
		case TWO_VALUES:
			return random64() % 2 ? 5 : UINT64CONST(1) << 63;
		case MOSTLY_ONE:
			return random_below(10) ? UINT64CONST(0x8000000000000000) : random64();
		case SORTED:
			return i * 3;
		case REVERSED:
			return (n - i) * 3;
		case NEARLY_SORTED:
			return random_below(100) ? i * 3 : random_below(n * 3);
		case ORGAN_PIPE:
			return i < n / 2 ? i : n - i;
		case EXPONENTIAL:
			return random64() >> random_below(64);
		case STAGGERED:
			return (i * 7919 % Max(n, 1)) << 20;
		default:
			return 0;
	}
}

/* Chunks */

#define CHUNK_SIZE ((Size) 8 * 1024 * 1024)

static Chunk *
make_chunk(Size size)
{
	Chunk	   *chunk = palloc(sizeof(Chunk));

	memset(chunk, 0, sizeof(Chunk));
	chunk->base = huge_alloc(size);
	chunk->size = size;
	chunk->back = size;
	return chunk;
}

static void
free_chunks(Chunk *chunk)
{
	while (chunk != NULL)
	{
		Chunk	   *next = chunk->next;

		pfree(chunk->base);
		pfree(chunk);
		chunk = next;
	}
}

static void
fail(const char *what, const char *name, uint64 n, int words)
{
	fprintf(stderr, "FAILED: %s: %s, %llu rows, %d words\n", what, name, (unsigned long long) n, words);
	exit(1);
}

/*
 * Chunks of n fixed keys.  The distribution makes the words behind `lead`; the words before it are constant or, with
 * `lead_values`, take so many values.  Rows are 8 bytes, the row's number.
 */
typedef struct FixedSpec
{
	Distribution distribution;
	int			full_words;
	int			lead;
	uint64		lead_values;
	uint64		mask;			/* and-ed with the distributed words */
} FixedSpec;

static Chunk *
make_fixed(const FixedSpec *spec, uint64 n, Size chunk_size, KeyVariation *variation)
{
	Size		entry_size = (spec->full_words + 1) * sizeof(uint64);
	Chunk	   *first = NULL;
	Chunk	  **link = &first;
	Chunk	   *chunk = NULL;

	memset(variation, 0, sizeof(*variation));
	for (uint64 i = 0; i < n; i++)
	{
		uint64	   *entry;

		if (chunk == NULL || chunk->back - chunk->front < entry_size + sizeof(uint64))
		{
			chunk = *link = make_chunk(chunk_size);
			link = &chunk->next;
		}
		chunk->back -= sizeof(uint64);
		*(uint64 *) (chunk->base + chunk->back) = i;
		entry = (uint64 *) (chunk->base + chunk->front);
		for (int w = 0; w < spec->full_words; w++)
		{
			uint64		word = w < spec->lead ? random_below(spec->lead_values) * 0x0101 :
				distribution_key(spec->distribution, i, n) & spec->mask;

			entry[w] = KEY_WORD_TO_HOST(word);
			if (i == 0)
				variation->first[w] = word;
			variation->differs[w] |= word ^ variation->first[w];
		}
		entry[spec->full_words] = chunk->back;
		chunk->front += entry_size;
		chunk->nrows++;
	}
	return first;
}

static int	compare_words;

static int
compare_entries(const void *a, const void *b)
{
	return memcmp(a, b, compare_words * sizeof(uint64));
}

/* Checks items against the chunks: each row once, with its own key, in order. */
static void
check_fixed(const char *name, const Chunk *chunks, uint64 n, const KeySqueeze *squeeze, const uint64 *items)
{
	int			stride = squeeze->full_words + 1;
	uint64	   *full = huge_alloc((n + 1) * stride * sizeof(uint64));
	uint64		key[KEY_MAX_WORDS];
	uint8	   *seen = palloc(n + 1);

	memset(seen, 0, n + 1);
	for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
		for (uint64 i = 0; i < chunk->nrows; i++)
		{
			const uint64 *entry = (const uint64 *) chunk->base + i * stride;
			uint64		row = *(uint64 *) (chunk->base + entry[stride - 1]);

			memcpy(full + row * stride, entry, (stride - 1) * sizeof(uint64));
		}
	for (uint64 i = 0; i < n; i++)
	{
		const uint64 *item = items + i * (squeeze->nwords + 1);
		uint64		row = *(uint64 *) (uintptr_t) item[squeeze->nwords];

		if (row >= n || seen[row])
			fail("not a permutation", name, n, squeeze->nwords);
		seen[row] = 1;
		key_squeeze_expand(squeeze, item, (uint8 *) key);
		if (memcmp(key, full + row * stride, (stride - 1) * sizeof(uint64)) != 0)
			fail("an item has another key than its row", name, n, squeeze->nwords);
		if (i > 0)
		{
			const uint64 *last = items + (i - 1) * (squeeze->nwords + 1);

			row = *(uint64 *) (uintptr_t) last[squeeze->nwords];
			if (memcmp(full + row * stride, key, (stride - 1) * sizeof(uint64)) > 0)
				fail("not in order", name, n, squeeze->nwords);
		}
	}
	if (n <= 100000)
	{
		compare_words = stride - 1;
		qsort(full, n, stride * sizeof(uint64), compare_entries);
		for (uint64 i = 0; i < n; i++)
		{
			key_squeeze_expand(squeeze, items + i * (squeeze->nwords + 1), (uint8 *) key);
			if (memcmp(key, full + i * stride, (stride - 1) * sizeof(uint64)) != 0)
				fail("not qsort's result", name, n, squeeze->nwords);
		}
	}
	pfree(seen);
	pfree(full);
}

/* Sorts one input `repeat` times and checks it; returns the least ns a row. */
static double
run_fixed(const FixedSpec *spec, uint64 n, Size chunk_size, int repeat, int *nwords)
{
	KeyVariation variation;
	KeySqueeze	squeeze;
	Chunk	   *chunks = make_fixed(spec, n, chunk_size, &variation);
	uint64	   *items;
	double		best = 0;

	key_squeeze_plan(&squeeze, &variation, spec->full_words);
	*nwords = squeeze.nwords;
	items = huge_alloc((n + 1) * SAMPLE_SORT_ITEM_SIZE(squeeze.nwords));
	memset(items, 0, (n + 1) * SAMPLE_SORT_ITEM_SIZE(squeeze.nwords));
	for (int r = 0; r < repeat; r++)
	{
		Size		before = live_bytes;
		double		start = now_ns();
		double		took;

		peak_bytes = live_bytes;
		sample_sort_chunks(chunks, n, &squeeze, items);
		took = (now_ns() - start) / Max(n, 1);
		if (r == 0 || took < best)
			best = took;
		if (live_bytes != before)
			fail("memory is left", distribution_name[spec->distribution], n, squeeze.nwords);
		if (peak_bytes - before > sample_sort_scratch_size(n, squeeze.nwords))
			fail("more scratch memory than announced", distribution_name[spec->distribution], n, squeeze.nwords);
	}
	check_fixed(distribution_name[spec->distribution], chunks, n, &squeeze, items);
	pfree(items);
	free_chunks(chunks);
	return best;
}

/* Strings */

typedef enum StringKind
{
	STRING_RANDOM,
	STRING_PATHS,
	STRING_WORDS,
	STRING_SHARED_PREFIX,
	STRING_SKEWED,
	STRING_LADDER,
	STRING_LONG_EQUAL,
	STRING_SHORT,
	STRING_SHARED_16,
	NSTRING_KINDS
} StringKind;

static const char *const string_name[] = {
	"random", "paths", "words", "1000-byte prefix", "one huge segment", "a, aa, aaa ...", "1 MB, equal", "short", "16-byte prefix"
};

#define MAX_STRING ((Size) 1024 * 1024 + 64)

/* Makes the i-th of n keys, no zero byte at its end.  Returns its length. */
static Size
make_string(StringKind kind, uint64 i, uint64 n, char *s)
{
	static const char *const part[] = {"usr", "local", "share", "lib", "python3.11", "site-packages", "postgresql", "include"};
	Size		len = 0;

	switch (kind)
	{
		case STRING_RANDOM:
			len = 8 + random_below(32);
			for (Size j = 0; j < len; j++)
				s[j] = 1 + random_below(255);
			return len;
		case STRING_PATHS:
			for (int p = 0; p < 6; p++)
				len += sprintf(s + len, "/%s", part[random_below(p < 3 ? 2 : 8)]);
			return len + sprintf(s + len, "/file%06llu.c", (unsigned long long) random_below(1000000));
		case STRING_WORDS:
			{
				uint64		rank = (uint64) (1.0 / (((random64() >> 11) + 1) * 0x1p-53)) % 50000;
				uint64		bits = (rank + 1) * UINT64CONST(0x9E3779B97F4A7C15);

				len = 3 + bits % 12;
				for (Size j = 0; j < len; j++)
					s[j] = 'a' + ((bits >> (j * 4)) + j * rank) % 26;
				return len;
			}
		case STRING_SHARED_PREFIX:
			memset(s, 'p', 1000);
			return 1000 + sprintf(s + 1000, "%llu", (unsigned long long) random_below(n));
		case STRING_SKEWED:
			if (random_below(100) < 60)
				return sprintf(s, "the same%08llu", (unsigned long long) random_below(n));
			return sprintf(s, "%08llutail%llu", (unsigned long long) random_below(n / 4 + 1), (unsigned long long) random_below(100));
		case STRING_LADDER:
			len = random_below(2000);
			memset(s, 'a', len);
			return len;
		case STRING_LONG_EQUAL:
			memset(s, 'e', MAX_STRING - 64);
			return MAX_STRING - 64;
		case STRING_SHORT:
			len = random_below(10);
			for (Size j = 0; j < len; j++)
				s[j] = j + 1 < len ? random_below(3) : 1 + random_below(2);
			return len;
		case STRING_SHARED_16:
			return sprintf(s, "customer-account%012llu", (unsigned long long) random_below(n * 10));
		default:
			return 0;
	}
}

static Chunk *
make_strings(StringKind kind, uint64 n)
{
	Chunk	   *first = NULL;
	Chunk	  **link = &first;
	Chunk	   *chunk = NULL;
	char	   *s = palloc(MAX_STRING);

	for (uint64 i = 0; i < n; i++)
	{
		Size		len = make_string(kind, i, n, s);
		Size		padded = TYPEALIGN(8, len);
		uint64	   *entry;
		char	   *record;

		if (chunk == NULL || chunk->back - chunk->front < padded + 4 * sizeof(uint64))
		{
			chunk = *link = make_chunk(CHUNK_SIZE);
			link = &chunk->next;
		}
		chunk->back -= padded + 2 * sizeof(uint64);
		record = chunk->base + chunk->back;
		memset(record, 0, padded + 2 * sizeof(uint64));
		*(uint64 *) record = len;
		memcpy(record + sizeof(uint64), s, len);
		*(uint64 *) (record + sizeof(uint64) + padded) = i;
		entry = (uint64 *) (chunk->base + chunk->front);
		entry[0] = padded > 0 ? *(uint64 *) (record + sizeof(uint64)) : 0;
		entry[1] = chunk->back;
		chunk->front += 2 * sizeof(uint64);
		chunk->nrows++;
	}
	pfree(s);
	return first;
}

static int
compare_records(const char *a, const char *b)
{
	Size		la = *(const uint64 *) a;
	Size		lb = *(const uint64 *) b;
	int			cmp = memcmp(a + 8, b + 8, Min(la, lb));

	return cmp ? cmp : (la > lb) - (la < lb);
}

static double
run_strings(StringKind kind, uint64 n, int repeat)
{
	Chunk	   *chunks = make_strings(kind, n);
	StringSortItem *items = huge_alloc((n + 1) * sizeof(StringSortItem));
	uint8	   *seen = palloc(n + 1);
	double		best = 0;

	memset(items, 0, (n + 1) * sizeof(StringSortItem));
	for (int r = 0; r < repeat; r++)
	{
		Size		before = live_bytes;
		double		start = now_ns();
		double		took;

		peak_bytes = live_bytes;
		string_sort_chunks(chunks, n, items);
		took = (now_ns() - start) / Max(n, 1);
		if (r == 0 || took < best)
			best = took;
		if (live_bytes != before)
			fail("memory is left", string_name[kind], n, 0);
		if (peak_bytes - before > string_sort_scratch_size(n))
			fail("more scratch memory than announced", string_name[kind], n, 0);
	}
	memset(seen, 0, n + 1);
	for (uint64 i = 0; i < n; i++)
	{
		uint64		row = *(uint64 *) (items[i].record + 8 + TYPEALIGN(8, *(uint64 *) items[i].record));

		if (row >= n || seen[row])
			fail("not a permutation", string_name[kind], n, 0);
		seen[row] = 1;
		if (i > 0 && compare_records(items[i - 1].record, items[i].record) > 0)
			fail("not in order", string_name[kind], n, 0);
	}
	pfree(seen);
	pfree(items);
	free_chunks(chunks);
	return best;
}

/* The squeeze by itself: random variations keep the order, and expand to the same key. */
static void
check_squeeze(void)
{
	for (int round = 0; round < 20000; round++)
	{
		int			words = 1 + random_below(KEY_MAX_WORDS);
		KeyVariation variation;
		KeySqueeze	squeeze;
		uint64		key[2][KEY_MAX_WORDS];
		uint64		squeezed[2][KEY_MAX_WORDS];
		uint64		again[KEY_MAX_WORDS];
		int			order = 0;
		int			squeezed_order = 0;
		int			nbits = 0;

		for (int w = 0; w < words; w++)
		{
			variation.first[w] = random64();
			variation.differs[w] = random_below(3) == 0 ? 0 : random64() & (random_below(2) ? random64() : ~UINT64CONST(0))
				& (random_below(2) ? (random64() >> random_below(64)) << random_below(64) : ~UINT64CONST(0));
			nbits += __builtin_popcountll(variation.differs[w]);
		}
		key_squeeze_plan(&squeeze, &variation, words);
		if (squeeze.nwords < 1 || squeeze.nwords > words || squeeze.npieces > KEY_SQUEEZE_MAX_PIECES)
			fail("a plan out of bounds", "squeeze", round, words);
		if (squeeze.npieces < 13 && squeeze.nwords != Max(1, (nbits + 63) / 64))
			fail("more words than needed", "squeeze", round, words);
		for (int k = 0; k < 2; k++)
		{
			uint64		loaded[KEY_MAX_WORDS];

			for (int w = 0; w < words; w++)
			{
				key[k][w] = variation.first[w] ^ (random64() & variation.differs[w]);
				loaded[w] = KEY_WORD_TO_HOST(key[k][w]);
			}
			key_squeeze_apply(&squeeze, squeeze.npieces, squeeze.nwords, loaded, squeezed[k]);
			key_squeeze_expand(&squeeze, squeezed[k], (uint8 *) again);
			if (memcmp(again, loaded, words * sizeof(uint64)) != 0)
				fail("expanding gives another key", "squeeze", round, words);
		}
		for (int w = 0; w < words && order == 0; w++)
			order = (key[0][w] > key[1][w]) - (key[0][w] < key[1][w]);
		for (int w = 0; w < squeeze.nwords && squeezed_order == 0; w++)
			squeezed_order = (squeezed[0][w] > squeezed[1][w]) - (squeezed[0][w] < squeezed[1][w]);
		if (order != squeezed_order)
			fail("squeezed keys order otherwise", "squeeze", round, words);
	}
}

static void
check_all(void)
{
	static const uint64 edges[] = {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130, 255, 256,
		257, 511, 512, 513, 1000, 4095, 4096, 4097, 20000, 65535, 65536, 65537, 100000, 600000};
	static const uint64 masks[] = {~UINT64CONST(0), 0xFFFF, UINT64CONST(0xFF000000000000FF), 0x7};
	int			nwords;

	check_squeeze();
	for (int e = 0; e < lengthof(edges); e++)
		for (int d = 0; d < NDISTRIBUTIONS; d++)
			for (int words = 1; words <= KEY_MAX_WORDS; words++)
			{
				FixedSpec	spec = {d, words, random_below(words), 1 + random_below(1 + edges[e] / (1 + random_below(1000))),
					masks[random_below(lengthof(masks))]};

				if (edges[e] > 100000 && words != 1 + (int) random_below(KEY_MAX_WORDS))
					continue;
				run_fixed(&spec, edges[e], random_below(2) ? 4096 : 1024 * 1024, 1, &nwords);
			}
	for (int kind = 0; kind < NSTRING_KINDS; kind++)
		for (int e = 0; e < lengthof(edges); e++)
		{
			if (edges[e] > (kind == STRING_LONG_EQUAL ? 33 : kind == STRING_LADDER || kind == STRING_SHARED_PREFIX ? 20000 : 600000))
				break;
			run_strings(kind, edges[e], 1);
		}
}

static void
bench_fixed(uint64 n, const char *only)
{
	static const struct
	{
		const char *name;
		FixedSpec	spec;
	}			wide[] = {
		{"24-byte entry, 8 bytes vary", {UNIFORM, 2, 1, 1, ~UINT64CONST(0)}},
		{"nullable (int4, int8)", {UNIFORM, 2, 0, 1, UINT64CONST(0x00FFFFFF00FFFFFF)}},
		{"2 words", {UNIFORM, 2, 0, 1, ~UINT64CONST(0)}},
		{"2 words, first of 1000 values", {UNIFORM, 2, 1, 1000, ~UINT64CONST(0)}},
		{"2 words, first of 2 values", {UNIFORM, 2, 1, 2, ~UINT64CONST(0)}},
		{"2 words, 90% one value each", {MOSTLY_ONE, 2, 0, 1, ~UINT64CONST(0)}},
		{"2 words, zipf", {ZIPF, 2, 0, 1, ~UINT64CONST(0)}},
		{"3 words", {UNIFORM, 3, 0, 1, ~UINT64CONST(0)}},
		{"4 words", {UNIFORM, 4, 0, 1, ~UINT64CONST(0)}},
	};
	int			nwords;

	for (int d = 0; d < NDISTRIBUTIONS; d++)
	{
		FixedSpec	spec = {d, 1, 0, 1, ~UINT64CONST(0)};
		double		ns;

		if (strncmp(distribution_name[d], only, strlen(only)) != 0)
			continue;
		ns = run_fixed(&spec, n, CHUNK_SIZE, 3, &nwords);
		printf("%-32s %d words %7.1f ns/row\n", distribution_name[d], nwords, ns);
		fflush(stdout);
	}
	for (int i = 0; i < lengthof(wide); i++)
	{
		double		ns;

		if (strncmp(wide[i].name, only, strlen(only)) != 0)
			continue;
		ns = run_fixed(&wide[i].spec, n, CHUNK_SIZE, 3, &nwords);
		printf("%-32s %d words %7.1f ns/row\n", wide[i].name, nwords, ns);
		fflush(stdout);
	}
}

static void
bench_strings(uint64 n, const char *only)
{
	for (int kind = 0; kind < NSTRING_KINDS; kind++)
	{
		uint64		rows = kind == STRING_LONG_EQUAL ? Min(n, 1000) : kind == STRING_SHARED_PREFIX || kind == STRING_LADDER ? Min(n, 100000) : n;

		if (strncmp(string_name[kind], only, strlen(only)) != 0)
			continue;
		printf("%-32s %9llu rows %9.1f ns/row\n", string_name[kind], (unsigned long long) rows, run_strings(kind, rows, 2));
		fflush(stdout);
	}
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint64		number = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	const char *only = argc > 3 ? argv[3] : "";

	random_state = 1;
	if (strcmp(what, "--check") == 0)
	{
		random_state = number ? number : (uint64) time(NULL);
		printf("seed %llu\n", (unsigned long long) random_state);
		fflush(stdout);
		check_all();
		printf("all checks passed\n");
	}
	else if (strcmp(what, "fixed") == 0)
		bench_fixed(number ? number : 20000000, only);
	else if (strcmp(what, "strings") == 0)
		bench_strings(number ? number : 5000000, only);
	else
	{
		fprintf(stderr, "usage: cpu_sort --check [seed] | fixed [rows [name]] | strings [rows [name]]\n");
		return 2;
	}
	return 0;
}
