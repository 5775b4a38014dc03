/*
 * calibrate_counts.c
 *		For tools/calibrate: what plan/predict.c would count for sorts, without a server.
 *
 * Reads a sort a line, numbers in the order of the format below, and writes two lines for each: how many of
 * each term until the first row, and for the rest.  The first word is p for PostgreSQL's Sort, g for GpuSort
 * and i for an index scan, but for the cost of that; h for groups that are formed of the rows by hashing, and
 * o for those of rows in order, with how many groups and a group's bytes at the line's end.  With an argument
 * it writes the terms' names and nanoseconds.
 */
#include "postgres.h"

#include "plan/predict_gpusort.h"
#include "plan/predict_groups.h"
#include "plan/predict_postgres.h"

#undef printf
#undef fprintf

#define MAX_KEYS 8

static const struct
{
	const char *name;
	double ns;
} terms[] = {
#define COST_TERM(name, ns, what) {#name, ns},
#include "plan/cost_terms.h"
#undef COST_TERM
};

static void
print_counts(const double *counts)
{
	for (int i = 0; i < COST_TERMS; i++)
		printf("%.17g%c", counts[i], i == COST_TERMS - 1 ? '\n' : ' ');
}

/* Reads the rest of a line whose first word was read. */
static bool
read_shape(SortShape *shape, SortKeyShape *keys)
{
	int single_column, order, fixed_key, device;

	shape->verified = false;
	if (scanf("%lf %lf %d %d %d %lf %lf %d %u %lf %lf %d %d %lf %lf %d %d", &shape->rows, &shape->wanted,
			  &shape->width, &single_column, &order, &shape->groups, &shape->key_bytes, &fixed_key,
			  &shape->codable, &shape->coded_bytes, &shape->memory, &shape->processes, &shape->cores,
			  &shape->share, &shape->launch, &device, &shape->nkeys) != 17 ||
		shape->nkeys < 1 || shape->nkeys > MAX_KEYS)
		return false;
	for (int i = 0; i < shape->nkeys; i++)
	{
		int class, verified;

		keys[i] = (SortKeyShape){.largest = 1};
		if (scanf("%d %d %lf %lf %lf", &class, &verified, &keys[i].width, &keys[i].distinct,
				  &keys[i].leading) != 5)
			return false;
		keys[i].class = class;
		keys[i].verified = verified;
		shape->verified |= verified;
		keys[i].known = true; /* the least time of several runs in one session counts */
	}
	shape->single_column = single_column;
	shape->order = order;
	shape->fixed_key = fixed_key;
	shape->device = device;
	shape->keys = keys;
	return true;
}

static void
fail(void)
{
	fprintf(stderr, "calibrate_counts: a line that is no sort\n");
	exit(1);
}

/* Reads the end of a line about groups. */
static CostCounts
count_groups(char how, const SortShape *sorted)
{
	GroupShape shape = {.sorted = sorted, .memory = sorted->memory};

	if (scanf("%lf %lf", &shape.groups, &shape.entry_bytes) != 2)
		fail();
	return how == 'h' ? count_hashed_groups(&shape) : count_ordered_groups(&shape);
}

static CostCounts
count_terms(char whose, const SortShape *shape)
{
	switch (whose)
	{
		case 'g':
			return count_gpusort(shape);
		case 'i':
			return (CostCounts){.first[COST_INPUT_FETCH] = count_fetches(shape)};
		case 'h':
		case 'o':
			return count_groups(whose, shape);
		default:
			return count_postgres_sort(shape);
	}
}

int
main(int argc, char **argv)
{
	char whose;

	if (argc > 1)
		printf("PROCESSOR_SHARE\t%.6g\n", COST_PROCESSOR_SHARE);
	for (int i = 0; argc > 1 && i < COST_TERMS; i++)
		printf("%s\t%.6g\n", terms[i].name, terms[i].ns);
	while (argc == 1 && scanf(" %c", &whose) == 1)
	{
		SortShape shape = {.beside = 0};
		SortKeyShape keys[MAX_KEYS];
		CostCounts counts;

		if (!read_shape(&shape, keys))
			fail();
		counts = count_terms(whose, &shape);
		print_counts(counts.first);
		print_counts(counts.rest);
	}
	return 0;
}
