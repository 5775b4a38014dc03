/*
 * cpu_sort.c
 *		Checks and times the host-memory sorts, without a server.
 *
 *	  cpu_sort --check [seed]		every distribution, width and edge size against an oracle; exits 1 at a failure.
 *									Of many rows all widths of all distributions only with GPUSORT_TEST_ALL=1
 *	  cpu_sort fixed [rows [name]]	ns of processor time a row of fixed keys, by distribution and width
 *	  cpu_sort keys [rows [name]]	the same of keys without rows
 *	  cpu_sort strings [rows [name]]	the same of variable keys
 *	  cpu_sort parallel N [rows [name]]	ns a row by the clock of one process and of N that sort together
 *
 * Every result is checked before its time is printed: the items are a permutation of the entries, and their
 * keys are in order.  --check compares with qsort as well, of items with rows only with GPUSORT_TEST_ALL=1.
 */
#include "postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cpu/cpu_sort.h"
#include "base/pg_compat.h"
#include "memory/alloc.h"
#include "sort/key_squeeze.h"
#include "sort/sample_sort.h"

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

static const char *const distribution_name[] = {"uniform",			"uniform 32 bit", "100 distinct",
												"sqrt(n) distinct", "zipf",			  "all equal",
												"two values",		"90% one value",  "sorted",
												"reversed",			"nearly sorted",  "organ pipe",
												"exponential",		"staggered"};

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
			uint64 root = 1;

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

/*
 * Chunks of n fixed keys.  The distribution makes the words behind `lead`; the words before it are constant
 * or, with `lead_values`, take so many values.  Rows are 8 bytes, the row's number, unless keys stand alone.
 */
typedef struct FixedSpec
{
	Distribution distribution;
	int full_words;
	int lead;
	uint64 lead_values;
	uint64 mask; /* and-ed with the distributed words */
	bool alone;
	bool unsqueezed; /* keys stay as wide as they are */
} FixedSpec;

static Chunk *
make_fixed(const FixedSpec *spec, uint64 n, Size chunk_size, KeyVariation *variation)
{
	int key_width = spec->full_words * sizeof(uint64);
	Size row_size = spec->alone ? 0 : sizeof(uint64);
	Chunk *first = NULL;
	Chunk **link = &first;
	Chunk *chunk = NULL;

	memset(variation, 0, sizeof(*variation));
	for (uint64 i = 0; i < n; i++)
	{
		uint64 *entry;

		if (chunk == NULL || chunk->back - chunk->front < key_width + 2 * row_size)
		{
			chunk = *link = make_chunk(chunk_size, key_width, !spec->alone);
			link = &chunk->next;
		}
		entry = (uint64 *) (chunk->base + chunk->front);
		for (int w = 0; w < spec->full_words; w++)
		{
			uint64 word = w < spec->lead ? random_below(spec->lead_values) * 0x0101
										 : distribution_key(spec->distribution, i, n) & spec->mask;

			entry[w] = KEY_WORD_TO_HOST(word);
			if (i == 0)
				variation->first[w] = word;
			variation->differs[w] |= word ^ variation->first[w];
		}
		if (!spec->alone)
		{
			chunk->back -= sizeof(uint64);
			*(uint64 *) (chunk->base + chunk->back) = i;
			entry[spec->full_words] = chunk->back;
		}
		chunk->front += chunk->entry_size;
		chunk->nrows++;
	}
	if (spec->unsqueezed)
		memset(variation->differs, 0xFF, sizeof(variation->differs));
	return first;
}

static int compare_words;

static int
compare_entries(const void *a, const void *b)
{
	return memcmp(a, b, compare_words * sizeof(uint64));
}

/* Checks items against the chunks: their keys are those of qsort. */
static void
check_keys(const char *name, const Chunk *chunks, uint64 n, const KeySqueeze *squeeze, Size item_size,
		   const char *items)
{
	Size width = squeeze->full_words * sizeof(uint64);
	char *full = huge_alloc((n + 1) * width);
	char *to = full;
	uint64 key[KEY_MAX_WORDS];

	for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
		for (uint64 i = 0; i < chunk->nrows; i++, to += width)
			memcpy(to, chunk->base + i * chunk->entry_size, width);
	compare_words = squeeze->full_words;
	qsort(full, n, width, compare_entries);
	for (uint64 i = 0; i < n; i++)
	{
		key_squeeze_expand(squeeze, (const uint64 *) (items + i * item_size), (uint8 *) key);
		if (memcmp(key, full + i * width, width) != 0)
			fail("not qsort's result", name, n, squeeze->nwords);
	}
	pfree(full);
}

/* Checks items against the chunks: each row once, with its own key, in order. */
static void
check_rows(const char *name, const Chunk *chunks, uint64 n, const KeySqueeze *squeeze, const uint64 *items)
{
	int stride = squeeze->full_words + 1;
	uint64 *full = huge_alloc((n + 1) * stride * sizeof(uint64));
	uint64 key[KEY_MAX_WORDS];
	uint8 *seen = palloc(n + 1);

	memset(seen, 0, n + 1);
	for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
		for (uint64 i = 0; i < chunk->nrows; i++)
		{
			const uint64 *entry = (const uint64 *) chunk->base + i * stride;
			uint64 row = *(uint64 *) (chunk->base + entry[stride - 1]);

			memcpy(full + row * stride, entry, (stride - 1) * sizeof(uint64));
		}
	for (uint64 i = 0; i < n; i++)
	{
		const uint64 *item = items + i * (squeeze->nwords + 1);
		uint64 row = *(uint64 *) (uintptr_t) item[squeeze->nwords];

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
	pfree(seen);
	pfree(full);
}

/* Items with rows are known to be right without qsort, which the whole run asks besides. */
static void
check_fixed(const char *name, const FixedSpec *spec, const Chunk *chunks, uint64 n, const KeySqueeze *squeeze,
			const void *items)
{
	SortItemKind item = {squeeze->nwords, !spec->alone};

	if (!spec->alone)
		check_rows(name, chunks, n, squeeze, items);
	if (spec->alone || (n <= 100000 && runs_all()))
		check_keys(name, chunks, n, squeeze, sort_item_size(item), items);
}

/* Sorts one input `repeat` times and checks it; returns the least ns a row. */
static double
run_fixed(const FixedSpec *spec, uint64 n, Size chunk_size, int repeat, int *nwords)
{
	KeyVariation variation;
	KeySqueeze squeeze;
	Chunk *chunks = make_fixed(spec, n, chunk_size, &variation);
	SortItemKind item;
	uint64 *items;
	double best = 0;

	key_squeeze_plan(&squeeze, &variation, spec->full_words);
	*nwords = squeeze.nwords;
	item = (SortItemKind){squeeze.nwords, !spec->alone};
	items = huge_alloc((n + 1) * sort_item_size(item));
	memset(items, 0, (n + 1) * sort_item_size(item));
	for (int r = 0; r < repeat; r++)
	{
		Size before = live_bytes;
		double start = now_ns();
		double took;

		peak_bytes = live_bytes;
		sample_sort_chunks(chunks, n, &squeeze, items);
		took = (now_ns() - start) / Max(n, 1);
		if (r == 0 || took < best)
			best = took;
		if (live_bytes != before)
			fail("memory is left", distribution_name[spec->distribution], n, squeeze.nwords);
		if (peak_bytes - before > sample_sort_scratch_size(n, item))
			fail("more scratch memory than announced", distribution_name[spec->distribution], n,
				 squeeze.nwords);
	}
	check_fixed(distribution_name[spec->distribution], spec, chunks, n, &squeeze, items);
	pfree(items);
	free_chunks(chunks);
	return best;
}

/* Sorts one input by several processes, and checks it. */
static void
run_fixed_parallel(const char *name, const FixedSpec *spec, uint64 n, Size chunk_size, int processes,
				   bool print)
{
	KeyVariation variation;
	ParallelSortInput input = {1, make_fixed(spec, n, chunk_size, &variation), n, false};
	ParallelRun runs[2];

	key_squeeze_plan(&input.squeeze, &variation, spec->full_words);
	if (print)
	{
		parallel_run(&runs[0], &input, name);
		parallel_run_free(&runs[0]);
	}
	input.nprocesses = processes;
	parallel_run(&runs[1], &input, name);
	check_fixed(name, spec, input.chunks, n, &input.squeeze, runs[1].items);
	if (print)
		print_parallel(name, &input, &runs[0], &runs[1]);
	parallel_run_free(&runs[1]);
	free_chunks((Chunk *) input.chunks);
}

/* The squeeze by itself: random variations keep the order, and expand to the same key. */
static void
check_squeeze(void)
{
	for (int round = 0; round < 20000; round++)
	{
		int words = 1 + random_below(KEY_MAX_WORDS);
		KeyVariation variation;
		KeySqueeze squeeze;
		uint64 key[2][KEY_MAX_WORDS];
		uint64 squeezed[2][KEY_MAX_WORDS];
		uint64 again[KEY_MAX_WORDS];
		int order = 0;
		int squeezed_order = 0;
		int nbits = 0;

		for (int w = 0; w < words; w++)
		{
			variation.first[w] = random64();
			variation.differs[w] =
				random_below(3) == 0
					? 0
					: random64() & (random_below(2) ? random64() : ~UINT64CONST(0)) &
						  (random_below(2) ? (random64() >> random_below(64)) << random_below(64)
										   : ~UINT64CONST(0));
			nbits += __builtin_popcountll(variation.differs[w]);
		}
		key_squeeze_plan(&squeeze, &variation, words);
		if (squeeze.nwords < 1 || squeeze.nwords > words || squeeze.npieces > KEY_SQUEEZE_MAX_PIECES)
			fail("a plan out of bounds", "squeeze", round, words);
		if (squeeze.npieces < 13 && squeeze.nwords != Max(1, (nbits + 63) / 64))
			fail("more words than needed", "squeeze", round, words);
		for (int k = 0; k < 2; k++)
		{
			uint64 loaded[KEY_MAX_WORDS];

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

/* Is the whole run wanted (tools/test --all), not the quick one? */
bool
runs_all(void)
{
	const char *value = getenv("GPUSORT_TEST_ALL");

	return value != NULL && strcmp(value, "1") == 0;
}

/*
 * A few rows whose words take two values each, which differ in their first bit: often they differ in the bits
 * that the base case looks at, and behind those, but not between.
 */
static void
check_base_case(void)
{
	static const uint64 first_bit = UINT64CONST(1) << 63;
	int nwords;

	for (int words = 1; words <= KEY_MAX_WORDS; words++)
		for (int i = 0; i < 100; i++)
		{
			FixedSpec spec = {TWO_VALUES, words, .mask = first_bit, .unsqueezed = true};

			run_fixed(&spec, 3 + i % 4, 4096, 1, &nwords);
		}
}

/*
 * Has this width its turn?  In the quick run each width of many rows comes with some of the distributions,
 * and of most rows with half of those; in the whole run all do, but of most rows.
 */
static bool
has_turn(uint64 n, int turn, int words)
{
	if (runs_all())
		return n <= MOST_ROWS || words == 1 + (int) random_below(KEY_MAX_WORDS);
	return n <= MANY_ROWS || (words == 1 + turn % KEY_MAX_WORDS && (n <= MOST_ROWS || random_below(2)));
}

static void
check_all(void)
{
	static const uint64 edges[] = {0,	 1,		2,	   3,	  4,	 7,		 8,		9,	  15,	16,
								   17,	 31,	32,	   33,	  63,	 64,	 65,	127,  128,	129,
								   130,	 255,	256,   257,	  511,	 512,	 513,	1000, 4095, 4096,
								   4097, 20000, 65535, 65536, 65537, 100000, 600000};
	static const uint64 masks[] = {~UINT64CONST(0), 0xFFFF, UINT64CONST(0xFF000000000000FF), 0x7};
	int nwords;

	check_squeeze();
	check_base_case();
	for (int e = 0; e < lengthof(edges); e++)
		for (int d = 0; d < NDISTRIBUTIONS; d++)
			for (int words = 1; words <= KEY_MAX_WORDS; words++)
			{
				FixedSpec spec = {d,
								  words,
								  random_below(words),
								  1 + random_below(1 + edges[e] / (1 + random_below(1000))),
								  masks[random_below(lengthof(masks))],
								  random_below(2),
								  false};

				if (!has_turn(edges[e], e + d, words))
					continue;
				run_fixed(&spec, edges[e], random_below(2) ? 4096 : 1024 * 1024, 1, &nwords);
				run_fixed_parallel(distribution_name[d], &spec, edges[e],
								   random_below(2) ? 4096 : 1024 * 1024, 1 + random_below(7), false);
			}
	check_strings(edges, lengthof(edges));
	check_bounds();
	check_splitters();
	check_chunks();
}

/* Times one case, and prints it; processes: 0: by the processor's time, else one against so many. */
static void
bench_case(const char *name, const char *only, const FixedSpec *spec, uint64 n, int processes)
{
	int nwords;
	double ns;

	if (strncmp(name, only, strlen(only)) != 0)
		return;
	if (processes > 0)
	{
		run_fixed_parallel(name, spec, n, CHUNK_SIZE, processes, true);
		return;
	}
	ns = run_fixed(spec, n, CHUNK_SIZE, 3, &nwords);
	printf("%-32s %d words %7.1f ns/row\n", name, nwords, ns);
	fflush(stdout);
}

static void
bench_fixed(uint64 n, const char *only, int processes, bool alone)
{
	static const struct
	{
		const char *name;
		FixedSpec spec;
	} wide[] = {
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

	for (int d = 0; d < NDISTRIBUTIONS; d++)
	{
		FixedSpec spec = {d, 1, 0, 1, ~UINT64CONST(0), alone};

		bench_case(distribution_name[d], only, &spec, n, processes);
	}
	for (int i = 0; i < lengthof(wide); i++)
	{
		FixedSpec spec = wide[i].spec;

		spec.alone = alone;
		bench_case(wide[i].name, only, &spec, n, processes);
	}
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int processes = strcmp(what, "parallel") == 0 && argc > 2 ? atoi(argv[2]) : 0;
	int rest = processes > 0 ? 3 : 2;
	uint64 number = argc > rest ? strtoull(argv[rest], NULL, 10) : 0;
	const char *only = argc > rest + 1 ? argv[rest + 1] : "";

	pg_initialize_timing();
	random_state = 1;
	if (strcmp(what, "--check") == 0)
	{
		random_state = number ? number : (uint64) time(NULL);
		printf("seed %llu\n", (unsigned long long) random_state);
		fflush(stdout);
		check_all();
		printf("all checks passed\n");
		return 0;
	}
	if (strcmp(what, "fixed") == 0 || strcmp(what, "keys") == 0 || processes > 0)
		bench_fixed(number ? number : 20000000, only, processes, strcmp(what, "keys") == 0);
	if (strcmp(what, "strings") == 0 || processes > 0)
		bench_strings(number ? number : 5000000, only, processes);
	else if (strcmp(what, "fixed") != 0 && strcmp(what, "keys") != 0)
	{
		fprintf(
			stderr,
			"usage: cpu_sort --check [seed] | fixed [rows [name]] | keys [rows [name]] | strings [rows [name]] | parallel N [rows [name]]\n");
		return 2;
	}
	return 0;
}
