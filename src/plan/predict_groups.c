/*
 * plan/predict_groups.c
 *		What it takes to form groups of rows: the counts that the time is predicted from.
 *
 * Hashing is as fast as its table is near: a row takes one look into it, and one beyond a cache takes longer
 * than all else that is done with the row.  Rows that come in order, or nearly, find the group of the row
 * before them.  Then each group takes a place of its own.  What does not fit goes through temporary files.
 * What aggregates compute is left out: it takes about as long in both.
 */
#include "postgres.h"

#include "access/htup_details.h"

#include "plan/predict_groups.h"

/* Groups that are hashed when the memory is full are all that will be, until the rest is read once more. */
static double
share_spilled(const GroupShape *shape)
{
	double bytes = shape->groups * shape->entry_bytes;

	return bytes > shape->memory ? 1 - shape->memory / bytes : 0;
}

/* Bytes of a row in a temporary file. */
static double
row_bytes(const GroupShape *shape)
{
	return MAXALIGN(SizeofMinimalTupleHeader + shape->sorted->width);
}

double
predict_hashed_groups_temp(const GroupShape *shape)
{
	return shape->sorted->rows * share_spilled(shape) * row_bytes(shape);
}

CostCounts
count_hashed_groups(const GroupShape *shape)
{
	const SortShape *rows = shape->sorted;
	double spilled = rows->rows * share_spilled(shape);
	double looks = rows->order == ORDER_NONE ? rows->rows : Min(shape->groups, rows->rows);
	SortShape far = {.order = ORDER_NONE};
	CostCounts counts = {.first = {0}};

	counts.first[COST_HASH_ROW] = rows->rows;
	for (int i = 0; i < rows->nkeys; i++)
		counts.first[rows->keys[i].class >= KEY_NUMERIC ? COST_HASH_STRING : COST_HASH_COLUMN] += rows->rows;
	counts.first[COST_HASH_FAR] =
		looks * share_far(&far, Min(shape->groups * shape->entry_bytes, shape->memory));
	counts.first[COST_HASH_GROUP] = shape->groups;
	counts.first[COST_PG_SPILL] = spilled;
	counts.first[COST_PG_SPILL_BYTE] = spilled * row_bytes(shape);
	return counts;
}

CostCounts
count_ordered_groups(const GroupShape *shape)
{
	CostCounts counts = {.first = {0}};

	counts.first[COST_ORDERED_ROW] = shape->sorted->rows;
	counts.first[COST_ORDERED_GROUP] = shape->groups;
	return counts;
}

double
predict_hashed_groups(const GroupShape *shape)
{
	CostCounts counts = count_hashed_groups(shape);

	return predict_counts(&counts);
}

double
predict_ordered_groups(const GroupShape *shape)
{
	CostCounts counts = count_ordered_groups(shape);

	return predict_counts(&counts);
}
