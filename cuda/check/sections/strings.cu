/*
 * strings.cu
 *		Sorts of strings: every kind, algorithm, alignment, with all that the library has, and as published
 *		with both of the paper's optimisations on and off.
 */
#include "check/cases/strings.h"

static const DevSortAlgorithm algorithms[] = {DEVSORT_SAMPLE, DEVSORT_BUCKET, DEVSORT_RADIX, DEVSORT_AUTO};
/* What is switched off: nothing; as published; that and keeping singletons, fixed ids, or both. */
#define NSWITCHES 5

static const uint64_t small_sizes[] = {0, 1, 2, 31, 32, 33, 1023, 1024, 1025, 4097, 8193};

static StringsCase
make_case(Check *check, DevSortAlgorithm algorithm, StringsKind kind, uint64_t n, int longest,
		  unsigned int turn)
{
	StringsCase strings = {};

	strings.algorithm = algorithm;
	strings.kind = kind;
	strings.n = n;
	strings.longest = longest;
	strings.misalignment = turn % 8;
	strings.as_published = turn % NSWITCHES != 0;
	strings.keep_singletons = turn % NSWITCHES == 2 || turn % NSWITCHES == 4;
	strings.fixed_segment_ids = turn % NSWITCHES >= 3;
	strings.seed = check_random(check) >> 16;

	/*
	 * A long string that is kept to its end would need a sort for each few of its bytes; so do twins, as
	 * published.
	 */
	if (kind == STRINGS_ONE_LONG)
		strings.keep_singletons = false;
	if (kind == STRINGS_LONG_TWINS)
		strings.as_published = strings.keep_singletons = strings.fixed_segment_ids = false;
	return strings;
}

static void
check_small_sizes(Check *check, StringsRunner *runner, DevSortAlgorithm algorithm, StringsKind kind)
{
	unsigned int turn = algorithm;

	for (uint64_t n : small_sizes)
	{
		for (unsigned int switches = 0; switches < NSWITCHES; switches++)
		{
			StringsCase strings = make_case(check, algorithm, kind, n, turn % 5 == 0 ? 300 : 20, switches);

			if ((check->options.quick && switches % 3 != 0) || (kind == STRINGS_LONG_TWINS && switches != 0))
				continue;
			strings.misalignment = (turn + 3 * switches) % 8;
			strings_check(check, runner, &strings);
		}
		turn++;
	}
}

static void
check_large_sizes(Check *check, StringsRunner *runner, DevSortAlgorithm algorithm)
{
	unsigned int turn = algorithm * 3;

	for (int kind = 0; kind < NSTRINGS_KINDS; kind++)
	{
		StringsCase middle = make_case(check, algorithm, (StringsKind) kind, 100003, 100, turn);
		StringsCase large =
			make_case(check, algorithm, (StringsKind) kind, (UINT64_C(1) << 20) + kind, 24, 0);

		turn++;
		large.misalignment = turn % 8;
		strings_check(check, runner, &middle);
		if (!check->options.quick || kind % 4 == 1)
			strings_check(check, runner, &large);
	}
}

/* Every kind at the size of --n. */
static void
check_size(Check *check, StringsRunner *runner, DevSortAlgorithm algorithm)
{
	for (int kind = 0; kind < NSTRINGS_KINDS; kind++)
	{
		StringsCase strings = make_case(check, algorithm, (StringsKind) kind, check->options.n, 24, 0);

		strings.misalignment = kind % 8;
		strings_check(check, runner, &strings);
	}
}

static void
check_algorithm(Check *check, StringsRunner *runner, DevSortAlgorithm algorithm)
{
	for (int kind = 0; kind < NSTRINGS_KINDS; kind++)
	{
		if (!check_group_begin(check, "strings: %s, %s, small sizes", algorithm_name(algorithm),
							   strings_kind_name(kind)))
			continue;
		check_small_sizes(check, runner, algorithm, (StringsKind) kind);
		check_group_end(check);
	}
	if (!check_group_begin(check, "strings: %s, 10^5 and 2^20 strings", algorithm_name(algorithm)))
		return;
	check_large_sizes(check, runner, algorithm);
	check_group_end(check);
}

void
check_strings(Check *check)
{
	StringsRunner runner = {};

	for (DevSortAlgorithm algorithm : algorithms)
	{
		if (!check_wants(check, algorithm, 0, -1))
			continue;
		if (!check->options.has_n)
			check_algorithm(check, &runner, algorithm);
		else if (check_group_begin(check, "strings: %s, the size of --n", algorithm_name(algorithm)))
		{
			check_size(check, &runner, algorithm);
			check_group_end(check);
		}
	}
	guarded_release(&runner.guarded);
}
