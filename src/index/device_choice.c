/*
 * index/device_choice.c
 *		On which device a build sorts: where it is expected to be faster.
 *
 * On the cpu device all processes feed, sort and load.  A card sorts in no time to speak of, but feeding it
 * and loading what it has sorted take longer, as rows go there and come back; a small index is loaded by the
 * first process alone.  And a card helps a build that would need temporary files, which it does not.
 *
 * The constants are of an NVIDIA H200 and 16 cores, 22 November 2026 (bench/indexes/index,
 * docs/performance.md): 50 million random int8, 20 million strings of 32 bytes in a bytewise collation.
 * Nanoseconds a row, measured, and what the terms below make of it:
 *
 *		processes	int8, cpu	cuda		text, cpu	cuda
 *		1		171: 171	112: 112	390: 390	195: 195
 *		3		61: 78		39: 51
 *		8		32: 33		21: 22
 *		16		25: 17		15: 11		96: 39		30: 19
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "device/participants.h"
#include "index/choice.h"
#include "index/device_choice.h"
#include "index/index_key.h"
#include "plan/devices.h"
#include "plan/predict_gpusort.h"

/* How much each process after the first adds. */
#define PROCESS_SHARE 0.6

/* Nanoseconds a row on the cpu device, in all, by one process. */
#define CPU_FIXED_ROW 171
#define CPU_STRING_ROW 390

/* With codes: such a build takes about 0.65 times as long as one without (docs/decisions/0039). */
#define CPU_CODED_ROW 250

/*
 * A row that is written to a temporary file and read back, and a byte of it (20 million int8 and 10 million
 * strings on 2 cores, by one process, noise 30 %).
 */
#define SPILLED_ROW 100
#define SPILLED_BYTE 1

/*
 * A card: a job, in nanoseconds; a row fed by one process; a row loaded, and a byte that it has on its way.
 */
#define GPU_JOB 5e6
#define GPU_FIXED_FEED 60
#define GPU_STRING_FEED 136
#define GPU_LOAD 48
#define GPU_LOAD_BYTE 0.12

/* From so many bytes of tuples on all processes load what a card has sorted (load.c). */
#define JOINT_LOAD_BYTES (64 * 1024 * 1024.0)

/* Bytes of a row in a temporary file besides the tuple. */
#define RUN_HEAD_BYTES 3

static CodedColumns
coded_columns(Relation heap, Relation index, SortKey *key, double rows, int processes)
{
	CodedIndex coded = {.heap = RelationGetRelid(heap),
						.index = RelationGetRelid(index),
						.ncolumns = RelationGetNumberOfAttributes(index),
						.is_unique = index->rd_index->indisunique};

	for (int i = 0; i < key->ncols - 1; i++)
		coded.columns[i] = index->rd_index->indkey.values[i];
	return index_coded_columns(&coded, key, rows, processes);
}

BuildShape
build_shape(Relation heap, Relation index, SortKey *key, int processes)
{
	BuildShape shape = {.rows = index_build_rows(heap),
						.processes = processes,
						.is_fixed = !key->variable,
						.keys_alone = key->policy.rows != NULL,
						.verified = key->verified};

	index_key_estimate(index, &shape.row_bytes, &shape.key_bytes);
	shape.coded = coded_columns(heap, index, key, shape.rows, processes);
	return shape;
}

/* Codes that may be given up, for want of statistics, are not counted on. */
static bool
has_codes(const BuildShape *shape, DeviceKind device)
{
	return device == DEVICE_CPU && shape->coded.columns != 0 && shape->coded.times == 0;
}

double
build_memory(const BuildShape *shape, DeviceKind device)
{
	SortShape sort = {.rows = shape->rows,
					  .wanted = -1,
					  .width = (int) (shape->row_bytes - SizeofMinimalTupleHeader),
					  .key_bytes = shape->key_bytes,
					  .fixed_key = shape->is_fixed,
					  .keys_alone = shape->keys_alone,
					  .device = device};

	if (has_codes(shape, device))
	{
		sort.key_bytes = shape->coded.key_bytes;
		sort.fixed_key = true;
		sort.keys_alone = shape->coded.alone;
	}
	return predict_gpusort_memory(&sort);
}

bool
build_spills(const BuildShape *shape)
{
	double memory = maintenance_work_mem * 1024.0;

	if (has_codes(shape, DEVICE_CPU))
		memory -= sort_values_memory(memory, shape->coded.values, pg_popcount32(shape->coded.columns),
									 shape->processes);
	return build_memory(shape, DEVICE_CPU) > memory;
}

double
build_file_bytes(const BuildShape *shape)
{
	double row = shape->row_bytes - INDEX_ROW_HEADER;

	return shape->rows * (shape->keys_alone ? shape->key_bytes : RUN_HEAD_BYTES + row);
}

/* How many times as fast as by one process is what all processes do? */
static double
speedup(const BuildShape *shape)
{
	return 1 + PROCESS_SHARE * (shape->processes - 1);
}

static double
cpu_ns(const BuildShape *shape)
{
	double row = shape->is_fixed ? CPU_FIXED_ROW : CPU_STRING_ROW;
	double ns;

	if (has_codes(shape, DEVICE_CPU))
		row = CPU_CODED_ROW;
	ns = shape->rows * row / speedup(shape);
	if (build_spills(shape))
		ns += (shape->rows * SPILLED_ROW + build_file_bytes(shape) * SPILLED_BYTE) / speedup(shape);
	return ns;
}

static double
gpu_ns(const BuildShape *shape)
{
	double feed = (shape->is_fixed ? GPU_FIXED_FEED : GPU_STRING_FEED) / speedup(shape);
	double load = GPU_LOAD + GPU_LOAD_BYTE * (shape->key_bytes + shape->row_bytes);

	if (shape->rows * shape->row_bytes >= JOINT_LOAD_BYTES)
		load /= speedup(shape);
	return GPU_JOB + shape->rows * (feed + load);
}

DeviceKind
build_device(const BuildShape *shape)
{
	if (!device_is_open(shape->verified, 0))
		return DEVICE_CPU;
	return device_or_allowed(gpu_ns(shape) < cpu_ns(shape) ? DEVICE_CUDA : DEVICE_CPU, shape->verified, 0);
}
