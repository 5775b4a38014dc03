/*
 * plan/predict_gpusort.c
 *		What GpuSort does for a sort: the counts that its time is predicted from.
 *
 * Each row is copied once and its key encoded beside it, by all processes that feed; the keys are sorted, by
 * all of them too if there are rows enough; the leader returns the rows.  Past its memory the cpu device
 * writes sorted runs, all processes that feed their own, and the leader merges them.
 *
 * With a bound, a row is encoded, and copied only if its key is below what has been seen to be the bound's:
 * of n rows about k (1 + ln(n / k)), for k wanted.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/htup_details.h"

#include "base/limits.h"
#include "plan/predict_gpusort.h"

/* Bytes a row takes in memory besides tuple and key. */
#define ENTRY_BYTES 8
#define RECORD_BYTES 16 /* more, with a key of no fixed width */

/*
 * Those of its item while it is sorted: mostly a word of the key, and where the row is.  Room is kept for the
 * whole key, and once more for a part of the items (SORT_SCRATCH_SHARE), with 2 bytes each.
 */
#define ITEM_BYTES 18
#define ITEM_STRING_BYTES 16
#define SCRATCH_ROW_BYTES 2

/* What a row takes in a run besides its columns. */
#define RUN_ROW_BYTES 3

/* With so many rows a bounded sort has made its splitters several times. */
#define BOUND_EARLY_ROWS 4000

/*
 * However many processes share the memory, the kernel provides it and takes it back as if for so many: 16 on
 * as many processors took 1.9 s to feed and sort 50 million rows by text, of which 0.7 would be their own.
 */
#define MEMORY_PROCESSES 2.0

static double
tuple_bytes(const SortShape *shape)
{
	return MAXALIGN(SizeofMinimalTupleHeader + shape->width);
}

/* Does the cpu device keep keys, and no rows? */
static bool
keeps_keys_alone(const SortShape *shape)
{
	return shape->keys_alone && !shape->on_gpu;
}

static double
stored_bytes(const SortShape *shape)
{
	double key = MAXALIGN((int) shape->key_bytes);

	if (keeps_keys_alone(shape))
		return key + (shape->fixed_key ? 0 : ENTRY_BYTES + RECORD_BYTES);
	return tuple_bytes(shape) + ENTRY_BYTES + key + (shape->fixed_key ? 0 : RECORD_BYTES);
}

/* Bytes that sorting touches, of a row and its item. */
static double
touched_bytes(const SortShape *shape)
{
	return stored_bytes(shape) + ITEM_BYTES;
}

/* The widest item that a row may have. */
static double
item_bytes(const SortShape *shape)
{
	if (!shape->fixed_key)
		return ITEM_STRING_BYTES;
	return MAXALIGN((int) shape->key_bytes) + (keeps_keys_alone(shape) ? 0 : sizeof(void *));
}

/* How many rows fit into the memory together with the room that is kept to sort them. */
static double
rows_in_memory(const SortShape *shape)
{
	double row = stored_bytes(shape) + item_bytes(shape);
	double scratch = item_bytes(shape) + SCRATCH_ROW_BYTES;
	double few = shape->memory / (row + scratch);
	double many = (shape->memory - SORT_SCRATCH_MIN * scratch) / row;

	if (few <= SORT_SCRATCH_MIN)
		return few;
	if (many <= (double) SORT_SCRATCH_MIN * SORT_SCRATCH_SHARE)
		return many;
	return shape->memory / (row + scratch / SORT_SCRATCH_SHARE);
}

/* ---------------------------------------------------------------- stages */

/* Images of strings are made in the same way whoever compares them. */
static SortKeyClass
encoded_class(const SortKeyShape *key)
{
	return key->class == KEY_ICU && key->verified ? KEY_LIBC : key->class;
}

static void
count_encoding(const SortShape *shape, double rows, double *counts)
{
	for (int i = 0; i < shape->nkeys; i++)
	{
		const SortKeyShape *key = &shape->keys[i];

		switch (encoded_class(key))
		{
			case KEY_NUMERIC:
				counts[COST_ENCODE_NUMERIC] += rows;
				break;
			case KEY_TEXT:
				counts[COST_ENCODE_TEXT] += rows;
				counts[COST_KEY_BYTE] += rows * key->width;
				break;
			case KEY_ICU:
				counts[COST_ENCODE_ICU] += rows;
				counts[COST_KEY_BYTE] += 2 * rows * key->width;
				counts[COST_ICU_BYTE] += rows * key->width;
				break;
			case KEY_LIBC:
				counts[COST_LIBC_BYTE] += rows * key->width;
				break;
			case KEY_LIBC_BYTES:
				counts[COST_ENCODE_TEXT] += rows;
				counts[COST_KEY_BYTE] += rows * key->width;
				break;
			case KEY_MADE:
				counts[COST_ENCODE_MADE] += rows;
				break;
			default:
				counts[COST_ENCODE_FIXED] += rows;
		}
	}
}

/* What comes to the encoding of that many rows the first time. */
static void
count_first_strings(const SortShape *shape, double rows, double *counts)
{
	for (int i = 0; i < shape->nkeys; i++)
	{
		const SortKeyShape *key = &shape->keys[i];

		if (encoded_class(key) == KEY_ICU && (!key->known || shape->processes > 1 || shape->beside > 0))
			counts[COST_ENCODE_ICU_EARLY] += Min(rows, ICU_ASCII_AFTER);
	}
}

static void
count_feed(const SortShape *shape, double rows, double *counts)
{
	counts[COST_FEED] += rows;
	counts[COST_FEED_BYTE] += rows * stored_bytes(shape);
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

/* Counts rows compared by the columns whose order is verified; such a part of them is far away. */
static void
count_verification(const SortShape *shape, double times, double far, double *counts)
{
	for (int i = 0; i < shape->nkeys && shape->verified; i++)
	{
		const SortKeyShape *key = &shape->keys[i];

		if (!key->verified)
			continue;
		counts[COST_VERIFY] += times;
		counts[COST_VERIFY_FAR] += times * far;
		if (key->class == KEY_ICU)
			counts[COST_PG_TIE_ICU] += times;
		else if (key->class == KEY_MADE)
			counts[COST_PG_LEVEL_MADE] += times;
		else
			counts[COST_VERIFY_BYTE] += times * compared_bytes(key, shape->rows);
		if (key_values(key, shape->rows) >= shape->rows)
			break;
	}
}

static void
count_sort(const SortShape *shape, double rows, double times, double *counts)
{
	double levels = levels_of(different_rows(shape, rows)) + 1;

	count_verification(shape, times, share_far(shape, rows * stored_bytes(shape)), counts);
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

/* The rows wanted, if others are dropped: for that their keys must say the order; else -1. */
static double
bound_of(const SortShape *shape)
{
	return shape->verified ? -1 : shape->wanted;
}

/* Do the processes put rows in order for the one that returns them (device/cpu/return_windows.h)? */
static bool
is_helped(const SortShape *shape, double rows)
{
	return !shape->returned_alone && shape->processes > HELPERS_MIN && rows >= HELPED_ROWS_MIN &&
		   bound_of(shape) < 0 && !(keeps_keys_alone(shape) && shape->fixed_key);
}

static void
count_return(const SortShape *shape, double rows, bool in_sequence, double *counts)
{
	double bytes = rows * stored_bytes(shape);

	counts[COST_RETURN] += rows;
	counts[COST_RETURN_BYTE] += rows * tuple_bytes(shape);
	if (in_sequence)
		return;

	/* shared memory is on small pages, which come one by one, whatever the order: to one process or to all */
	if (shape->processes > 1)
		counts[COST_RETURN_SHARED] += rows * bytes_beyond_cache(bytes) / bytes /
									  (is_helped(shape, rows) ? running_processes(shape) : 1);
}

/* ---------------------------------------------------------------- kinds of sorts */

/* Are keys written beside their rows, or in their place? */
static bool
runs_have_keys(const SortShape *shape)
{
	return keeps_keys_alone(shape) || shape->key_bytes * SMALL_KEY_PART <= RUN_ROW_BYTES + shape->width;
}

/* Bytes that a row takes in a run. */
static double
run_bytes(const SortShape *shape)
{
	if (keeps_keys_alone(shape))
		return shape->width;
	return RUN_ROW_BYTES + shape->width + (runs_have_keys(shape) ? shape->key_bytes : 0);
}

/* Rows written to runs and read back, a part of them or all of them several times. */
static void
count_spill(const SortShape *shape, double rows, double *counts)
{
	counts[COST_SPILL] += rows;
	counts[COST_SPILL_BYTE] += rows * run_bytes(shape);
	if (!runs_have_keys(shape))
		count_encoding(shape, rows, counts);
}

/* Keys that guess at the order are verified once a merge where they are made of rows, else in each level. */
static void
count_merge(const SortShape *shape, double rows, double levels, double *counts)
{
	counts[COST_MERGE_LEVEL] += rows * levels;
	count_verification(shape, rows * (runs_have_keys(shape) ? levels : Min(levels, 1)), 0, counts);
}

/* Runs written and merged by so many processes, until there are few; then merged by one, and returned. */
static void
count_runs(const SortShape *shape, double rows, double runs, double writers, CostCounts *counts)
{
	double levels = levels_of(runs);
	double levels_a_pass = levels_of(Max(4, shape->memory / MERGE_BUFFER_MIN));
	double passes = Max(1, ceil(levels / levels_a_pass));

	count_spill(shape, rows * (passes - 0.5) / writers, counts->first);
	count_merge(shape, rows / writers, Max(0, levels - levels_a_pass), counts->first);
	count_spill(shape, rows * 0.5, counts->rest);
	count_merge(shape, rows, Min(levels, levels_a_pass), counts->rest);
	count_return(shape, rows, true, counts->rest);
}

static void
count_external(const SortShape *shape, double rows, CostCounts *counts)
{
	double writers = running_processes(shape);
	double runs = Max(2, ceil(rows / rows_in_memory(shape))) * shape->processes;

	count_sort(shape, rows / runs, rows / writers, counts->first);
	count_runs(shape, rows, runs, writers, counts);
}

/* How many rows fit, as far as the GPU's memory goes. */
static double
rows_on_gpu(const SortShape *shape)
{
	return shape->device_memory > 0
			   ? Max(1, shape->device_memory / gpu_row_memory(tuple_bytes(shape), shape->key_bytes))
			   : DBL_MAX;
}

/* In how many parts, that take turns, one GPU sorts the rows. */
static double
turns_on_gpu(const SortShape *shape, double rows)
{
	if (!shape->on_gpu)
		return 1;
	return gpu_turns(rows, rows_on_gpu(shape), shape->keys[0].largest,
					 shape->wanted<0, shape->processes> 1 && !shape->returned_alone);
}

/* Bytes that wait for their turn. */
static double
waiting_bytes(const SortShape *shape, double rows, double turns)
{
	return rows * (1 - 1 / turns) * stored_bytes(shape);
}

/* Those of them that do so in files, for want of memory. */
static double
bytes_in_files(const SortShape *shape, double waiting)
{
	return Max(0, waiting - GPU_WAITING_SHARE * shape->memory);
}

/* Rows of so many parts that take turns: each is sorted when the one before it was returned. */
static void
count_turns(const SortShape *shape, double rows, double turns, CostCounts *counts)
{
	double first = 1 / turns;
	double waiting = waiting_bytes(shape, rows, turns);
	double in_files = bytes_in_files(shape, waiting);
	double senders = shape->returned_alone ? 1 : running_processes(shape);

	counts->first[COST_CUDA_SPLIT] += rows / running_processes(shape);
	counts->first[COST_CUDA_WAIT] += waiting / running_processes(shape);
	counts->first[COST_CUDA_WAIT_FILE] += in_files / running_processes(shape);
	counts->rest[COST_CUDA_WAIT_SEND] += waiting / senders;
	counts->rest[COST_CUDA_WAIT_FILE] += in_files / senders;
	counts->first[COST_CUDA_JOB] += 1;
	counts->rest[COST_CUDA_JOB] += turns - 1;
	counts->first[COST_CUDA_KEY_BYTE] += rows * first * shape->key_bytes;
	counts->rest[COST_CUDA_KEY_BYTE] += rows * (1 - first) * shape->key_bytes;
	counts->first[COST_CUDA_BYTE] += rows * first * stored_bytes(shape);
	counts->rest[COST_CUDA_BYTE] += waiting;
	counts->rest[COST_CUDA_RETURN] += rows;
}

/* What doesn't fit there comes back in sorted runs, which go to files. */
static void
count_on_gpu(const SortShape *shape, double rows, CostCounts *counts)
{
	double runs = Max(1, ceil(rows / rows_on_gpu(shape)));

	counts->first[COST_CUDA_JOB] += runs;
	counts->first[COST_CUDA_KEY_BYTE] += rows * shape->key_bytes;
	counts->first[COST_CUDA_BYTE] += rows * stored_bytes(shape);
	if (runs > 1)
	{
		counts->first[COST_CUDA_RETURN] += rows;
		count_runs(shape, rows, runs, 1, counts);
	}
	else
		counts->rest[COST_CUDA_RETURN] += rows;
}

/* Sorts and returns rows that were fed. */
static void
count_fed(const SortShape *shape, double rows, CostCounts *counts)
{
	double processes = rows >= SORT_PARALLEL_MIN_ROWS ? running_processes(shape) : 1;

	if (turns_on_gpu(shape, rows) > 1)
		count_turns(shape, rows, turns_on_gpu(shape, rows), counts);
	else if (shape->on_gpu)
		count_on_gpu(shape, rows, counts);
	else if (rows > rows_in_memory(shape))
		count_external(shape, rows, counts);
	else
	{
		count_sort(shape, rows, rows / processes, counts->first);
		counts->first[COST_MEMORY_BYTE] +=
			bytes_beyond_cache(rows * touched_bytes(shape)) / Min(running_processes(shape), MEMORY_PROCESSES);
		count_return(shape, rows, false, counts->rest);
	}
}

/* How many of the rows are copied: with a bound not all. */
static double
kept_rows(const SortShape *shape)
{
	double rows = Max(shape->rows, 2);
	double wanted = bound_of(shape) < 0 ? rows : Max(1, shape->wanted);

	return wanted < rows ? Min(rows, rows_kept(shape, rows, wanted) + BOUND_SAMPLES) : rows;
}

/* How many rows there is memory for. */
static double
room_for_rows(const SortShape *shape)
{
	return shape->on_gpu ? rows_on_gpu(shape) : rows_in_memory(shape);
}

/* How many are left to be sorted: others are dropped when there are many more than wanted, or no room. */
static double
left_rows(const SortShape *shape, double kept)
{
	double wanted = Max(1, shape->wanted);
	double most = BOUND_DROP_FACTOR * wanted + BOUND_SAMPLES;
	double least = (1 + 1.0 / BOUND_LEAST_PART) * wanted + BOUND_SAMPLES;

	if (bound_of(shape) < 0)
		return kept;
	return Min(kept, Min(most, Max(least, room_for_rows(shape))));
}

/* The rows, and the room that is kept to sort them (rows_in_memory). */
double
predict_gpusort_memory(const SortShape *shape)
{
	double rows = left_rows(shape, kept_rows(shape));
	double scratch_rows = Max(Min(rows, SORT_SCRATCH_MIN), rows / SORT_SCRATCH_SHARE);

	if (shape->on_gpu)
		return rows * gpu_row_memory(tuple_bytes(shape), shape->key_bytes);
	return rows * (stored_bytes(shape) + item_bytes(shape)) +
		   scratch_rows * (item_bytes(shape) + SCRATCH_ROW_BYTES);
}

double
predict_gpusort_temp(const SortShape *shape)
{
	double rows = left_rows(shape, kept_rows(shape));
	double turns = turns_on_gpu(shape, rows);

	if (rows <= room_for_rows(shape))
		return 0;
	if (turns > 1)
		return waiting_bytes(shape, rows, turns);
	return rows * run_bytes(shape);
}

CostCounts
count_gpusort(const SortShape *shape)
{
	double rows = Max(shape->rows, 2);
	double kept = kept_rows(shape);
	double left = left_rows(shape, kept);
	double running = running_processes(shape);
	CostCounts counts = {.first = {0}};

	counts.first[COST_START] += 1;
	count_encoding(shape, rows / running, counts.first);
	count_first_strings(shape, rows / running, counts.first);
	if (bound_of(shape) >= 0 && shape->wanted < rows)
	{
		counts.first[COST_START_BOUND] += 1;
		counts.first[COST_BOUND] += rows / running;
		counts.first[COST_BOUND_KEPT] += kept / running;
		counts.first[COST_BOUND_EARLY] += Min(kept / running, BOUND_EARLY_ROWS);
	}
	count_feed(shape, kept / running, counts.first);
	count_fed(shape, left, &counts);
	if (shape->processes > 1)
		count_launch(shape, &counts);

	/* no more of those left is returned than wanted, but sort_time_total takes its part of all rows */
	for (int i = 0; i < COST_TERMS && left < rows; i++)
		counts.rest[i] *= rows / left;
	return counts;
}
