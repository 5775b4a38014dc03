/*
 * plan/predict_cpu.c
 *		The work of a GpuSort on the cpu device.
 *
 * All processes that feed sort, too, if there are rows enough; the leader returns the rows.
 */
#include "postgres.h"

#include <math.h>

#include "base/limits.h"
#include "plan/predict_work.h"

/*
 * Bytes of a row's item while it is sorted: mostly a word of the key, and where the row is.  Room is kept for
 * the whole key, and once more for a part of the items (SORT_SCRATCH_SHARE), with 2 bytes each.
 */
#define ITEM_BYTES 18
#define ITEM_STRING_BYTES 16
#define SCRATCH_ROW_BYTES 2

/*
 * However many processes share the memory, the kernel provides it and takes it back as if for so many: 16 on
 * as many processors took 1.9 s to feed and sort 50 million rows by text, of which 0.7 would be their own.
 */
#define MEMORY_PROCESSES 2.0

/* Bytes that sorting touches, of a row and its item. */
static double
touched_bytes(const SortShape *shape)
{
	return work_stored_bytes(shape) + ITEM_BYTES;
}

/* The widest item that a row may have. */
static double
item_bytes(const SortShape *shape)
{
	if (!shape->fixed_key)
		return ITEM_STRING_BYTES;
	return MAXALIGN((int) shape->key_bytes) + (work_keeps_keys_alone(shape) ? 0 : sizeof(void *));
}

/* How many rows fit into the memory together with the room that is kept to sort them. */
static double
rows_in_memory(const SortShape *shape)
{
	double row = work_stored_bytes(shape) + item_bytes(shape);
	double scratch = item_bytes(shape) + SCRATCH_ROW_BYTES;
	double few = shape->memory / (row + scratch);
	double many = (shape->memory - SORT_SCRATCH_MIN * scratch) / row;

	if (few <= SORT_SCRATCH_MIN)
		return few;
	if (many <= (double) SORT_SCRATCH_MIN * SORT_SCRATCH_SHARE)
		return many;
	return shape->memory / (row + scratch / SORT_SCRATCH_SHARE);
}

/* How many rows differ by all columns. */
static double
different_rows(const SortShape *shape, double rows)
{
	double values = 1;

	for (int i = 0; i < shape->nkeys && values < rows; i++)
		values *= key_values(&shape->keys[i], rows);
	return Min(values, rows);
}

static void
count_sort(const SortShape *shape, double rows, double times, double *counts)
{
	double levels = levels_of(different_rows(shape, rows)) + 1;

	count_verification(shape, times, share_far(shape, rows * work_stored_bytes(shape)), counts);
	if ((shape->order == ORDER_EXACT || shape->order == ORDER_REVERSED) && !shape->verified)
		return;
	if (shape->fixed_key)
	{
		counts[COST_SORT_FIXED] += times;
		counts[shape->order != ORDER_NONE ? COST_SORT_NEARLY_LEVEL : COST_SORT_FIXED_LEVEL] += times * levels;
	}
	else
		counts[COST_SORT_STRING_LEVEL] += times * levels;
}

/* Do the processes put rows in order for the one that returns them (device/cpu/return_windows.h)? */
static bool
is_helped(const SortShape *shape, double rows)
{
	return !shape->returned_alone && shape->processes > HELPERS_MIN && rows >= HELPED_ROWS_MIN &&
		   work_bound(shape) < 0 && !(work_keeps_keys_alone(shape) && shape->fixed_key);
}

static void
count_return(const SortShape *shape, double rows, double *counts)
{
	double bytes = rows * work_stored_bytes(shape);

	count_returned(shape, rows, counts);

	/* shared memory is on small pages, which come one by one, whatever the order: to one process or to all */
	if (shape->processes > 1)
		counts[COST_RETURN_SHARED] += rows * bytes_beyond_cache(bytes) / bytes /
									  (is_helped(shape, rows) ? running_processes(shape) : 1);
}

/* Past its memory the cpu device writes sorted runs, all processes that feed their own. */
static void
count_external(const SortShape *shape, double rows, CostCounts *counts)
{
	double writers = running_processes(shape);
	double runs = Max(2, ceil(rows / rows_in_memory(shape))) * shape->processes;

	count_sort(shape, rows / runs, rows / writers, counts->first);
	count_runs(shape, rows, runs, writers, counts);
}

static double
memory_on_cpu(const SortShape *shape, double rows)
{
	double scratch_rows = Max(Min(rows, SORT_SCRATCH_MIN), rows / SORT_SCRATCH_SHARE);

	return rows * (work_stored_bytes(shape) + item_bytes(shape)) +
		   scratch_rows * (item_bytes(shape) + SCRATCH_ROW_BYTES);
}

static double
temp_on_cpu(const SortShape *shape, double rows)
{
	return rows * work_run_bytes(shape);
}

static void
count_on_cpu(const SortShape *shape, double rows, CostCounts *counts)
{
	double processes = rows >= SORT_PARALLEL_MIN_ROWS ? running_processes(shape) : 1;

	if (rows > rows_in_memory(shape))
	{
		count_external(shape, rows, counts);
		return;
	}
	count_sort(shape, rows, rows / processes, counts->first);
	counts->first[COST_MEMORY_BYTE] +=
		bytes_beyond_cache(rows * touched_bytes(shape)) / Min(running_processes(shape), MEMORY_PROCESSES);
	count_return(shape, rows, counts->rest);
}

const DeviceWork predict_on_cpu = {.room = rows_in_memory,
								   .memory = memory_on_cpu,
								   .temp = temp_on_cpu,
								   .count = count_on_cpu};
