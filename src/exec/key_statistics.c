/*
 * exec/key_statistics.c
 *		The keys of the values that the statistics have of a sort's first column: where its order can be
 *		split.
 *
 * They are encoded as the rows' keys are, but for that column alone: what a row's key begins with.  So NULLs,
 * directions and collations need no thought here.  If statistics and rows have little to do with each other,
 * because conditions or joins are between them, or they are old, the parts are unequal, and no row is in the
 * wrong one.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "exec/key_statistics.h"
#include "key/sort_key.h"
#include "plan/column_stats.h"
#include "plan/sort_plan.h"

/*
 * Keys of several columns go on with the next one where a key of one column is padded.  So zeros at its end
 * are left out: all rows that have the value are at or above it then.
 */
static void
add_key(KeySample *sample, SortKey *key, TupleTableSlot *slot, double before, double at)
{
	KeySampleEntry *entry = &sample->entries[sample->n++];
	uint64 fixed[SORT_KEY_MAX_FIXED_WIDTH / sizeof(uint64)] = {0};
	const uint8 *bytes = (const uint8 *) fixed;
	Size size = key->width;

	if (key->variable)
		bytes = sort_key_encode_variable(key, slot, &size);
	else
		sort_key_encode_fixed(key, slot, (uint8 *) fixed);
	while (size > 0 && bytes[size - 1] == 0)
		size--;
	splitter_set(&entry->key, bytes, size);
	entry->before = before;
	entry->at = at;
}

/* The keys of these values of the column, and of NULL; in this context. */
static KeySample *
encode_sample(MemoryContext context, const SortColumnSpec *column, const ColumnSample *values, TupleDesc desc)
{
	KeySample *sample = MemoryContextAllocZero(context, sizeof(KeySample));
	TupleTableSlot *slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	SortKey *key = sort_key_create(1, column);

	sample->entries = MemoryContextAlloc(context, sizeof(KeySampleEntry) * (values->nvalues + 1));
	ExecStoreAllNullTuple(slot);
	if (!column->not_null)
		add_key(sample, key, slot, 0, values->nulls);
	slot->tts_isnull[column->attno - 1] = false;
	for (int i = 0; i < values->nvalues; i++)
	{
		const SampleValue *value = &values->values[i];

		slot->tts_values[column->attno - 1] = value->value;
		add_key(sample, key, slot, value->before, value->at);
	}
	key_sample_sort(sample);
	return sample;
}

KeySample *
key_sample_of_input(const ScanState *sort, const SortKey *key, TupleDesc desc)
{
	const Plan *plan = sort->ps.plan;
	EState *estate = sort->ps.state;
	MemoryContext scratch =
		AllocSetContextCreate(estate->es_query_cxt, "GpuSort key statistics", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	int ncolumns;
	SortColumnSpec *columns = sort_plan_columns(plan, &ncolumns);
	ColumnSample values;
	KeySample *sample = NULL;

	sort_key_set_unmarked(ncolumns, columns, sort_key_unmarked(key));
	if (column_sample_of_plan(outerPlan(plan), columns[0].attno, estate->es_range_table, &values))
		sample = encode_sample(estate->es_query_cxt, &columns[0], &values, desc);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
	return sample;
}
