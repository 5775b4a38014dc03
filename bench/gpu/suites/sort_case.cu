/*
 * sort_case.cu
 *		One comparison of sorts.
 */
#include <algorithm>
#include <cstring>

#include "base/workspace.h"
#include "gpu/suites/sort_case.h"
#include "gpu/verify/verify.h"

const KeyType valued_types[NVALUED_TYPES] = {
	{"4+4", 4, 4, false},
	{"8+4", 8, 4, false},
	{"16+4", 16, 4, false},
	{"32+4", 32, 4, false},
};

/* What the contenders' workspaces and the check's scratch need, whichever is largest. */
static size_t
workspace_needed(const SortCase *sort_case, uint64_t n)
{
	SortArrays arrays = sort_arrays_measure(sort_case->type, n);
	size_t needed = verify_scratch_bytes(n);

	for (int i = 0; i < sort_case->ncontenders; i++)
	{
		size_t bytes;

		/* Who cannot say will fail when run, and be told then. */
		if (sort_case->contenders[i]->memory(&arrays, &bytes).code == DEVSORT_OK)
			needed = std::max(needed, bytes);
	}
	return needed;
}

static void
take_arrays(Workspace *pool, SortCase *sort_case, uint64_t n, size_t workspace_size)
{
	size_t key_bytes = n * (size_t) sort_case->type->key_bytes;
	size_t values = sort_case->type->value_bytes ? n : 0;
	SortArrays *arrays = &sort_case->arrays;

	memset(arrays, 0, sizeof(*arrays));
	arrays->type = sort_case->type;
	arrays->n = n;
	sort_case->pristine_keys = workspace_take<char>(pool, key_bytes);
	arrays->keys = workspace_take<char>(pool, key_bytes);
	arrays->sorted_keys = workspace_take<char>(pool, key_bytes);
	sort_case->pristine_values = NULL;
	if (values)
	{
		sort_case->pristine_values = workspace_take<uint32_t>(pool, values);
		arrays->values = workspace_take<uint32_t>(pool, values);
		arrays->sorted_values = workspace_take<uint32_t>(pool, values);
	}
	arrays->workspace = workspace_take<char>(pool, workspace_size);
	arrays->workspace_bytes = workspace_size;
}

size_t
sort_case_bytes(const SortCase *sort_case, uint64_t n)
{
	SortCase copy = *sort_case;
	Workspace pool = workspace_measure();
	size_t workspace_size = workspace_needed(sort_case, n);

	take_arrays(&pool, &copy, n, workspace_size);
	return workspace_bytes(&pool);
}

DevSortStatus
sort_case_reserve(Bench *bench, const SortCase *sort_case, int *log_n)
{
	size_t bytes = sort_case_bytes(sort_case, UINT64_C(1) << *log_n);

	while (bytes > bench_available(bench) && *log_n > 10)
		bytes = sort_case_bytes(sort_case, UINT64_C(1) << --*log_n);
	return bench_reserve(bench, bytes);
}

DevSortStatus
sort_case_prepare(Bench *bench, SortCase *sort_case, Distribution distribution, uint64_t n)
{
	const KeyType *type = sort_case->type;
	size_t bytes = sort_case_bytes(sort_case, n);
	Workspace pool = workspace_open(bench->pool);

	if (bytes > bench->pool_bytes)
		return status_make(DEVSORT_INVALID, "%zu bytes are needed, the pool has %zu", bytes,
						   bench->pool_bytes);
	take_arrays(&pool, sort_case, n, workspace_needed(sort_case, n));
	sort_case->arrays.seed = bench_seed(bench);
	RETURN_IF_FAILED(distribution_fill(distribution, bench_seed(bench), n, type->key_bytes, DEVSORT_KEY_WORDS,
									   sort_case->pristine_keys, bench->stream));
	if (type->floats)
		RETURN_IF_FAILED(make_floats(sort_case->pristine_keys, n, bench->stream));
	if (type->value_bytes)
		RETURN_IF_FAILED(make_row_numbers(sort_case->pristine_values, n, bench->stream));
	return verify_checksum(type, sort_case->pristine_keys, n, &sort_case->checksum, bench->stream);
}

typedef struct SortWork
{
	const Contender *contender;
	SortArrays *arrays;
} SortWork;

static DevSortStatus
sort_work(void *arg, cudaStream_t stream)
{
	SortWork *work = (SortWork *) arg;

	return work->contender->sort(work->arrays, stream);
}

DevSortStatus
sort_case_run(Bench *bench, SortCase *sort_case, const Contender *contender, Times *times)
{
	SortArrays *arrays = &sort_case->arrays;
	size_t key_bytes = arrays->n * (size_t) sort_case->type->key_bytes;
	size_t value_bytes = arrays->n * (size_t) sort_case->type->value_bytes;
	SortWork work = {contender, arrays};

	if (arrays->keys != sort_case->pristine_keys)
		CHECK_CUDA(cudaMemcpyAsync(arrays->keys, sort_case->pristine_keys, key_bytes,
								   cudaMemcpyDeviceToDevice, bench->stream),
				   "copying keys");
	if (value_bytes)
		CHECK_CUDA(cudaMemcpyAsync(arrays->values, sort_case->pristine_values, value_bytes,
								   cudaMemcpyDeviceToDevice, bench->stream),
				   "copying values");
	RETURN_IF_FAILED(bench_flush(bench, key_bytes + value_bytes));
	return bench_time(bench, sort_work, &work, times);
}

DevSortStatus
sort_case_verify(Bench *bench, SortCase *sort_case)
{
	return verify_sorted(&sort_case->arrays, sort_case->pristine_keys, sort_case->checksum,
						 sort_case->arrays.workspace, bench->stream);
}

/* The run that is checked also warms up. */
static DevSortStatus
run_and_verify(Bench *bench, SortCase *sort_case, const Contender *contender)
{
	Times untimed = {};

	RETURN_IF_FAILED(sort_case_run(bench, sort_case, contender, &untimed));
	return sort_case_verify(bench, sort_case);
}

static void
stop_contender(Bench *bench, SortCase *sort_case, int which, Distribution distribution,
			   const DevSortStatus *status)
{
	sort_case->stopped[which] = true;
	bench_fail(bench, status, "%s, %s, %s, n = %llu", sort_case->contenders[which]->name,
			   sort_case->type->name, distribution_name(distribution),
			   (unsigned long long) sort_case->arrays.n);
}

void
sort_case_measure(Bench *bench, SortCase *sort_case, Distribution distribution, uint64_t n)
{
	DevSortStatus status = sort_case_prepare(bench, sort_case, distribution, n);
	int repeats = bench_repeats(bench, n);

	for (int which = 0; which < sort_case->ncontenders; which++)
	{
		sort_case->times[which].count = 0;
		if (sort_case->stopped[which])
			continue;
		if (status.code == DEVSORT_OK)
		{
			DevSortStatus verified = run_and_verify(bench, sort_case, sort_case->contenders[which]);

			if (verified.code != DEVSORT_OK)
				stop_contender(bench, sort_case, which, distribution, &verified);
		}
		else
			stop_contender(bench, sort_case, which, distribution, &status);
	}
	for (int repeat = 0; repeat < repeats; repeat++)
	{
		for (int which = 0; which < sort_case->ncontenders; which++)
		{
			if (sort_case->stopped[which])
				continue;
			status = sort_case_run(bench, sort_case, sort_case->contenders[which], &sort_case->times[which]);
			if (status.code != DEVSORT_OK)
				stop_contender(bench, sort_case, which, distribution, &status);
		}
	}
}

ReportRow
sort_case_row(const SortCase *sort_case, const Contender *contender, Distribution distribution,
			  const Times *times)
{
	ReportRow row = {};

	row.algorithm = contender->name;
	row.distribution = distribution_name(distribution);
	row.key_bytes = sort_case->type->key_bytes;
	row.value_bytes = sort_case->type->value_bytes;
	row.n = sort_case->arrays.n;
	row.median_ms = times_median(times);
	row.min_ms = times_min(times);
	row.repeats = times->count;
	return row;
}

void
sort_case_report(Report *report, const SortCase *sort_case, Distribution distribution, const char *columns)
{
	for (int which = 0; which < sort_case->ncontenders; which++)
	{
		ReportRow row;

		if (sort_case->stopped[which])
			continue;
		row = sort_case_row(sort_case, sort_case->contenders[which], distribution, &sort_case->times[which]);
		report_write(report, &row, "%s", columns);
	}
}
