/*
 * strings.cu
 *		Sorts of strings: every kind, algorithm, alignment.
 */
#include "check/cases/strings.h"

static const DevSortAlgorithm algorithms[] = {DEVSORT_SAMPLE, DEVSORT_BUCKET, DEVSORT_RADIX, DEVSORT_AUTO};

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
	strings.seed = check_random(check) >> 16;
	return strings;
}

static void
check_small_sizes(Check *check, StringsRunner *runner, DevSortAlgorithm algorithm, StringsKind kind)
{
	unsigned int turn = algorithm;

	for (uint64_t n : small_sizes)
	{
		for (unsigned int more = 0; more < (check->options.quick ? 1 : 3); more++)
		{
			StringsCase strings =
				make_case(check, algorithm, kind, n, turn % 5 == 0 ? 300 : 20, turn + 3 * more);

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
