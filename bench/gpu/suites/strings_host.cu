/*
 * strings_host.cu
 *		The ten data sets sorted by one processor of the host, for table VIII of Deshpande, Narayanan.
 *
 * The paper has Burstsort and an MSD radix sort there, which no library offers.  Here it is the C++ library's
 * std::sort of string numbers by memcmp: what a program without a card would call.  It needs no device but
 * that gpubench opens one.
 */
#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "gpu/data/datasets.h"
#include "gpu/harness/bench.h"

#define QUICK_SHARE 10

/* By memcmp; a string comes before its continuations. */
static bool
string_less(const StringSet *set, uint32_t a, uint32_t b)
{
	size_t a_length = set->offsets[a + (size_t) 1] - set->offsets[a];
	size_t b_length = set->offsets[b + (size_t) 1] - set->offsets[b];
	int order = memcmp(set->bytes.data() + set->offsets[a], set->bytes.data() + set->offsets[b],
					   std::min(a_length, b_length));

	return order != 0 ? order < 0 : a_length < b_length;
}

/* Sorts once, and adds the milliseconds. */
static DevSortStatus
sort_once(const StringSet *set, Times *times)
{
	std::vector<uint32_t> order(set->offsets.size() - 1);
	auto less = [set](uint32_t a, uint32_t b) { return string_less(set, a, b); };
	auto begin = std::chrono::steady_clock::now();

	std::iota(order.begin(), order.end(), 0);
	std::sort(order.begin(), order.end(), less);
	times->ms[times->count++] =
		std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin).count();
	if (!std::is_sorted(order.begin(), order.end(), less))
		return status_make(DEVSORT_INVALID, "the result is not in order");
	return status_ok();
}

void
suite_strings_host(Bench *bench)
{
	Report report;
	DevSortStatus status = report_open(&report, bench, "strings-host", "strings-host", "source,string_bytes");

	for (int i = 0; i < NDATASETS && status.code == DEVSORT_OK; i++)
	{
		StringSet set;
		ReportRow row = {};
		Times times = {};

		dataset_make(&datasets[i], datasets[i].n / (bench->options.quick ? QUICK_SHARE : 1),
					 bench->options.data, bench_seed(bench), &set);
		for (int repeat = 0; repeat < bench->options.repeat && status.code == DEVSORT_OK; repeat++)
			status = sort_once(&set, &times);
		row.algorithm = "std-sort";
		row.distribution = datasets[i].name;
		row.value_bytes = 4;
		row.n = set.offsets.size() - 1;
		row.median_ms = times_median(&times);
		row.min_ms = times_min(&times);
		row.bytes = (double) set.bytes.size();
		row.repeats = times.count;
		report_write(&report, &row, "%s,%llu", set.source.c_str(), (unsigned long long) set.bytes.size());
	}
	if (status.code != DEVSORT_OK)
		bench_fail(bench, &status, "strings-host");
	else
		report_close(&report);
}
