/*
 * strings.c
 *		Variable keys of cpu_sort: random, like real ones, and awkward.
 */
#include "postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cpu/cpu_sort.h"
#include "memory/alloc.h"
#include "sort/string_sort.h"

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
	STRING_STAIRCASE,
	STRING_ENDED,
	NSTRING_KINDS
} StringKind;

static const char *const string_name[] =
	{"random",		"paths", "words",		   "1000-byte prefix", "one huge segment", "a, aa, aaa ...",
	 "1 MB, equal", "short", "16-byte prefix", "staircase",		   "few, some ended"};

#define MAX_STRING ((Size) 1024 * 1024 + 64)

/* Makes the i-th of n keys, no zero byte at its end.  Returns its length. */
static Size
make_string(StringKind kind, uint64 i, uint64 n, char *s)
{
	static const char *const part[] = {"usr",		 "local",		  "share",		"lib",
									   "python3.11", "site-packages", "postgresql", "include"};
	Size len = 0;

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
			uint64 rank = (uint64) (1.0 / (((random64() >> 11) + 1) * 0x1p-53)) % 50000;
			uint64 bits = (rank + 1) * UINT64CONST(0x9E3779B97F4A7C15);

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
			return sprintf(s, "%08llutail%llu", (unsigned long long) random_below(n / 4 + 1),
						   (unsigned long long) random_below(100));
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
		case STRING_STAIRCASE:
			len = random_below(5000);
			memset(s, 'a', len);
			return len + sprintf(s + len, random_below(4) ? "%llu" : "b%llu", (unsigned long long) i / 5000);
		case STRING_ENDED:
			/* Some end in their second word, and others go on, so that each word is frequent. */
			len = sprintf(s, "the same%c:word", 'a' + (int) random_below(16));
			if (s[8] < 'g')
				return len + sprintf(s + len, "s%llu", (unsigned long long) random_below(n));
			memcpy(s + len, "\0.", 2);
			return len + 2;
		default:
			return 0;
	}
}

/* Most rows of a check, or a benchmark: some strings are long. */
static uint64
most_rows(StringKind kind, uint64 of_short, uint64 of_long, uint64 of_longest)
{
	switch (kind)
	{
		case STRING_LONG_EQUAL:
			return of_longest;
		case STRING_LADDER:
		case STRING_STAIRCASE:
		case STRING_SHARED_PREFIX:
			return of_long;
		default:
			return of_short;
	}
}

/* Do keys of this kind show where they end? */
static SortKeyEnds
ends_of(StringKind kind)
{
	return (SortKeyEnds){.shown = kind == STRING_ENDED};
}

static Chunk *
make_strings(StringKind kind, uint64 n)
{
	Chunk *first = NULL;
	Chunk **link = &first;
	Chunk *chunk = NULL;
	char *s = palloc(MAX_STRING);

	for (uint64 i = 0; i < n; i++)
	{
		Size len = make_string(kind, i, n, s);
		Size padded = TYPEALIGN(8, len);
		uint64 *entry;
		char *record;

		if (chunk == NULL || chunk->back - chunk->front < padded + 4 * sizeof(uint64))
		{
			chunk = *link = make_chunk(CHUNK_SIZE, 0, true);
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
	Size la = *(const uint64 *) a;
	Size lb = *(const uint64 *) b;
	int cmp = memcmp(a + 8, b + 8, Min(la, lb));

	return cmp ? cmp : (la > lb) - (la < lb);
}

/* Checks items: each row once, in order. */
static void
check_order(const char *name, const StringSortItem *items, uint64 n)
{
	uint8 *seen = palloc(n + 1);

	memset(seen, 0, n + 1);
	for (uint64 i = 0; i < n; i++)
	{
		uint64 row = *(uint64 *) (items[i].record + 8 + TYPEALIGN(8, *(uint64 *) items[i].record));

		if (row >= n || seen[row])
			fail("not a permutation", name, n, 0);
		seen[row] = 1;
		if (i > 0 && compare_records(items[i - 1].record, items[i].record) > 0)
			fail("not in order", name, n, 0);
	}
	pfree(seen);
}

/* Sorts one input `repeat` times and checks it; returns the least ns a row. */
static double
run_strings(StringKind kind, uint64 n, int repeat)
{
	Chunk *chunks = make_strings(kind, n);
	StringSortItem *items = huge_alloc((n + 1) * sizeof(StringSortItem));
	double best = 0;

	memset(items, 0, (n + 1) * sizeof(StringSortItem));
	for (int r = 0; r < repeat; r++)
	{
		Size before = live_bytes;
		double start = now_ns();
		double took;

		peak_bytes = live_bytes;
		string_sort_chunks(chunks, n, ends_of(kind), items);
		took = (now_ns() - start) / Max(n, 1);
		if (r == 0 || took < best)
			best = took;
		if (live_bytes != before)
			fail("memory is left", string_name[kind], n, 0);
		if (peak_bytes - before > string_sort_scratch_size(n))
			fail("more scratch memory than announced", string_name[kind], n, 0);
	}
	check_order(string_name[kind], items, n);
	pfree(items);
	free_chunks(chunks);
	return best;
}

/* Sorts one input by several processes, and checks it. */
static void
run_strings_parallel(StringKind kind, uint64 n, int processes, bool print)
{
	const char *name = string_name[kind];
	ParallelSortInput input = {1, make_strings(kind, n), n, true};
	ParallelRun runs[2];

	key_squeeze_plan_identity(&input.squeeze, 1);
	input.ends = ends_of(kind);
	if (print)
	{
		parallel_run(&runs[0], &input, name);
		parallel_run_free(&runs[0]);
	}
	input.nprocesses = processes;
	parallel_run(&runs[1], &input, name);
	check_order(name, runs[1].items, n);
	if (print)
		print_parallel(name, &input, &runs[0], &runs[1]);
	parallel_run_free(&runs[1]);
	free_chunks((Chunk *) input.chunks);
}

void
check_strings(const uint64 *sizes, int nsizes)
{
	for (int kind = 0; kind < NSTRING_KINDS; kind++)
		for (int e = 0; e < nsizes; e++)
		{
			/* The quick run sorts many rows by one process or by several, in turn. */
			bool both = runs_all() || sizes[e] <= MANY_ROWS;

			if (sizes[e] > most_rows(kind, 600000, 20000, 33))
				break;
			if (both || (kind + e) % 2 == 0)
				run_strings(kind, sizes[e], 1);
			if (both || (kind + e) % 2 == 1)
				run_strings_parallel(kind, sizes[e], 1 + random_below(7), false);
		}
}

void
bench_strings(uint64 n, const char *only, int processes)
{
	for (int kind = 0; kind < NSTRING_KINDS; kind++)
	{
		uint64 rows = Min(n, most_rows(kind, n, 100000, 1000));

		if (strncmp(string_name[kind], only, strlen(only)) != 0)
			continue;
		if (processes > 0)
			run_strings_parallel(kind, rows, processes, true);
		else
			printf("%-32s %9llu rows %9.1f ns/row\n", string_name[kind], (unsigned long long) rows,
				   run_strings(kind, rows, 2));
		fflush(stdout);
	}
}
