/*
 * bucket.cu
 *		The figures of Dehne, Zaboli: Deterministic Sample Sort For GPUs, section 5, and Parallel Sorting for
 *		GPUs, section 5.
 *
 * Time by step over n; the trade-off over s; the spread over distributions; bytes per key and the largest n
 * that fits, and one sort of so many keys that it shows.
 */
#include <algorithm>

#include "base/workspace.h"
#include "gpu/suites/sort_case.h"
#include "gpu/verify/verify.h"

#define FIRST_LOG_N 20
#define TRADE_OFF_FIRST_LOG_N 25
#define TRADE_OFF_LAST_LOG_N 27
#define LARGE_LOG_N 30
#define MEMORY_LOG_N 27

static const KeyType key_types[] = {
	{"u32", 4, 0, false},
	{"u64+u32", 8, 4, false},
};

#define NKEY_TYPES (sizeof(key_types) / sizeof(key_types[0]))

static void
choose_bucket(SortCase *sort_case, const KeyType *type)
{
	*sort_case = {};
	sort_case->type = type;
	sort_case->contenders[sort_case->ncontenders++] = &contender_bucket;
}

/* Writes the stages of one more run. */
static DevSortStatus
report_stages(Bench *bench, Report *report, SortCase *sort_case, StageTimes *stages, int samples)
{
	Times times = {};

	stage_times_reset(stages);
	sort_case->arrays.stages = &stages->stages;
	sort_case->arrays.samples = samples;
	RETURN_IF_FAILED(sort_case_run(bench, sort_case, &contender_bucket, &times));
	RETURN_IF_FAILED(stage_times_collect(stages));
	for (int i = 0; i < stages->nnames; i++)
	{
		ReportRow row = {};

		row.algorithm = "bucket";
		row.distribution = "uniform";
		row.key_bytes = sort_case->type->key_bytes;
		row.value_bytes = sort_case->type->value_bytes;
		row.n = sort_case->arrays.n;
		row.median_ms = row.min_ms = stages->ms[i];
		row.repeats = 1;
		report_write(report, &row, "steps,%d,%d,%s", samples, i, stages->names[i]);
	}
	return status_ok();
}

/* Figure 5 (and 2 of the second paper): time by step over n, with the tuned s. */
static void
measure_steps(Bench *bench, Report *report, const KeyType *type, StageTimes *stages, int max_log_n)
{
	SortCase sort_case;

	choose_bucket(&sort_case, type);
	for (int log_n = FIRST_LOG_N; log_n <= max_log_n && !sort_case.stopped[0]; log_n++)
	{
		DevSortStatus status;

		sort_case_measure(bench, &sort_case, UNIFORM, UINT64_C(1) << log_n);
		if (sort_case.stopped[0])
			return;
		sort_case_report(report, &sort_case, UNIFORM, "total,0,0,total");
		status = report_stages(bench, report, &sort_case, stages, 0);
		if (status.code != DEVSORT_OK)
		{
			bench_fail(bench, &status, "bucket, steps, n = 2^%d", log_n);
			return;
		}
	}
}

/* One s: checked, then timed. */
static DevSortStatus
measure_samples(Bench *bench, Report *report, SortCase *sort_case, StageTimes *stages, int samples)
{
	Times warm_up = {};
	char columns[64];
	int repeats = bench_repeats(bench, sort_case->arrays.n);

	sort_case->arrays.stages = NULL;
	sort_case->arrays.samples = samples;
	sort_case->times[0].count = 0;
	RETURN_IF_FAILED(sort_case_run(bench, sort_case, &contender_bucket, &warm_up));
	RETURN_IF_FAILED(sort_case_verify(bench, sort_case));
	for (int repeat = 0; repeat < repeats; repeat++)
		RETURN_IF_FAILED(sort_case_run(bench, sort_case, &contender_bucket, &sort_case->times[0]));
	snprintf(columns, sizeof(columns), "samples,%d,0,total", samples);
	sort_case_report(report, sort_case, UNIFORM, columns);
	return report_stages(bench, report, sort_case, stages, samples);
}

/* Makes the case's workspace large enough for every s. */
static DevSortStatus
prepare_samples(Bench *bench, SortCase *sort_case, uint64_t n)
{
	SortArrays arrays = sort_arrays_measure(sort_case->type, n);
	size_t needed = 0;

	for (int samples = 16; samples <= 1024; samples *= 2)
	{
		size_t bytes;

		arrays.samples = samples;
		RETURN_IF_FAILED(contender_bucket.memory(&arrays, &bytes));
		needed = std::max(needed, bytes);
	}
	RETURN_IF_FAILED(bench_reserve(bench, sort_case_bytes(sort_case, n) + needed));
	RETURN_IF_FAILED(sort_case_prepare(bench, sort_case, UNIFORM, n));
	/* The workspace is the last piece, and the pool goes on behind it. */
	sort_case->arrays.workspace_bytes =
		bench->pool_bytes - (size_t) ((char *) sort_case->arrays.workspace - bench->pool);
	return status_ok();
}

/* Figure 3: the trade-off over s. */
static void
measure_trade_off(Bench *bench, Report *report, const KeyType *type, StageTimes *stages, int max_log_n)
{
	for (int log_n = std::min(TRADE_OFF_FIRST_LOG_N, max_log_n);
		 log_n <= std::min(TRADE_OFF_LAST_LOG_N, max_log_n); log_n++)
	{
		SortCase sort_case;
		DevSortStatus status;

		choose_bucket(&sort_case, type);
		status = prepare_samples(bench, &sort_case, UINT64_C(1) << log_n);
		for (int samples = 16; samples <= 1024 && status.code == DEVSORT_OK; samples *= 2)
		{
			status = measure_samples(bench, report, &sort_case, stages, samples);
			/* Too few samples for so many rows: the next s may be enough. */
			if (status.code == DEVSORT_INVALID)
			{
				printf("bucket, over s, n = 2^%d: %s\n", log_n, status.message);
				status.code = DEVSORT_OK;
			}
		}
		if (status.code != DEVSORT_OK)
			bench_fail(bench, &status, "bucket, over s, n = 2^%d", log_n);
	}
}

/* Figure 5 of the second paper: every distribution, and between the fastest and the slowest. */
static void
measure_distributions(Bench *bench, Report *report, const KeyType *type, int max_log_n)
{
	double fastest = 0;
	double slowest = 0;
	SortCase sort_case;

	choose_bucket(&sort_case, type);
	for (int distribution = 0; distribution < NDISTRIBUTIONS; distribution++)
	{
		double ms;

		sort_case_measure(bench, &sort_case, (Distribution) distribution,
						  UINT64_C(1) << std::min(max_log_n, MEMORY_LOG_N));
		if (sort_case.stopped[0])
			return;
		sort_case_report(report, &sort_case, (Distribution) distribution, "distributions,0,0,total");
		ms = times_median(&sort_case.times[0]);
		fastest = distribution == 0 ? ms : std::min(fastest, ms);
		slowest = std::max(slowest, ms);
	}
	printf("bucket, %s: slowest distribution / fastest = %.3f\n", type->name, slowest / fastest);
}

/* Bytes a key at 2^27, and the largest n whose arrays and workspace fit into the card's memory. */
static void
report_memory(const Bench *bench, FILE *file, const Contender *contender, const KeyType *type)
{
	double per_key =
		(double) contender_total_bytes(contender, type, UINT64_C(1) << MEMORY_LOG_N) / (1 << MEMORY_LOG_N);
	size_t limit = bench_available(bench);
	uint64_t low = 0;
	uint64_t high = DEVSORT_MAX_ROWS;

	while (low < high)
	{
		uint64_t middle = low + (high - low + 1) / 2;
		size_t bytes = contender_total_bytes(contender, type, middle);

		if (bytes > 0 && bytes <= limit)
			low = middle;
		else
			high = middle - 1;
	}
	fprintf(file, "%s,%s,%s,%s,%s,%.2f,%llu\n", bench->device.name, bench->date, bench->options.commit,
			contender->name, type->name, per_key, (unsigned long long) low);
	printf("memory   %-24s %-10s %6.2f bytes a key, at most %llu keys\n", contender->name, type->name,
		   per_key, (unsigned long long) low);
}

static void
measure_memory(Bench *bench)
{
	static const Contender *const contenders[] = {&contender_sample, &contender_bucket, &contender_cub_radix,
												  &contender_cub_radix_double_buffer, &contender_cub_merge};
	char path[sizeof(bench->out) + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/memory.csv", bench->out);
	file = fopen(path, "w");
	if (file == NULL)
	{
		DevSortStatus status = status_make(DEVSORT_INVALID, "cannot write %s", path);

		bench_fail(bench, &status, "bucket, memory");
		return;
	}
	fprintf(file, "card,date,commit,algorithm,key_type,bytes_per_key,largest_n\n");
	for (size_t type = 0; type < NKEY_TYPES; type++)
	{
		for (size_t i = 0; i < sizeof(contenders) / sizeof(contenders[0]); i++)
			report_memory(bench, file, contenders[i], &key_types[type]);
	}
	fclose(file);
}

/* As many keys as fit, up to 2^30, once; there is no pristine copy. */
static DevSortStatus
measure_large(Bench *bench, Report *report)
{
	const KeyType *type = &key_types[0];
	int log_n = std::min(LARGE_LOG_N, bench->options.max_log_n + 2);
	Workspace pool;
	SortCase sort_case;
	SortArrays *arrays = &sort_case.arrays;

	choose_bucket(&sort_case, type);
	while (contender_total_bytes(&contender_bucket, type, UINT64_C(1) << log_n) + (1 << 20) >
			   bench_available(bench) &&
		   log_n > 20)
		log_n--;
	*arrays = sort_arrays_measure(type, UINT64_C(1) << log_n);
	RETURN_IF_FAILED(contender_bucket.memory(arrays, &arrays->workspace_bytes));
	RETURN_IF_FAILED(
		bench_reserve(bench, contender_total_bytes(&contender_bucket, type, arrays->n) + (1 << 20)));
	pool = workspace_open(bench->pool);
	sort_case.pristine_keys = arrays->keys = workspace_take<uint32_t>(&pool, arrays->n);
	arrays->sorted_keys = workspace_take<uint32_t>(&pool, arrays->n);
	arrays->workspace = workspace_take<char>(&pool, arrays->workspace_bytes);
	RETURN_IF_FAILED(distribution_fill(UNIFORM, bench_seed(bench), arrays->n, type->key_bytes,
									   DEVSORT_KEY_WORDS, arrays->keys, bench->stream));
	RETURN_IF_FAILED(verify_checksum(type, arrays->keys, arrays->n, &sort_case.checksum, bench->stream));
	RETURN_IF_FAILED(sort_case_run(bench, &sort_case, &contender_bucket, &sort_case.times[0]));
	RETURN_IF_FAILED(sort_case_verify(bench, &sort_case));
	sort_case_report(report, &sort_case, UNIFORM, "large,0,0,total");
	return status_ok();
}

void
suite_bucket(Bench *bench)
{
	int max_log_n = bench->options.max_log_n;
	StageTimes *stages = NULL;
	SortCase largest;
	Report report;
	DevSortStatus status = report_open(&report, bench, "bucket", "bucket", "figure,samples,step,stage");

	choose_bucket(&largest, &key_types[1]);
	if (status.code == DEVSORT_OK)
		status = sort_case_reserve(bench, &largest, &max_log_n);
	if (status.code == DEVSORT_OK)
		status = stage_times_create(&stages);
	if (status.code != DEVSORT_OK)
	{
		stage_times_destroy(stages);
		bench_fail(bench, &status, "bucket");
		return;
	}
	for (size_t i = 0; i < NKEY_TYPES; i++)
	{
		measure_steps(bench, &report, &key_types[i], stages, max_log_n);
		measure_trade_off(bench, &report, &key_types[i], stages, max_log_n);
		measure_distributions(bench, &report, &key_types[i], max_log_n);
	}
	measure_memory(bench);
	status = measure_large(bench, &report);
	if (status.code != DEVSORT_OK)
		bench_fail(bench, &status, "bucket, the largest sort");
	stage_times_destroy(stages);
	report_close(&report);
}
