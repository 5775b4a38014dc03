/*
 * gather.cu
 *		Rows in random order: how fast the gather puts them into another one.
 *
 * Rows of one length, and of eight lengths mixed, 4 GB of them or what there is memory for.  The plan, which
 * finds the rows' places, the gather itself, and both together.  Rates are of rows, each counted once, and of
 * all that must pass through memory: rows read and written, the order, offsets.
 */
#include <algorithm>

#include "base/workspace.h"
#include "gpu/harness/bench.h"
#include "gpu/verify/verify.h"

#define ROWS_BYTES ((size_t) 4 << 30)
#define QUICK_ROWS_BYTES ((size_t) 1 << 30)

#define GATHER_THREADS 256
#define GATHER_BLOCKS 4096

/* Eight lengths, repeated; all the same but in the mixed case. */
typedef struct RowLengths
{
	const char *name;
	uint32_t length[8];
} RowLengths;

static const RowLengths row_lengths[] = {
	{"24", {24, 24, 24, 24, 24, 24, 24, 24}},		   {"48", {48, 48, 48, 48, 48, 48, 48, 48}},
	{"64", {64, 64, 64, 64, 64, 64, 64, 64}},		   {"96", {96, 96, 96, 96, 96, 96, 96, 96}},
	{"128", {128, 128, 128, 128, 128, 128, 128, 128}}, {"192", {192, 192, 192, 192, 192, 192, 192, 192}},
	{"256", {256, 256, 256, 256, 256, 256, 256, 256}}, {"mixed", {24, 192, 48, 96, 256, 64, 128, 40}},
};

typedef struct GatherCase
{
	DevSortRowsJob job;
	uint8_t *rows;
	uint64_t *offsets;
	uint32_t *order;
	uint8_t *window;
	unsigned long long *errors;
	void *workspace;
	size_t workspace_bytes;
} GatherCase;

/* Of eight consecutive rows. */
static uint64_t
lengths_sum(const RowLengths *lengths)
{
	uint64_t sum = 0;

	for (int i = 0; i < 8; i++)
		sum += lengths->length[i];
	return sum;
}

static __device__ uint64_t
row_word(uint64_t row, uint64_t word)
{
	return (row * 64 + word + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

static __device__ uint64_t
row_offset(const RowLengths &lengths, uint64_t sum, uint64_t row)
{
	uint64_t offset = row / 8 * sum;

	for (uint64_t i = 0; i < row % 8; i++)
		offset += lengths.length[i];
	return offset;
}

static __global__ void
make_rows_kernel(RowLengths lengths, uint64_t sum, uint64_t n, uint8_t *rows, uint64_t *offsets)
{
	for (uint64_t row = (uint64_t) blockIdx.x * GATHER_THREADS + threadIdx.x; row <= n;
		 row += (uint64_t) GATHER_BLOCKS * GATHER_THREADS)
	{
		uint64_t offset = row_offset(lengths, sum, row);

		offsets[row] = offset;
		for (uint64_t word = 0; row < n && word < lengths.length[row % 8] / 8; word++)
			((uint64_t *) (rows + offset))[word] = row_word(row, word);
	}
}

/* Is every row of the result, where the plan says it is, the one that the order names? */
static __global__ void
check_rows_kernel(RowLengths lengths, uint64_t n, const uint32_t *order, const uint64_t *sorted_offsets,
				  const uint8_t *window, uint64_t total, unsigned long long *errors)
{
	for (uint64_t i = (uint64_t) blockIdx.x * GATHER_THREADS + threadIdx.x; i < n;
		 i += (uint64_t) GATHER_BLOCKS * GATHER_THREADS)
	{
		uint64_t row = order[i];
		uint64_t length = lengths.length[row % 8];
		uint64_t offset = sorted_offsets[i];
		bool wrong = sorted_offsets[i + 1] - offset != length || offset % 8 != 0 || offset > total ||
					 total - offset < length;

		for (uint64_t word = 0; !wrong && word < length / 8; word++)
			wrong = ((const uint64_t *) (window + offset))[word] != row_word(row, word);
		if (wrong)
			atomicAdd(errors, 1ull);
	}
}

static void
take_case(Workspace *pool, uint64_t n, size_t bytes, size_t workspace_size, GatherCase *gather)
{
	gather->rows = workspace_take<uint8_t>(pool, bytes);
	gather->window = workspace_take<uint8_t>(pool, bytes);
	gather->offsets = workspace_take<uint64_t>(pool, n + 1);
	gather->job.sorted_offsets = workspace_take<uint64_t>(pool, n + 1);
	gather->order = workspace_take<uint32_t>(pool, n);
	gather->errors = workspace_take<unsigned long long>(pool, 1);
	gather->workspace = workspace_take<uint8_t>(pool, workspace_size);
	gather->workspace_bytes = workspace_size;
	gather->job.n = n;
	gather->job.rows = gather->rows;
	gather->job.offsets = gather->offsets;
	gather->job.order = gather->order;
}

/* Lays out n rows; bytes is what they take. */
static DevSortStatus
layout_case(Bench *bench, uint64_t n, size_t bytes, bool measure, GatherCase *gather, size_t *needed)
{
	Workspace pool = measure ? workspace_measure() : workspace_open(bench->pool);
	size_t workspace_size;

	*gather = {};
	gather->job.n = n;
	RETURN_IF_FAILED(devsort_rows_memory(&gather->job, &workspace_size));
	take_case(&pool, n, bytes, workspace_size, gather);
	*needed = workspace_bytes(&pool);
	return status_ok();
}

static DevSortStatus
plan_work(void *arg, cudaStream_t stream)
{
	GatherCase *gather = (GatherCase *) arg;

	return devsort_rows_plan(&gather->job, gather->workspace, gather->workspace_bytes, stream);
}

static DevSortStatus
gather_work(void *arg, cudaStream_t stream)
{
	GatherCase *gather = (GatherCase *) arg;

	return devsort_rows_gather(&gather->job, 0, gather->job.n, gather->window, stream);
}

static DevSortStatus
check_case(Bench *bench, const RowLengths *lengths, GatherCase *gather, size_t bytes)
{
	unsigned long long errors;

	CHECK_CUDA(cudaMemsetAsync(gather->errors, 0, sizeof(errors), bench->stream),
			   "clearing the count of errors");
	check_rows_kernel<<<GATHER_BLOCKS, GATHER_THREADS, 0, bench->stream>>>(*lengths, gather->job.n,
																		   gather->order,
																		   gather->job.sorted_offsets,
																		   gather->window, bytes,
																		   gather->errors);
	CHECK_LAUNCH("checking gathered rows");
	CHECK_CUDA(cudaMemcpyAsync(&errors, gather->errors, sizeof(errors), cudaMemcpyDeviceToHost,
							   bench->stream),
			   "reading the count of errors");
	CHECK_CUDA(cudaStreamSynchronize(bench->stream), "checking gathered rows");
	if (errors)
		return status_make(DEVSORT_DEVICE_FAILED, "%llu of %llu rows are wrong", errors,
						   (unsigned long long) gather->job.n);
	return status_ok();
}

static void
report_times(Report *report, const char *what, const RowLengths *lengths, uint64_t n, const Times *times,
			 double payload, double traffic)
{
	ReportRow row = {};
	double seconds = times_median(times) / 1000;

	row.algorithm = what;
	row.distribution = "random-order";
	row.n = n;
	row.median_ms = times_median(times);
	row.min_ms = times_min(times);
	row.bytes = payload;
	row.repeats = times->count;
	report_write(report, &row, "%s,%.2f,%.5g,%.5g", lengths->name, payload / n, payload / seconds / 1e9,
				 traffic / seconds / 1e9);
}

static DevSortStatus
measure_lengths(Bench *bench, Report *report, const RowLengths *lengths, size_t rows_bytes)
{
	uint64_t sum = lengths_sum(lengths);
	uint64_t n = rows_bytes / sum * 8;
	size_t bytes = n / 8 * sum;
	double plan_bytes = (double) n * (sizeof(uint32_t) + 3 * sizeof(uint64_t));
	double gather_bytes = 2.0 * bytes + (double) n * (sizeof(uint32_t) + 2 * sizeof(uint64_t));
	Times plans = {};
	Times gathers = {};
	Times both = {};
	Times warm_up = {};
	size_t needed;
	GatherCase gather;

	RETURN_IF_FAILED(layout_case(bench, n, bytes, false, &gather, &needed));
	if (needed > bench->pool_bytes)
		return status_make(DEVSORT_INVALID, "%zu bytes are needed, the pool has %zu", needed,
						   bench->pool_bytes);
	make_rows_kernel<<<GATHER_BLOCKS, GATHER_THREADS, 0, bench->stream>>>(*lengths, sum, n, gather.rows,
																		  gather.offsets);
	CHECK_LAUNCH("making rows");
	RETURN_IF_FAILED(make_permutation(gather.order, n, bench_seed(bench), bench->stream));
	RETURN_IF_FAILED(bench_time(bench, plan_work, &gather, &warm_up));
	RETURN_IF_FAILED(bench_time(bench, gather_work, &gather, &warm_up));
	RETURN_IF_FAILED(check_case(bench, lengths, &gather, bytes));
	for (int repeat = 0; repeat < bench->options.repeat; repeat++)
	{
		RETURN_IF_FAILED(bench_time(bench, plan_work, &gather, &plans));
		RETURN_IF_FAILED(bench_time(bench, gather_work, &gather, &gathers));
		both.ms[both.count++] = plans.ms[repeat] + gathers.ms[repeat];
	}
	report_times(report, "plan", lengths, n, &plans, (double) bytes, plan_bytes);
	report_times(report, "gather", lengths, n, &gathers, (double) bytes, gather_bytes);
	report_times(report, "both", lengths, n, &both, (double) bytes, plan_bytes + gather_bytes);
	return status_ok();
}

/* As many bytes of rows as fit when they are shortest: then offsets and order take the most beside them. */
static DevSortStatus
reserve_rows(Bench *bench, size_t *rows_bytes)
{
	uint64_t shortest = lengths_sum(&row_lengths[0]);
	GatherCase gather;
	size_t needed;

	*rows_bytes = bench->options.quick ? QUICK_ROWS_BYTES : ROWS_BYTES;
	for (;;)
	{
		RETURN_IF_FAILED(layout_case(bench, *rows_bytes / shortest * 8, *rows_bytes, true, &gather, &needed));
		if (needed <= bench_available(bench) || *rows_bytes < 1 << 20)
			return bench_reserve(bench, needed);
		*rows_bytes /= 2;
	}
}

void
gather_measure(Bench *bench, const char *suite, const char *file)
{
	size_t rows_bytes;
	Report report;
	DevSortStatus status =
		report_open(&report, bench, suite, file, "rows,row_bytes,rows_gb_per_s,traffic_gb_per_s");

	if (status.code == DEVSORT_OK)
		status = reserve_rows(bench, &rows_bytes);
	if (status.code != DEVSORT_OK)
	{
		bench_fail(bench, &status, "%s, gather", suite);
		return;
	}
	for (size_t i = 0; i < sizeof(row_lengths) / sizeof(row_lengths[0]); i++)
	{
		status = measure_lengths(bench, &report, &row_lengths[i], rows_bytes);
		if (status.code != DEVSORT_OK)
			bench_fail(bench, &status, "%s, gather, rows of %s bytes", suite, row_lengths[i].name);
	}
	report_close(&report);
}

void
suite_gather(Bench *bench)
{
	gather_measure(bench, "gather", "gather");
}
