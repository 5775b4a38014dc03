/*
 * cpu_rivals.c
 *		gpusort's sorts in host memory beside sorts of libraries, for plain keys.
 *
 *	  cpu_rivals [--rows N,N...] [--threads N,N...] [--repeat N] [--items NAME] [--keys NAME]
 *
 * Each contender begins with the chunks that a feed has filled: it makes items of the entries, in the layout
 * that it wants, and sorts these.  All take turns; the first result of each is checked.  On stdout comes CSV:
 * nanoseconds a row by the clock and of all threads' processor time, medians of the turns, once from the
 * chunks on, once from items on.  gpusort's sort by several threads begins with chunks alone.
 */
#include "postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cpu/cpu_sort.h"
#include "cpu/rivals/items.h"
#include "cpu/rivals/own.h"
#include "cpu/rivals/rivals.h"
#include "base/pg_compat.h"
#include "memory/alloc.h"

#define REPEAT_MAX 99
#define LIST_MAX 16

static const Rival *const rivals[] = {
	&std_rival,
#ifdef WITH_IPS4O
	&ips4o_rival,
#endif
#ifdef WITH_VQSORT
	&vqsort_rival,
#endif
#ifdef WITH_X86_SIMD_SORT
	&x86_simd_sort_rival,
#endif
};

/* gpusort has no row numbers in place of addresses: it sorts the addresses. */
typedef struct ItemKind
{
	const char *name; /* bytes of the key, bytes of the row */
	int nwords;
	int row_size;
} ItemKind;

static const ItemKind item_kinds[] = {{"8", 1, 0},
									  {"8+8", 1, 8},
									  {"8+4", 1, 4},
									  {"16", 2, 0},
									  {"16+8", 2, 8}};

typedef struct Options
{
	uint64 rows[LIST_MAX];
	int nrows;
	uint64 threads[LIST_MAX];
	int nthreads;
	int repeat;
	const char *items;
	const char *keys;
} Options;

typedef enum Measure
{
	CLOCK,		 /* from chunks on */
	PROCESSOR,	 /* the same, of all threads */
	CLOCK_ITEMS, /* from items on */
	PROCESSOR_ITEMS,
	NMEASURES
} Measure;

/* One that takes turns, and what its turns took. */
typedef struct Contender
{
	const char *name;
	const RivalSort *sort; /* NULL: gpusort's */
	int nturns;
	double ns[NMEASURES][REPEAT_MAX];
} Contender;

/* One case: its input, memory for items, and who takes turns. */
typedef struct Case
{
	const ItemKind *kind;
	const char *keys;
	int threads;
	CaseInput input;
	void *memory;
	Contender contenders[lengthof(rivals) + 1];
	int ncontenders;
} Case;

/* ---------------------------------------------------------------- turns */

static double
seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

typedef struct Moment
{
	double clock;
	double processor;
} Moment;

static Moment
now(void)
{
	return (Moment){seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_PROCESS_CPUTIME_ID)};
}

/* Notes what a turn has taken since then. */
static void
note(Contender *contender, Measure clock, Moment since, uint64 n)
{
	Moment end = now();

	contender->ns[clock][contender->nturns] = (end.clock - since.clock) * 1e9 / n;
	contender->ns[clock + 1][contender->nturns] = (end.processor - since.processor) * 1e9 / n;
}

static void
take_own_turn(Case *spec, Contender *contender)
{
	ItemLayout layout = own_layout(&spec->input);
	Moment start = now();
	void *items = own_sort_chunks(&spec->input, spec->threads, spec->memory);

	note(contender, CLOCK, start, spec->input.n);
	if (contender->nturns == 0)
		items_check(&spec->input, layout, items, contender->name);
	if (spec->threads > 1)
		return;
	items_unpack(&spec->input, layout, spec->memory, 1);
	start = now();
	own_sort_items(&spec->input, spec->memory);
	note(contender, CLOCK_ITEMS, start, spec->input.n);
	if (contender->nturns == 0)
		items_check(&spec->input, layout, spec->memory, contender->name);
}

static void
take_turn(Case *spec, Contender *contender)
{
	ItemLayout layout = contender->sort->layout;
	void *rows = items_rows(layout, spec->memory, spec->input.n);
	Moment start = now();
	Moment unpacked;

	items_unpack(&spec->input, layout, spec->memory, spec->threads);
	unpacked = now();
	contender->sort->sort(spec->memory, rows, spec->input.n, spec->threads);
	note(contender, CLOCK, start, spec->input.n);
	note(contender, CLOCK_ITEMS, unpacked, spec->input.n);
	if (contender->nturns == 0)
		items_check(&spec->input, layout, spec->memory, contender->name);
}

static int
compare_numbers(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

static double
median(double *ns, int n)
{
	qsort(ns, n, sizeof(double), compare_numbers);
	return n % 2 == 1 ? ns[n / 2] : (ns[n / 2 - 1] + ns[n / 2]) / 2;
}

static void
print_contender(Case *spec, Contender *contender)
{
	printf("%s,%s," UINT64_FORMAT ",%d,%s,%d", spec->kind->name, spec->keys, spec->input.n, spec->threads,
		   contender->name, contender->nturns);
	for (int m = 0; m < NMEASURES; m++)
	{
		if (m >= CLOCK_ITEMS && contender->sort == NULL && spec->threads > 1)
			printf(",");
		else
			printf(",%.2f", median(contender->ns[m], contender->nturns));
	}
	printf("\n");
	fflush(stdout);
}

/* ---------------------------------------------------------------- cases */

/* Is this the kind's layout, and does it take so many threads? */
static bool
takes_part(const RivalSort *sort, const ItemKind *kind, int threads)
{
	const ItemShape *shape = &item_shapes[sort->layout];

	return shape->nwords == kind->nwords && shape->row_size == kind->row_size &&
		   (threads == 1 || sort->parallel);
}

static void
add_contender(Case *spec, const char *name, const RivalSort *sort)
{
	Contender *contender = &spec->contenders[spec->ncontenders++];

	contender->name = name;
	contender->sort = sort;
	contender->nturns = 0;
}

static void
choose_contenders(Case *spec)
{
	spec->ncontenders = 0;
	add_contender(spec, "gpusort", NULL);
	for (int r = 0; r < lengthof(rivals); r++)
		for (int s = 0; s < rivals[r]->nsorts; s++)
			if (takes_part(&rivals[r]->sorts[s], spec->kind, spec->threads))
				add_contender(spec, rivals[r]->name, &rivals[r]->sorts[s]);
}

static void
run_case(Case *spec, int repeat)
{
	Size size = Max(items_size(spec->input.n), own_memory_size(&spec->input, spec->threads));

	choose_contenders(spec);
	spec->memory = huge_alloc(size);
	memset(spec->memory, 1, size);
	for (int turn = 0; turn < repeat; turn++)
		for (int c = 0; c < spec->ncontenders; c++)
		{
			Contender *contender = &spec->contenders[c];

			if (contender->sort == NULL)
				take_own_turn(spec, contender);
			else
				take_turn(spec, contender);
			contender->nturns++;
		}
	for (int c = 0; c < spec->ncontenders; c++)
		print_contender(spec, &spec->contenders[c]);
	huge_free(spec->memory);
}

static void
run_kind(const Options *options, const ItemKind *kind, KeyDistribution keys, uint64 n)
{
	static Case spec;

	spec.kind = kind;
	spec.keys = key_distribution_name[keys];
	case_input_make(&spec.input, keys, kind->nwords, kind->row_size > 0, n);
	for (int t = 0; t < options->nthreads; t++)
	{
		spec.threads = (int) options->threads[t];
		run_case(&spec, options->repeat);
	}
	case_input_free(&spec.input);
}

static void
run_all_cases(const Options *options)
{
	printf(
		"items,keys,rows,threads,contender,turns,clock_ns,processor_ns,items_clock_ns,items_processor_ns\n");
	for (int r = 0; r < options->nrows; r++)
		for (int k = 0; k < lengthof(item_kinds); k++)
			for (int d = 0; d < NKEY_DISTRIBUTIONS; d++)
				if ((options->items == NULL || strcmp(options->items, item_kinds[k].name) == 0) &&
					(options->keys == NULL || strcmp(options->keys, key_distribution_name[d]) == 0))
					run_kind(options, &item_kinds[k], d, options->rows[r]);
}

/* ---------------------------------------------------------------- options */

static void
usage(void)
{
	fprintf(stderr,
			"usage: cpu_rivals [--rows N,N...] [--threads N,N...] [--repeat N] [--items 8|8+8|8+4|16|16+8] "
			"[--keys 'random'|'100 values'|'sorted']\n");
	exit(2);
}

/* Reads numbers with commas between; each is between 1 and the most. */
static int
read_numbers(const char *text, uint64 *numbers, uint64 most)
{
	int n = 0;

	for (; n < LIST_MAX; text++)
	{
		char *end;

		numbers[n] = strtoull(text, &end, 10);
		if (end == text || numbers[n] < 1 || numbers[n] > most)
			usage();
		n++;
		if (*end == '\0')
			return n;
		if (*end != ',')
			usage();
		text = end;
	}
	usage();
	return 0;
}

static void
read_option(Options *options, const char *name, const char *value)
{
	uint64 repeat[LIST_MAX];

	if (strcmp(name, "--rows") == 0)
		options->nrows = read_numbers(value, options->rows, PG_UINT32_MAX);
	else if (strcmp(name, "--threads") == 0)
		options->nthreads = read_numbers(value, options->threads, 64);
	else if (strcmp(name, "--repeat") == 0 && read_numbers(value, repeat, REPEAT_MAX) == 1)
		options->repeat = (int) repeat[0];
	else if (strcmp(name, "--items") == 0)
		options->items = value;
	else if (strcmp(name, "--keys") == 0)
		options->keys = value;
	else
		usage();
}

int
main(int argc, char **argv)
{
	Options options = {.rows = {1000000, 10000000},
					   .nrows = 2,
					   .threads = {1, 2},
					   .nthreads = 2,
					   .repeat = 5};

	if (argc % 2 == 0)
		usage();
	for (int i = 1; i < argc; i += 2)
		read_option(&options, argv[i], argv[i + 1]);
	pg_initialize_timing();
	random_state = 1;
	run_all_cases(&options);
	return 0;
}
