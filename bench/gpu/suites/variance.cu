/*
 * variance.cu
 *		How much a sort's time varies from run to run: Dehne, Zaboli, section 5, give means of 100 runs, with
 *		less than 1 ms of variance.
 *
 * Every run sorts other keys, and the sample sort draws another sample.  The median and the least time are in
 * the common columns.
 */
#include <algorithm>
#include <cmath>

#include "gpu/suites/sort_case.h"

#define VARIANCE_RUNS 100
#define QUICK_RUNS 10

static const int sizes_log_n[] = {20, 22, 24, 26, 27};

static const Distribution distributions[] = {UNIFORM, ZIPF};

static const KeyType key_types[] = {
	{"u32", 4, 0, false},
	{"u64+u32", 8, 4, false},
};

#define NKEY_TYPES (sizeof(key_types) / sizeof(key_types[0]))

static void
choose_contenders(SortCase *sort_case, const KeyType *type)
{
	*sort_case = {};
	sort_case->type = type;
	sort_case->contenders[sort_case->ncontenders++] = &contender_sample;
	sort_case->contenders[sort_case->ncontenders++] = &contender_bucket;
}

/* One more run of each contender on keys of its own; the first is checked, and not timed. */
static DevSortStatus
add_runs(Bench *bench, SortCase *sort_case, Distribution distribution, uint64_t n, bool first)
{
	RETURN_IF_FAILED(sort_case_prepare(bench, sort_case, distribution, n));
	for (int which = 0; which < sort_case->ncontenders; which++)
	{
		Times untimed = {};

		RETURN_IF_FAILED(sort_case_run(bench, sort_case, sort_case->contenders[which],
									   first ? &untimed : &sort_case->times[which]));
		if (first)
			RETURN_IF_FAILED(sort_case_verify(bench, sort_case));
	}
	return status_ok();
}

static void
report_contender(Report *report, const SortCase *sort_case, int which, Distribution distribution)
{
	const Times *times = &sort_case->times[which];
	double sum = 0;
	double squares = 0;
	double mean;
	ReportRow row = sort_case_row(sort_case, sort_case->contenders[which], distribution, times);

	for (int i = 0; i < times->count; i++)
		sum += times->ms[i];
	mean = sum / times->count;
	for (int i = 0; i < times->count; i++)
		squares += (times->ms[i] - mean) * (times->ms[i] - mean);
	report_write(report, &row, "%s,%.5g,%.4g,%.5g", sort_case->type->name, mean,
				 sqrt(squares / std::max(1, times->count - 1)),
				 *std::max_element(times->ms, times->ms + times->count));
}

static void
measure_size(Bench *bench, Report *report, const KeyType *type, Distribution distribution, int log_n)
{
	int runs = bench->options.quick ? QUICK_RUNS : VARIANCE_RUNS;
	SortCase sort_case;
	DevSortStatus status = status_ok();

	choose_contenders(&sort_case, type);
	for (int run = 0; run <= runs && status.code == DEVSORT_OK; run++)
		status = add_runs(bench, &sort_case, distribution, UINT64_C(1) << log_n, run == 0);
	if (status.code != DEVSORT_OK)
	{
		bench_fail(bench, &status, "variance, %s, n = 2^%d", type->name, log_n);
		return;
	}
	for (int which = 0; which < sort_case.ncontenders; which++)
		report_contender(report, &sort_case, which, distribution);
}

void
suite_variance(Bench *bench)
{
	int max_log_n = std::min(bench->options.max_log_n, sizes_log_n[sizeof(sizes_log_n) / sizeof(int) - 1]);
	SortCase largest;
	Report report;
	DevSortStatus status =
		report_open(&report, bench, "variance", "variance", "key_type,mean_ms,deviation_ms,max_ms");

	choose_contenders(&largest, &key_types[NKEY_TYPES - 1]);
	if (status.code == DEVSORT_OK)
		status = sort_case_reserve(bench, &largest, &max_log_n);
	if (status.code != DEVSORT_OK)
	{
		bench_fail(bench, &status, "variance");
		return;
	}
	for (const KeyType &type : key_types)
	{
		for (Distribution distribution : distributions)
		{
			for (int log_n : sizes_log_n)
			{
				if (log_n <= max_log_n)
					measure_size(bench, &report, &type, distribution, log_n);
			}
		}
	}
	report_close(&report);
}
