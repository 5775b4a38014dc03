/*
 * plan/predict_cuda.c
 *		The work of a GpuSort on a card.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "base/limits.h"
#include "plan/predict_work.h"

/* How many rows fit, as far as the GPU's memory goes. */
static double
rows_on_gpu(const SortShape *shape)
{
	return shape->device_memory > 0
			   ? Max(1, shape->device_memory / gpu_row_memory(work_tuple_bytes(shape), shape->key_bytes))
			   : DBL_MAX;
}

/* In how many parts, that take turns, one GPU sorts the rows. */
static double
turns_on_gpu(const SortShape *shape, double rows)
{
	return gpu_turns(rows, rows_on_gpu(shape), shape->keys[0].largest,
					 shape->wanted<0, shape->processes> 1 && !shape->returned_alone);
}

/* Bytes that wait for their turn. */
static double
waiting_bytes(const SortShape *shape, double rows, double turns)
{
	return rows * (1 - 1 / turns) * work_stored_bytes(shape);
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
	counts->first[COST_CUDA_BYTE] += rows * first * work_stored_bytes(shape);
	counts->rest[COST_CUDA_BYTE] += waiting;
	counts->rest[COST_CUDA_RETURN] += rows;
}

/* What doesn't fit there comes back in sorted runs, which go to files. */
static void
count_at_once(const SortShape *shape, double rows, CostCounts *counts)
{
	double runs = Max(1, ceil(rows / rows_on_gpu(shape)));

	counts->first[COST_CUDA_JOB] += runs;
	counts->first[COST_CUDA_KEY_BYTE] += rows * shape->key_bytes;
	counts->first[COST_CUDA_BYTE] += rows * work_stored_bytes(shape);
	if (runs > 1)
	{
		counts->first[COST_CUDA_RETURN] += rows;
		count_runs(shape, rows, runs, 1, counts);
	}
	else
		counts->rest[COST_CUDA_RETURN] += rows;
}

static double
memory_on_gpu(const SortShape *shape, double rows)
{
	return rows * gpu_row_memory(work_tuple_bytes(shape), shape->key_bytes);
}

static double
temp_on_gpu(const SortShape *shape, double rows)
{
	double turns = turns_on_gpu(shape, rows);

	return turns > 1 ? waiting_bytes(shape, rows, turns) : rows * work_run_bytes(shape);
}

static void
count_on_gpu(const SortShape *shape, double rows, CostCounts *counts)
{
	double turns = turns_on_gpu(shape, rows);

	if (turns > 1)
		count_turns(shape, rows, turns, counts);
	else
		count_at_once(shape, rows, counts);
}

const DeviceWork predict_on_cuda = {.room = rows_on_gpu,
									.memory = memory_on_gpu,
									.temp = temp_on_gpu,
									.count = count_on_gpu};
