/*
 * headline.cu
 *		What the project claims, from one run: ratios at 2^27 rows, competitors in turn.
 *
 * Every time is also given as a multiple of its floor: what reading and writing keys and values once takes at
 * the rate of a device copy measured here.
 */
#include <algorithm>

#include "gpu/suites/sort_case.h"

#define HEADLINE_LOG_N 27
#define QUICK_LOG_N 24

static const char columns[] = "part,floor_ms,times_floor,ratio_to_sample";

/* Bytes a second, read and written, of a device copy; the pool is overwritten. */
static DevSortStatus
measure_copy(Bench *bench, Report *report, double *bandwidth)
{
	Times times = {};
	ReportRow row = {};

	RETURN_IF_FAILED(bench_time_copy(bench, &times, &row.bytes));
	*bandwidth = row.bytes / (times_median(&times) / 1000);
	row.algorithm = "device-copy";
	row.distribution = "none";
	row.median_ms = times_median(&times);
	row.min_ms = times_min(&times);
	row.repeats = times.count;
	report_write(report, &row, "copy,0,0,0");
	return status_ok();
}

/* The sample sort first: the others are compared with it. */
static void
choose_contenders(SortCase *sort_case, const KeyType *type)
{
	bool wide = type->key_bytes > 8;

	*sort_case = {};
	sort_case->type = type;
	sort_case->contenders[sort_case->ncontenders++] = &contender_sample;
	sort_case->contenders[sort_case->ncontenders++] = &contender_sample_numbering;
	sort_case->contenders[sort_case->ncontenders++] = wide ? &contender_cub_radix_wide : &contender_cub_radix;
	sort_case->contenders[sort_case->ncontenders++] = wide ? &contender_cub_merge_wide : &contender_cub_merge;
	if (!wide)
	{
		sort_case->contenders[sort_case->ncontenders++] = &contender_cub_radix_double_buffer;
		sort_case->contenders[sort_case->ncontenders++] = &contender_bucket;
	}
}

static double
floor_ms(const SortCase *sort_case, double bandwidth)
{
	return 2.0 * sort_case->arrays.n * (sort_case->type->key_bytes + sort_case->type->value_bytes) /
		   bandwidth * 1000;
}

/* One contender's row; reference_ms is the time to compare with, 0 if there is none. */
static void
report_contender(Report *report, const SortCase *sort_case, int which, Distribution distribution,
				 const char *part, double bandwidth, double reference_ms)
{
	double floor = floor_ms(sort_case, bandwidth);
	ReportRow row =
		sort_case_row(sort_case, sort_case->contenders[which], distribution, &sort_case->times[which]);

	report_write(report, &row, "%s,%.4g,%.4g,%.4g", part, floor, row.median_ms / floor,
				 reference_ms > 0 ? row.median_ms / reference_ms : 0);
}

/* All contenders on uniform keys. */
static void
measure_ratios(Bench *bench, Report *report, const KeyType *type, int log_n, double bandwidth)
{
	SortCase sort_case;
	double sample_ms;

	choose_contenders(&sort_case, type);
	sort_case_measure(bench, &sort_case, UNIFORM, UINT64_C(1) << log_n);
	sample_ms = sort_case.stopped[0] ? 0 : times_median(&sort_case.times[0]);
	for (int which = 0; which < sort_case.ncontenders; which++)
	{
		if (sort_case.stopped[which])
			continue;
		report_contender(report, &sort_case, which, UNIFORM, "ratios", bandwidth, sample_ms);
		printf("headline %-6s %-24s %8.3f ms = %5.2f x floor", type->name, sort_case.contenders[which]->name,
			   times_median(&sort_case.times[which]),
			   times_median(&sort_case.times[which]) / floor_ms(&sort_case, bandwidth));
		if (sample_ms > 0)
			printf(" = %5.2f x sample", times_median(&sort_case.times[which]) / sample_ms);
		printf("\n");
	}
}

/*
 * One sort on all distributions: the ten of the papers, and those whose keys crowd together more than any of
 * these.
 */
static void
measure_spread(Bench *bench, Report *report, const KeyType *type, const Contender *contender, int log_n,
			   double bandwidth)
{
	double uniform = 0;
	double fastest = 0;
	double slowest = 0;
	int slowest_distribution = UNIFORM;
	SortCase sort_case = {};

	sort_case.type = type;
	sort_case.contenders[sort_case.ncontenders++] = contender;
	for (int distribution = UNIFORM; distribution < NCHECKED_DISTRIBUTIONS; distribution++)
	{
		double ms;

		sort_case_measure(bench, &sort_case, (Distribution) distribution, UINT64_C(1) << log_n);
		if (sort_case.stopped[0])
			return;
		report_contender(report, &sort_case, 0, (Distribution) distribution, "spread", bandwidth, 0);
		ms = times_median(&sort_case.times[0]);
		if (distribution == UNIFORM)
			uniform = fastest = ms;
		if (ms > slowest)
			slowest_distribution = distribution;
		fastest = std::min(fastest, ms);
		slowest = std::max(slowest, ms);
	}
	printf("headline %-6s %-24s slowest (%s) / uniform = %.3f, slowest / fastest = %.3f\n", type->name,
		   contender->name, distribution_name(slowest_distribution), slowest / uniform, slowest / fastest);
}

/* Reserves for the widest keys; no more rows than fit. */
static DevSortStatus
reserve_widest(Bench *bench, int *log_n)
{
	SortCase widest;

	*log_n = std::min(bench->options.quick ? QUICK_LOG_N : HEADLINE_LOG_N, bench->options.max_log_n);
	choose_contenders(&widest, &valued_types[NVALUED_TYPES - 1]);
	return sort_case_reserve(bench, &widest, log_n);
}

void
suite_headline(Bench *bench)
{
	double bandwidth = 0;
	int log_n;
	Report report;
	DevSortStatus status = report_open(&report, bench, "headline", "headline", columns);

	if (status.code == DEVSORT_OK)
		status = reserve_widest(bench, &log_n);
	if (status.code == DEVSORT_OK)
		status = measure_copy(bench, &report, &bandwidth);
	if (status.code != DEVSORT_OK)
	{
		bench_fail(bench, &status, "headline");
		return;
	}
	for (int i = 0; i < NVALUED_TYPES; i++)
		measure_ratios(bench, &report, &valued_types[i], log_n, bandwidth);
	for (int i = 0; i < NVALUED_TYPES; i++)
		measure_spread(bench, &report, &valued_types[i], &contender_sample, log_n, bandwidth);
	measure_spread(bench, &report, &valued_types[0], &contender_bucket, log_n, bandwidth);
	measure_spread(bench, &report, &valued_types[1], &contender_bucket, log_n, bandwidth);
	report_close(&report);
	gather_measure(bench, "headline", "headline-gather");
}
