/*
 * streams.cu
 *		Several sorts at once, and many sorts one after the other: the right results, and no memory lost.
 */
#include <thread>

#include "check/cases/fixed.h"
#include "check/cases/strings.h"

static const DevSortAlgorithm algorithms[] = {DEVSORT_SAMPLE, DEVSORT_BUCKET, DEVSORT_RADIX, DEVSORT_AUTO};
static const int widths[] = {4, 8, 16, 24, 32};

#define SORTS_A_THREAD 20

/* What one thread does, and how it went. */
typedef struct Sorter
{
	FixedRunner runner;
	FixedCase cases[SORTS_A_THREAD];
	bool passed[SORTS_A_THREAD];
	Why whys[SORTS_A_THREAD];
} Sorter;

static FixedCase
random_case(Check *check, uint64_t n)
{
	DevSortAlgorithm algorithm = algorithms[check_random_below(check, 4)];
	int width = widths[check_random_below(check, 5)];
	FixedCase fixed = {algorithm,
					   width,
					   (DevSortKeyFormat) check_random_below(check, 2),
					   (FixedPayload) check_random_below(check, NPAYLOADS),
					   (Distribution) check_random_below(check, NCHECKED_DISTRIBUTIONS),
					   n,
					   check_random(check) >> 16,
					   0};

	return fixed;
}

static void
sorter_run(Sorter *sorter)
{
	for (int i = 0; i < SORTS_A_THREAD; i++)
		sorter->passed[i] = fixed_run(&sorter->runner, &sorter->cases[i], &sorter->whys[i]);
}

static void
sorter_make(Check *check, Sorter *sorter, uint64_t rows)
{
	for (int i = 0; i < SORTS_A_THREAD; i++)
		sorter->cases[i] = random_case(check, rows / 2 + check_random_below(check, rows));
}

/* Two threads, two streams; then two streams from one thread. */
static void
check_two_streams(Check *check)
{
	static Sorter sorters[2];
	uint64_t rows = check->options.has_n ? check->options.n + 1 : 300000;
	Why why = {};
	std::thread other;

	for (Sorter &sorter : sorters)
	{
		sorter_make(check, &sorter, rows);
		if (!why_cuda(&why, cudaStreamCreateWithFlags(&sorter.runner.guarded.stream, cudaStreamNonBlocking),
					  "making a stream"))
			check_case(check, false, &why, "stream");
	}
	other = std::thread(sorter_run, &sorters[1]);
	sorter_run(&sorters[0]);
	other.join();
	for (Sorter &sorter : sorters)
	{
		for (int i = 0; i < SORTS_A_THREAD; i++)
			check_case(check, sorter.passed[i], &sorter.whys[i], "two threads, %s",
					   fixed_name(&sorter.cases[i]).text);
	}
	for (int i = 0; i < SORTS_A_THREAD; i++)
	{
		bool passed = true;

		for (Sorter &sorter : sorters)
			passed = passed && fixed_prepare(&sorter.runner, &sorter.cases[i], &why);
		for (Sorter &sorter : sorters)
			passed = passed && why_status(&why, fixed_sort(&sorter.runner), "devsort_fixed");
		for (Sorter &sorter : sorters)
			passed = passed && fixed_prove(&sorter.runner, &why);
		check_case(check, passed, &why, "two streams, %s and %s", fixed_name(&sorters[0].cases[i]).text,
				   fixed_name(&sorters[1].cases[i]).text);
	}
	for (Sorter &sorter : sorters)
	{
		(void) cudaStreamSynchronize(sorter.runner.guarded.stream);
		(void) cudaStreamDestroy(sorter.runner.guarded.stream);
		fixed_release(&sorter.runner);
		sorter.runner.guarded.stream = NULL;
	}
}

/* Small sorts of all sorts; each frees what it took. */
static bool
sort_and_release(Check *check, int sorts, Why *why)
{
	for (int i = 0; i < sorts; i++)
	{
		FixedRunner fixed_runner = {};
		StringsRunner strings_runner = {};
		FixedCase fixed = random_case(check, check_random_below(check, 20000));
		StringsCase strings = {fixed.algorithm, (StringsKind) (i % NSTRINGS_KINDS), fixed.n / 4, 20, i % 8,
							   fixed.seed};
		bool passed;

		passed =
			i % 4 == 0 ? strings_run(&strings_runner, &strings, why) : fixed_run(&fixed_runner, &fixed, why);
		fixed_release(&fixed_runner);
		guarded_release(&strings_runner.guarded);
		if (!passed)
			return false;
	}
	return true;
}

static void
check_leaks(Check *check)
{
	Why why = {};
	uint64_t random_state = check->random_state;
	size_t before;
	bool passed;

	/* The same sorts before: the first load code to the device. */
	passed = sort_and_release(check, 200, &why);
	before = device_free_bytes();
	check->random_state = random_state;
	passed = passed && sort_and_release(check, 200, &why) && device_memory_is_back(before, &why);
	check_case(check, passed, &why, "200 sorts, seed %llu", (unsigned long long) check->options.seed);
}

void
check_streams(Check *check)
{
	if (check_group_begin(check, "streams: two at once"))
	{
		check_two_streams(check);
		check_group_end(check);
	}
	if (check_group_begin(check, "streams: no memory lost by 200 sorts"))
	{
		check_leaks(check);
		check_group_end(check);
	}
}
