/*
 * rows.cu
 *		Gathers of rows: lengths, orders, windows.
 */
#include "check/cases/rows.h"

static void
run_and_count(Check *check, RowsRunner *runner, const RowsCase *rows_case)
{
	Why why = {};
	bool passed = rows_run(runner, rows_case, &why);

	check_case(check, passed, &why, "rows: %s, %s, n %llu, window %zu, seed %llu",
			   rows_length_name(rows_case->length), rows_order_name(rows_case->order),
			   (unsigned long long) rows_case->n, rows_case->window_bytes,
			   (unsigned long long) rows_case->seed);
}

static void
check_length(Check *check, RowsRunner *runner, RowsLength length)
{
	const uint64_t sizes[] = {0, 1, 2, 31, 32, 33, 257, 1025, 20001};
	const size_t windows[] = {256, 4096, 65536, 1 << 20};

	for (uint64_t n : sizes)
	{
		for (int order = 0; order < NROWS_ORDERS; order++)
		{
			for (size_t window : windows)
			{
				RowsCase rows_case = {length, (RowsOrder) order, n, window, check_random(check) >> 16};

				/* Small windows of many rows would be thousands of calls. */
				if (n / (window / 256) <= 400 && (n <= 1025 || length != ROWS_WIDE))
					run_and_count(check, runner, &rows_case);
			}
		}
	}
}

static void
check_many(Check *check, RowsRunner *runner)
{
	const RowsLength lengths[] = {ROWS_NARROW, ROWS_WITH_EMPTY, ROWS_OF_8};
	uint64_t n = check->options.has_n ? check->options.n : check->options.quick ? 300001 : 3000001;

	for (RowsLength length : lengths)
	{
		for (int order = 0; order < NROWS_ORDERS; order++)
		{
			RowsCase rows_case = {length, (RowsOrder) order, n, (size_t) 8 << 20, check_random(check) >> 16};

			run_and_count(check, runner, &rows_case);
		}
	}
}

void
check_rows(Check *check)
{
	RowsRunner runner = {};

	for (int length = 0; length < NROWS_LENGTHS && !check->options.has_n; length++)
	{
		if (!check_group_begin(check, "rows: %s", rows_length_name(length)))
			continue;
		check_length(check, &runner, (RowsLength) length);
		check_group_end(check);
	}
	if (check_group_begin(check, "rows: many"))
	{
		check_many(check, &runner);
		check_group_end(check);
	}
	guarded_release(&runner.guarded);
}
