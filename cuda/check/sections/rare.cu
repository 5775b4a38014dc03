/*
 * rare.cu
 *		The sorts' ways that ordinary inputs and seeds hardly ever take.
 *
 * With one sample a splitter the leaves' sizes vary so much that some are larger than a block can sort and
 * are distributed again, or, where there are too many of them, all is radix sorted.  With no work allowed to
 * a leaf, those whose keys are not evenly spread are merge sorted; with as many samples as usual, among them
 * those that the sample takes for crowded.  And the first of two levels is counted, as it is of more rows
 * than chunks are used for.  Of wide keys, prefixes have codes in sorts of any size.  The results are proved
 * as always, and each way must have been taken.
 */
#include "check/cases/fixed.h"
#include "fixed/prefix_codes.h"
#include "pairs/sample_sort.h"

static void
check_rare_sorts(Check *check, int width)
{
	static FixedRunner runner;
	const uint64_t sizes[] = {4097, 20000, 300001, 1048576, 3000017, 9000001, 20000003};

	for (uint64_t n : sizes)
	{
		for (int distribution = 0; distribution < NCHECKED_DISTRIBUTIONS; distribution++)
		{
			FixedCase fixed = {DEVSORT_SAMPLE,
							   width,
							   (DevSortKeyFormat) check_random_below(check, 2),
							   (FixedPayload) check_random_below(check, NPAYLOADS),
							   (Distribution) distribution,
							   n,
							   check_random(check) >> 16,
							   0};
			Why why = {};

			/* Large enough for a sample with oversized leaves of its own. */
			if (n > 10000000 && distribution != UNIFORM && distribution != LOW_ENTROPY)
				continue;
			if ((check->options.has_n && check->options.n != n) ||
				!check_wants(check, DEVSORT_SAMPLE, width, distribution))
				continue;
			check_case(check, fixed_run(&runner, &fixed, &why), &why, "%d bytes, %s, n %llu, seed %llu",
					   width, distribution_name(distribution), (unsigned long long) n,
					   (unsigned long long) fixed.seed);
		}
	}
	fixed_release(&runner);
}

/* Sorts of keys of one width; counts_all_levels as in SampleRareWays. */
static void
check_rare_ways(Check *check, int width, bool counts_all_levels)
{
	const SampleRareWays usual = sample_rare_ways;
	const bool all = !check->options.has_n && check->options.distribution < 0;
	Why why = {};

	if (!check_wants(check, DEVSORT_SAMPLE, width, -1) ||
		!check_group_begin(check, "rare ways: sample, %d bytes%s", width,
						   counts_all_levels ? ", no chunks" : ""))
		return;
	sample_rare_ways = {1, 0, counts_all_levels, 0, 0, 0};
	check_rare_sorts(check, width);
	why_say(&why, "%llu leaves distributed again, %llu merge sorted, %llu parts by radix",
			(unsigned long long) sample_rare_ways.oversized, (unsigned long long) sample_rare_ways.hard,
			(unsigned long long) sample_rare_ways.by_radix);
	if (all)
		check_case(check,
				   sample_rare_ways.oversized > 0 && sample_rare_ways.hard > 0 &&
					   sample_rare_ways.by_radix > 0,
				   &why, "every way is taken");
	sample_rare_ways = usual;
	check_group_end(check);
}

/* Wider keys are sorted in rounds, which count their leaves only where some are oversized. */
#define WIDEST_PAIR_KEY 16

/* Crowded leaves that are given up nevertheless. */
static void
check_hard_crowded_leaves(Check *check, int width)
{
	static FixedRunner runner;
	const SampleRareWays usual = sample_rare_ways;
	const uint64_t sizes[] = {1500007, 6000011};
	bool wanted = !check->options.has_n && check_wants(check, DEVSORT_SAMPLE, width, LOW_ENTROPY);
	Why why = {};

	if (!wanted || !check_group_begin(check, "rare ways: crowded leaves, %d bytes", width))
		return;
	sample_rare_ways.leaf_max_work = 0;
	sample_rare_ways.hard = 0;
	for (uint64_t n : sizes)
	{
		FixedCase fixed = {DEVSORT_SAMPLE,
						   width,
						   (DevSortKeyFormat) check_random_below(check, 2),
						   (FixedPayload) check_random_below(check, NPAYLOADS),
						   LOW_ENTROPY,
						   n,
						   check_random(check) >> 16,
						   0};

		fixed_check(check, &runner, &fixed);
	}
	why_say(&why, "%llu leaves merge sorted", (unsigned long long) sample_rare_ways.hard);
	check_case(check, sample_rare_ways.hard > 0 || width > WIDEST_PAIR_KEY, &why, "leaves are merge sorted");
	sample_rare_ways = usual;
	fixed_release(&runner);
	check_group_end(check);
}

/* Of a sort of so many rows, whether prefixes get codes is no chance. */
#define ENOUGH_FOR_CODES 300001

/*
 * Sorts a distribution with codes of prefixes, where they are worth it: and they are where keys begin alike.
 */
static void
check_prefix_sort(Check *check, FixedRunner *runner, int width, Distribution distribution, uint64_t n)
{
	const DevSortAlgorithm algorithms[] = {DEVSORT_BUCKET, DEVSORT_RADIX, DEVSORT_SAMPLE};
	const bool begin_alike =
		distribution == SHARED_PREFIX || distribution == EXTREMES || distribution == LONG_PREFIX;
	FixedCase fixed = {algorithms[check_random_below(check, width > WIDEST_PAIR_KEY ? 3 : 2)],
					   width,
					   (DevSortKeyFormat) check_random_below(check, 2),
					   (FixedPayload) check_random_below(check, NPAYLOADS),
					   distribution,
					   n,
					   check_random(check) >> 16,
					   0};
	Why why = {};

	prefix_rare_ways.coded = 0;
	fixed_check(check, runner, &fixed);
	why_say(&why, "%llu of 1", (unsigned long long) prefix_rare_ways.coded);
	if (n >= ENOUGH_FOR_CODES)
		check_case(check, prefix_rare_ways.coded == (begin_alike ? 1 : 0), &why, "%s: sorts with codes",
				   fixed_name(&fixed).text);
}

static void
check_prefix_codes(Check *check, int width)
{
	static FixedRunner runner;
	const PrefixRareWays usual = prefix_rare_ways;
	const uint64_t sizes[] = {1, 2, 3, 33, 1023, 1024, 1025, 8193, ENOUGH_FOR_CODES, 2500007};

	if (!check_wants(check, DEVSORT_AUTO, width, -1) ||
		!check_group_begin(check, "rare ways: codes of prefixes, %d bytes", width))
		return;
	prefix_rare_ways.least_rows = 1;
	for (uint64_t n : sizes)
		for (int distribution = 0; distribution < NCHECKED_DISTRIBUTIONS; distribution++)
			if (check_wants(check, DEVSORT_AUTO, width, distribution) &&
				(!check->options.has_n || check->options.n == n))
				check_prefix_sort(check, &runner, width, (Distribution) distribution, n);
	prefix_rare_ways = usual;
	fixed_release(&runner);
	check_group_end(check);
}

void
check_rare(Check *check)
{
	for (int width : {16, 24, 32})
		check_prefix_codes(check, width);
	for (int width : {4, 8, 16, 24})
	{
		check_rare_ways(check, width, false);
		check_rare_ways(check, width, true);
		check_hard_crowded_leaves(check, width);
	}
}
