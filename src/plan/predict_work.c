/*
 * plan/predict_work.c
 *		What the work of a GpuSort has in common on all devices: the bytes of rows, keys, runs.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"

#include "base/limits.h"
#include "plan/predict_work.h"

/* Bytes a row takes in memory besides tuple and key. */
#define ENTRY_BYTES 8
#define RECORD_BYTES 16 /* more, with a key of no fixed width */

/* What a row takes in a run besides its columns. */
#define RUN_ROW_BYTES 3

double
work_tuple_bytes(const SortShape *shape)
{
	return MAXALIGN(SizeofMinimalTupleHeader + shape->width);
}

bool
work_has_code(const SortShape *shape, int column)
{
	return column < 32 && (shape->coded >> column & 1) != 0;
}

bool
work_keeps_keys_alone(const SortShape *shape)
{
	return shape->keys_alone && shape->device == DEVICE_CPU;
}

double
work_stored_bytes(const SortShape *shape)
{
	double key = MAXALIGN((int) shape->key_bytes);

	if (work_keeps_keys_alone(shape))
		return key + (shape->fixed_key ? 0 : ENTRY_BYTES + RECORD_BYTES);
	return work_tuple_bytes(shape) + ENTRY_BYTES + key + (shape->fixed_key ? 0 : RECORD_BYTES);
}

SortKeyClass
work_encoded_class(const SortKeyShape *key)
{
	return key->class == KEY_ICU && key->verified ? KEY_LIBC : key->class;
}

void
count_first_strings_of(const SortShape *shape, const SortKeyShape *key, double rows, double *counts)
{
	if (work_encoded_class(key) == KEY_ICU && (!key->known || shape->processes > 1 || shape->beside > 0))
		counts[COST_ENCODE_ICU_EARLY] += Min(rows, ICU_ASCII_AFTER);
}

void
count_encoding_of(const SortKeyShape *key, double rows, double *counts)
{
	switch (work_encoded_class(key))
	{
		case KEY_NUMERIC:
			counts[COST_ENCODE_NUMERIC] += rows;
			break;
		case KEY_TEXT:
		case KEY_LIBC_BYTES:
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
		case KEY_MADE:
			counts[COST_ENCODE_MADE] += rows;
			break;
		default:
			counts[COST_ENCODE_FIXED] += rows;
	}
}

void
count_encoding(const SortShape *shape, double rows, double *counts)
{
	for (int i = 0; i < shape->nkeys; i++)
	{
		if (!work_has_code(shape, i))
			count_encoding_of(&shape->keys[i], rows, counts);
	}
}

void
count_verification_of(const SortKeyShape *key, double rows, double times, double far, double *counts)
{
	if (!key->verified)
		return;
	counts[COST_VERIFY] += times;
	counts[COST_VERIFY_FAR] += times * far;
	if (key->class == KEY_ICU)
		counts[COST_PG_TIE_ICU] += times;
	else if (key->class == KEY_MADE)
		counts[COST_PG_LEVEL_MADE] += times;
	else
		counts[COST_VERIFY_BYTE] += times * compared_bytes(key, rows);
}

void
count_verification(const SortShape *shape, double times, double far, double *counts)
{
	for (int i = 0; i < shape->nkeys && shape->verified; i++)
	{
		const SortKeyShape *key = &shape->keys[i];

		count_verification_of(key, shape->rows, times, far, counts);
		if (key->verified && key_values(key, shape->rows) >= shape->rows)
			break;
	}
}

double
work_bound(const SortShape *shape)
{
	return shape->verified ? -1 : shape->wanted;
}

void
count_returned(const SortShape *shape, double rows, double *counts)
{
	counts[COST_RETURN] += rows;
	counts[COST_RETURN_BYTE] += rows * work_tuple_bytes(shape);
}

/* Are keys written beside their rows, or in their place? */
static bool
runs_have_keys(const SortShape *shape)
{
	return work_keeps_keys_alone(shape) || shape->key_bytes * SMALL_KEY_PART <= RUN_ROW_BYTES + shape->width;
}

/* Runs have keys without codes. */
static const SortShape *
shape_of_runs(const SortShape *shape)
{
	return shape->uncoded != NULL ? shape->uncoded : shape;
}

double
work_run_bytes(const SortShape *sorted)
{
	const SortShape *shape = shape_of_runs(sorted);

	if (work_keeps_keys_alone(shape))
		return shape->width;
	return RUN_ROW_BYTES + shape->width + (runs_have_keys(shape) ? shape->key_bytes : 0);
}

/* Rows written to runs and read back, a part of them or all of them several times. */
static void
count_spill(const SortShape *shape, double rows, double *counts)
{
	counts[COST_SPILL] += rows;
	counts[COST_SPILL_BYTE] += rows * work_run_bytes(shape);
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

void
count_runs(const SortShape *sorted, double rows, double runs, double writers, CostCounts *counts)
{
	const SortShape *shape = shape_of_runs(sorted);
	double levels = levels_of(runs);
	double levels_a_pass = levels_of(Max(4, shape->memory / MERGE_BUFFER_MIN));
	double passes = Max(1, ceil(levels / levels_a_pass));

	count_spill(shape, rows * (passes - 0.5) / writers, counts->first);
	count_merge(shape, rows / writers, Max(0, levels - levels_a_pass), counts->first);
	count_spill(shape, rows * 0.5, counts->rest);
	count_merge(shape, rows, Min(levels, levels_a_pass), counts->rest);
	count_returned(shape, rows, counts->rest);
}
