/*
 * wide.cu
 *		Keys of 16, 24 and 32 bytes with a row number, over n and over distributions.
 */
#include <algorithm>

#include "gpu/suites/sort_case.h"

#define FIRST_LOG_N 20
#define LAST_LOG_N 27
#define DISTRIBUTIONS_LOG_N 25

static const KeyType key_types[] = {
	{"16+u32", 16, 4, false},
	{"24+u32", 24, 4, false},
	{"32+u32", 32, 4, false},
};

static void
choose_contenders(SortCase *sort_case, const KeyType *type)
{
	*sort_case = {};
	sort_case->type = type;
	sort_case->contenders[sort_case->ncontenders++] = &contender_sample;
	sort_case->contenders[sort_case->ncontenders++] = &contender_cub_radix_wide;
	sort_case->contenders[sort_case->ncontenders++] = &contender_cub_merge_wide;
}

static void
measure_type(Bench *bench, Report *report, const KeyType *type, int max_log_n)
{
	SortCase sort_case;

	choose_contenders(&sort_case, type);
	for (int log_n = FIRST_LOG_N; log_n <= max_log_n; log_n += bench->options.quick ? 2 : 1)
	{
		sort_case_measure(bench, &sort_case, UNIFORM, UINT64_C(1) << log_n);
		sort_case_report(report, &sort_case, UNIFORM, type->name);
	}
	for (int distribution = UNIFORM + 1; distribution < NDISTRIBUTIONS; distribution++)
	{
		choose_contenders(&sort_case, type);
		sort_case_measure(bench, &sort_case, (Distribution) distribution,
						  UINT64_C(1) << std::min(max_log_n, DISTRIBUTIONS_LOG_N));
		sort_case_report(report, &sort_case, (Distribution) distribution, type->name);
	}
}

void
suite_wide(Bench *bench)
{
	int max_log_n = std::min(bench->options.max_log_n, LAST_LOG_N);
	SortCase largest;
	Report report;
	DevSortStatus status = report_open(&report, bench, "wide", "wide", "key_type");

	choose_contenders(&largest, &key_types[2]);
	if (status.code == DEVSORT_OK)
		status = sort_case_reserve(bench, &largest, &max_log_n);
	if (status.code != DEVSORT_OK)
	{
		bench_fail(bench, &status, "wide");
		return;
	}
	for (size_t i = 0; i < sizeof(key_types) / sizeof(key_types[0]); i++)
		measure_type(bench, &report, &key_types[i], max_log_n);
	report_close(&report);
}
