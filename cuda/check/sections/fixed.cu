/*
 * fixed.cu
 *		Sorts of fixed keys: every algorithm and width, with all distributions and sizes that matter.
 *
 * The product of all choices is too large.  Small sizes meet every payload and format; one size below a
 * million, one above and one above two million meet every distribution; powers of two and large sizes meet
 * them in turn; random choices from the seed fill the time that is left.  --n replaces all that by every
 * choice at one size.
 */
#include <cmath>

#include "check/cases/fixed.h"

static const DevSortAlgorithm algorithms[] = {DEVSORT_SAMPLE, DEVSORT_BUCKET, DEVSORT_RADIX, DEVSORT_AUTO};
static const int widths[] = {4, 8, 16, 24, 32};
static const uint64_t small_sizes[] = {0,	 1,	   2,	 3,	   31,	 32,   33,	 255,  257,	 1023, 1024,
									   1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193};
static const Distribution small_distributions[] = {UNIFORM, ALL_EQUAL, TWO_VALUES, REVERSED, SHARED_PREFIX};

/* The sizes at which all distributions are met. */
#define BELOW_MILLION UINT64_C(50021)
#define ABOVE_MILLION ((UINT64_C(1) << 20) + 77)
#define ABOVE_TWO_MILLION ((UINT64_C(1) << 21) + 4099)

/* From so many rows on a sample sort has two levels, and the first one's buckets are in chunks. */
#define TWO_LEVELS ((UINT64_C(2304) + 1) << 9)

static FixedCase
case_in_turn(Check *check, DevSortAlgorithm algorithm, int width, uint64_t n, Distribution distribution,
			 unsigned int turn)
{
	FixedCase fixed =
		{algorithm, width, (DevSortKeyFormat) (turn / 3 % 2), (FixedPayload) (turn % 3), distribution, n,
		 0,			0};

	fixed.seed = check_random(check) >> 16;
	return fixed;
}

static void
check_small_sizes(Check *check, FixedRunner *runner, DevSortAlgorithm algorithm, int width)
{
	int ndistributions = check->options.quick ? 2 : 5;

	for (uint64_t n : small_sizes)
	{
		for (unsigned int turn = 0; turn < 6; turn++)
		{
			for (int d = 0; d < ndistributions; d++)
			{
				FixedCase fixed = case_in_turn(check, algorithm, width, n, small_distributions[d], turn);

				if (check_wants(check, algorithm, width, fixed.distribution))
					fixed_check(check, runner, &fixed);
			}
		}
	}
}

static void
check_all_distributions(Check *check, FixedRunner *runner, DevSortAlgorithm algorithm, int width)
{
	unsigned int turn = width / 4;

	for (int d = 0; d < NCHECKED_DISTRIBUTIONS; d++)
	{
		FixedCase small = case_in_turn(check, algorithm, width, BELOW_MILLION, (Distribution) d, turn++);
		FixedCase large = case_in_turn(check, algorithm, width, ABOVE_MILLION, (Distribution) d, 3 * (d & 1));
		FixedCase chunks = case_in_turn(check, algorithm, width, ABOVE_TWO_MILLION, (Distribution) d, turn);

		if (!check_wants(check, algorithm, width, d))
			continue;
		fixed_check(check, runner, &small);
		fixed_check(check, runner, &large);
		fixed_check(check, runner, &chunks);
	}
}

static void
check_powers(Check *check, FixedRunner *runner, DevSortAlgorithm algorithm, int width)
{
	int last = check->options.quick ? 20 : 23;
	const uint64_t odd_sizes[] = {1000003,
								  3 * (UINT64_C(1) << 20) + 17,
								  12345,
								  65537,
								  262143,
								  TWO_LEVELS - 1,
								  TWO_LEVELS,
								  (UINT64_C(1) << 21) - 1,
								  (UINT64_C(1) << 21) + 1};
	unsigned int turn = (unsigned int) check_random_below(check, 1000);

	for (int log = 10; log <= last; log++, turn++)
	{
		FixedCase fixed = case_in_turn(check, algorithm, width, UINT64_C(1) << log,
									   (Distribution) (turn % NCHECKED_DISTRIBUTIONS), turn);

		if (check_wants(check, algorithm, width, fixed.distribution))
			fixed_check(check, runner, &fixed);
	}
	for (uint64_t n : odd_sizes)
	{
		FixedCase fixed =
			case_in_turn(check, algorithm, width, n, (Distribution) (turn % NCHECKED_DISTRIBUTIONS), turn);

		turn++;
		if (check_wants(check, algorithm, width, fixed.distribution))
			fixed_check(check, runner, &fixed);
	}
}

/* Bucket sort's parameter. */
static void
check_samples(Check *check, FixedRunner *runner, DevSortAlgorithm algorithm, int width)
{
	unsigned int turn = 0;

	if (algorithm != DEVSORT_BUCKET)
		return;
	for (int samples = 16; samples <= 1024; samples *= 2)
	{
		const uint64_t sizes[] = {0, 1, 1000, 4096, 300007};

		for (uint64_t n : sizes)
		{
			FixedCase fixed =
				case_in_turn(check, algorithm, width, n, turn % 3 ? UNIFORM : MID_DUPLICATES, turn);

			turn++;
			fixed.samples = samples;
			if (check_wants(check, algorithm, width, fixed.distribution))
				fixed_check(check, runner, &fixed);
		}
	}
}

/* Every choice at the size of --n. */
static void
check_size(Check *check, FixedRunner *runner, DevSortAlgorithm algorithm, int width)
{
	unsigned int turns = check->options.quick ? 1 : 6;

	for (int d = 0; d < NCHECKED_DISTRIBUTIONS; d++)
	{
		for (unsigned int turn = 0; turn < turns; turn++)
		{
			FixedCase fixed = case_in_turn(check, algorithm, width, check->options.n, (Distribution) d,
										   check->options.quick ? d + width / 4 : turn);

			fixed.seed = check->options.seed;
			if (check_wants(check, algorithm, width, d))
				fixed_check(check, runner, &fixed);
		}
	}
}

typedef struct SizeClass
{
	const char *name;
	void (*run)(Check *check, FixedRunner *runner, DevSortAlgorithm algorithm, int width);
	bool bucket_only;
} SizeClass;

static const SizeClass size_classes[] = {
	{"small sizes", check_small_sizes, false},
	{"all distributions", check_all_distributions, false},
	{"powers of two, odd sizes", check_powers, false},
	{"its parameter s", check_samples, true},
};

static const SizeClass one_size = {"the size of --n", check_size, false};

static void
check_size_class(Check *check, FixedRunner *runner, const SizeClass *size_class)
{
	for (DevSortAlgorithm algorithm : algorithms)
	{
		for (int width : widths)
		{
			if (!check_wants(check, algorithm, width, -1) ||
				(size_class->bucket_only && algorithm != DEVSORT_BUCKET))
				continue;
			if (!check_group_begin(check, "fixed: %s, %d bytes, %s", algorithm_name(algorithm), width,
								   size_class->name))
				continue;
			size_class->run(check, runner, algorithm, width);
			check_group_end(check);
		}
	}
}

/* 2^24 for all, 2^25 and 2^26 for one width each, 2^27 for the figures that are published. */
static void
check_large(Check *check, FixedRunner *runner, DevSortAlgorithm algorithm)
{
	unsigned int turn = (unsigned int) check_random_below(check, 1000);

	for (int width : widths)
	{
		int last = algorithm == DEVSORT_SAMPLE || width == 8 ? 27 : 24 + width / 8 % 3;

		for (int log = 24; log <= last; log += log < last && last < 27 ? last - log : 3)
		{
			Distribution distribution =
				log == 27 ? (width == 8 ? ZIPF : UNIFORM) : (Distribution) (turn % NCHECKED_DISTRIBUTIONS);
			FixedCase fixed =
				case_in_turn(check, algorithm, width, UINT64_C(1) << log, distribution, log == 27 ? 0 : turn);

			turn++;
			if (check_wants(check, algorithm, width, distribution))
				fixed_check(check, runner, &fixed);
		}
	}
}

static void
check_random_cases(Check *check, FixedRunner *runner, double until)
{
	double largest_log = check->options.quick ? 21 : 24;

	while (check_now() < until && check->group_failures < CHECK_TOLD_FAILURES)
	{
		double log = (double) check_random_below(check, 1000000) / 1000000 * largest_log;
		FixedCase fixed = case_in_turn(check, algorithms[check_random_below(check, 4)],
									   widths[check_random_below(check, 5)], (uint64_t) exp2(log),
									   (Distribution) check_random_below(check, NCHECKED_DISTRIBUTIONS),
									   (unsigned int) check_random_below(check, 6));

		if (check->options.algorithm >= 0)
			fixed.algorithm = (DevSortAlgorithm) check->options.algorithm;
		if (check->options.width > 0)
			fixed.key_bytes = check->options.width;
		if (check->options.distribution >= 0)
			fixed.distribution = (Distribution) check->options.distribution;
		fixed_check(check, runner, &fixed);
	}
}

/* Before the large sizes take most of the memory of the host. */
static void
check_random_groups(Check *check, FixedRunner *runner)
{
	const int ngroups = 5;
	double begin = check_now();

	for (int group = 1; group <= ngroups; group++)
	{
		if (!check_group_begin(check, "fixed: random choices, part %d of %d", group, ngroups))
			continue;
		check_random_cases(check, runner, begin + check->options.seconds * group / ngroups);
		check_group_end(check);
	}
}

void
check_fixed(Check *check)
{
	FixedRunner runner = {};

	if (check->options.has_n)
	{
		check_size_class(check, &runner, &one_size);
		fixed_release(&runner);
		return;
	}
	for (const SizeClass &size_class : size_classes)
		check_size_class(check, &runner, &size_class);
	if (check->options.seconds > 0)
		check_random_groups(check, &runner);
	for (DevSortAlgorithm algorithm : algorithms)
	{
		if (check->options.quick || !check_wants(check, algorithm, 0, -1))
			continue;
		if (!check_group_begin(check, "fixed: %s, 2^24 to 2^27 rows", algorithm_name(algorithm)))
			continue;
		check_large(check, &runner, algorithm);
		check_group_end(check);
	}
	fixed_release(&runner);
}
