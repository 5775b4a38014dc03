/*
 * rates.cu
 *		Sorting rates over n: figures 3 to 5 of Leischner, Osipov, Sanders, GPU Sample Sort, section 6.
 *
 * Six distributions, five kinds of keys, n = 2^17 .. 2^28.  The bucket sort papers' comparison with sample
 * sort and merge sort (Dehne, Zaboli 2010, figures 6 and 7) is the same data.
 */
#include "gpu/suites/sort_case.h"

#define FIRST_LOG_N 17

static const KeyType key_types[] = {
	{"u32", 4, 0, false},	  {"u64", 8, 0, false},	 {"u32+u32", 4, 4, false},
	{"u64+u32", 8, 4, false}, {"float", 4, 0, true},
};

#define NKEY_TYPES (sizeof(key_types) / sizeof(key_types[0]))

/* The first six of the sample sort paper. */
#define PAPER_DISTRIBUTIONS 6

static void
choose_contenders(SortCase *sort_case, const KeyType *type)
{
	*sort_case = {};
	sort_case->type = type;
	sort_case->contenders[sort_case->ncontenders++] = &contender_sample;
	sort_case->contenders[sort_case->ncontenders++] = &contender_bucket;
	sort_case->contenders[sort_case->ncontenders++] = &contender_cub_radix;
	sort_case->contenders[sort_case->ncontenders++] = &contender_cub_merge;
	if (type->key_bytes == 4 && type->value_bytes)
		sort_case->contenders[sort_case->ncontenders++] = &contender_thrust_merge;
	if (type->key_bytes == 4 && !type->value_bytes && !type->floats)
		sort_case->contenders[sort_case->ncontenders++] = &contender_thrust_sort;
}

static void
measure_type(Bench *bench, Report *report, const KeyType *type, int max_log_n)
{
	int step = bench->options.quick ? 3 : 1;

	for (int distribution = 0; distribution < PAPER_DISTRIBUTIONS; distribution++)
	{
		SortCase sort_case;

		choose_contenders(&sort_case, type);
		for (int log_n = FIRST_LOG_N; log_n <= max_log_n; log_n += step)
		{
			uint64_t n = UINT64_C(1) << log_n;

			sort_case_measure(bench, &sort_case, (Distribution) distribution, n);
			sort_case_report(report, &sort_case, (Distribution) distribution, type->name);
		}
	}
}

void
suite_rates(Bench *bench)
{
	int max_log_n = bench->options.max_log_n;
	Report report;
	DevSortStatus status = report_open(&report, bench, "rates", "rates", "key_type");

	for (size_t i = 0; i < NKEY_TYPES && status.code == DEVSORT_OK; i++)
	{
		SortCase sort_case;

		choose_contenders(&sort_case, &key_types[i]);
		status = sort_case_reserve(bench, &sort_case, &max_log_n);
	}
	if (status.code != DEVSORT_OK)
	{
		bench_fail(bench, &status, "rates");
		return;
	}
	for (size_t i = 0; i < NKEY_TYPES; i++)
		measure_type(bench, &report, &key_types[i], max_log_n);
	report_close(&report);
}
