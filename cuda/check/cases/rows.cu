/*
 * rows.cu
 *		One gather of rows, from making them to comparing the result byte by byte.
 *
 * The windows are told apart by where their bytes go: each is copied behind the one before, and the sum must
 * be the rows in order.  That a window is as full as it can be is checked on the way.
 */
#include <algorithm>
#include <numeric>

#include "base/status.h"
#include "check/cases/rows.h"

#define MEGABYTE_WORDS (1024 * 1024 / 8)

static const char *const length_names[NROWS_LENGTHS] = {"empty",		 "8 bytes",		"24 to 256 bytes",
														"0 to 64 bytes", "up to 16 KB", "some of 1 MB"};
static const char *const order_names[NROWS_ORDERS] = {"shuffled", "in order", "reversed"};

const char *
rows_length_name(int length)
{
	return length_names[length];
}

const char *
rows_order_name(int order)
{
	return order_names[order];
}

static uint64_t
make_length_words(const RowsCase *rows_case, uint64_t i)
{
	uint64_t random = distribution_random(rows_case->seed, i, 0);

	switch (rows_case->length)
	{
		case ROWS_EMPTY:
			return 0;
		case ROWS_OF_8:
			return 1;
		case ROWS_WITH_EMPTY:
			return random % 3 == 0 ? 0 : random / 3 % 9;
		case ROWS_WIDE:
			return random % 2049;
		case ROWS_MIXED:
			return random % 1000 == 0 || i == rows_case->n / 3 ? MEGABYTE_WORDS : 3 + random / 1000 % 30;
		default:
			return 3 + random % 30;
	}
}

static void
make_order(RowsRunner *runner)
{
	const RowsCase *rows_case = &runner->rows_case;
	uint64_t n = rows_case->n;

	runner->order.resize(n);
	std::iota(runner->order.begin(), runner->order.end(), 0);
	if (rows_case->order == ROWS_REVERSED)
		std::reverse(runner->order.begin(), runner->order.end());
	for (uint64_t i = n; rows_case->order == ROWS_SHUFFLED && i > 1; i--)
		std::swap(runner->order[i - 1], runner->order[distribution_random(rows_case->seed, i, 1) % i]);
}

static void
make_rows(RowsRunner *runner)
{
	const RowsCase *rows_case = &runner->rows_case;
	uint64_t words = 0;

	runner->offsets.assign(1, 0);
	runner->sorted_offsets.assign(1, 0);
	runner->sorted_rows.clear();
	runner->longest = 0;
	for (uint64_t i = 0; i < rows_case->n; i++)
	{
		uint64_t length = make_length_words(rows_case, i);

		words += length;
		runner->offsets.push_back(words * 8);
		runner->longest = std::max<size_t>(runner->longest, length * 8);
	}
	runner->rows.resize(words);
	for (uint64_t w = 0; w < words; w++)
		runner->rows[w] = distribution_random(rows_case->seed, w, 2);
	for (uint32_t row : runner->order)
	{
		runner->sorted_rows.insert(runner->sorted_rows.end(), runner->rows.begin() + runner->offsets[row] / 8,
								   runner->rows.begin() + runner->offsets[row + UINT64_C(1)] / 8);
		runner->sorted_offsets.push_back(runner->sorted_rows.size() * 8);
	}
}

static bool
open_buffers(RowsRunner *runner, Why *why)
{
	DevSortRowsJob *job = &runner->job;
	uint64_t n = runner->rows_case.n;
	void *any = (void *) 4096;

	job->n = n;
	job->rows = (const uint8_t *) any;
	job->offsets = (const uint64_t *) any;
	job->order = (const uint32_t *) any;
	job->sorted_offsets = (uint64_t *) any;
	if (!why_status(why, devsort_rows_memory(job, &runner->workspace_bytes), "devsort_rows_memory"))
		return false;
	runner->window_bytes = std::max(runner->rows_case.window_bytes, runner->longest);
	guarded_reset(&runner->guarded, runner->rows_case.seed);
	guarded_add(&runner->guarded, runner->rows.size() * 8);
	guarded_add(&runner->guarded, (n + 1) * sizeof(uint64_t));
	guarded_add(&runner->guarded, n * sizeof(uint32_t));
	guarded_add(&runner->guarded, (n + 1) * sizeof(uint64_t));
	guarded_add(&runner->guarded, runner->workspace_bytes);
	guarded_add(&runner->guarded, runner->window_bytes);
	if (!guarded_open(&runner->guarded, why))
		return false;
	job->rows = (const uint8_t *) guarded_piece(&runner->guarded, 0);
	job->offsets = (const uint64_t *) guarded_piece(&runner->guarded, 1);
	job->order = (const uint32_t *) guarded_piece(&runner->guarded, 2);
	job->sorted_offsets = (uint64_t *) guarded_piece(&runner->guarded, 3);
	runner->workspace = guarded_piece(&runner->guarded, 4);
	runner->window = (uint8_t *) guarded_piece(&runner->guarded, 5);
	return true;
}

bool
rows_prepare(RowsRunner *runner, const RowsCase *rows_case, Why *why)
{
	runner->rows_case = *rows_case;
	make_order(runner);
	make_rows(runner);
	if (!open_buffers(runner, why))
		return false;
	return why_cuda(why, cudaStreamSynchronize(runner->guarded.stream), "filling with garbage") &&
		   why_cuda(why,
					cudaMemcpy((void *) runner->job.rows, runner->rows.data(), runner->rows.size() * 8,
							   cudaMemcpyHostToDevice),
					"copying the rows") &&
		   why_cuda(why,
					cudaMemcpy((void *) runner->job.offsets, runner->offsets.data(),
							   runner->offsets.size() * 8, cudaMemcpyHostToDevice),
					"copying the offsets") &&
		   why_cuda(why,
					cudaMemcpy((void *) runner->job.order, runner->order.data(), runner->order.size() * 4,
							   cudaMemcpyHostToDevice),
					"copying the order");
}

/* How many rows from `first` on fit into the window; at least 1. */
static uint64_t
rows_that_fit(const RowsRunner *runner, uint64_t first)
{
	const std::vector<uint64_t> &offsets = runner->sorted_offsets;
	uint64_t end = first + 1;

	while (end < runner->rows_case.n && offsets[end + 1] - offsets[first] <= runner->window_bytes)
		end++;
	return end - first;
}

/* Takes the result window by window. */
static DevSortStatus
gather_windows(RowsRunner *runner)
{
	cudaStream_t stream = runner->guarded.stream;
	uint64_t first = 0;

	while (first < runner->rows_case.n)
	{
		uint64_t count = rows_that_fit(runner, first);
		size_t bytes = runner->sorted_offsets[first + count] - runner->sorted_offsets[first];
		size_t at = runner->got.size();
		uint8_t *window;

		/* At the end of the buffer: what is written after the rows is written outside. */
		window = runner->window + (runner->window_bytes - bytes) / 16 * 16;
		RETURN_IF_FAILED(devsort_rows_gather(&runner->job, first, count, window, stream));
		runner->got.resize(at + bytes / 8);
		RETURN_IF_FAILED(status_from_cuda(cudaMemcpyAsync(runner->got.data() + at, window, bytes,
														  cudaMemcpyDeviceToHost, stream),
										  "copying a window"));
		RETURN_IF_FAILED(status_from_cuda(cudaStreamSynchronize(stream), "gathering"));
		first += count;
	}
	return status_ok();
}

DevSortStatus
rows_plan_and_gather(RowsRunner *runner)
{
	runner->got.clear();
	RETURN_IF_FAILED(
		devsort_rows_plan(&runner->job, runner->workspace, runner->workspace_bytes, runner->guarded.stream));
	return gather_windows(runner);
}

bool
rows_prove(RowsRunner *runner, Why *why)
{
	std::vector<uint64_t> offsets(runner->sorted_offsets.size());

	if (!guarded_intact(&runner->guarded, why) ||
		!why_cuda(why,
				  cudaMemcpy(offsets.data(), runner->job.sorted_offsets, offsets.size() * 8,
							 cudaMemcpyDeviceToHost),
				  "copying the sorted offsets"))
		return false;
	for (size_t i = 0; i < offsets.size(); i++)
	{
		if (offsets[i] != runner->sorted_offsets[i])
			return why_say(why, "sorted offset %zu is %llu, not %llu", i, (unsigned long long) offsets[i],
						   (unsigned long long) runner->sorted_offsets[i]);
	}
	if (runner->got.size() != runner->sorted_rows.size())
		return why_say(why, "%zu words came, not %zu", runner->got.size(), runner->sorted_rows.size());
	for (size_t i = 0; i < runner->got.size(); i++)
	{
		if (runner->got[i] != runner->sorted_rows[i])
			return why_say(why, "word %zu of the result is wrong", i);
	}
	return true;
}

bool
rows_run(RowsRunner *runner, const RowsCase *rows_case, Why *why)
{
	return rows_prepare(runner, rows_case, why) &&
		   why_status(why, rows_plan_and_gather(runner), "gathering rows") && rows_prove(runner, why);
}
