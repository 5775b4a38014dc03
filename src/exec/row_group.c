/*
 * exec/row_group.c
 *		Rows that come one after the other and are equal in some columns: partitions, peers.
 *
 * Most rows have the very bytes of the first one.  Such values are equal by every equality that sorting and
 * grouping know: a NaN equals itself there, and so does a toasted value that was not fetched.  So the
 * operators are asked only where bytes differ, as they do of 1.0 and 1.00, or of texts that a
 * nondeterministic collation calls equal.  That holds for PostgreSQL's own operators; others are always
 * asked.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/pg_compat.h"
#include "exec/row_group.h"

RowGroup *
row_group_create(WindowColumns columns, TupleDesc rows, PlanState *node)
{
	RowGroup *group = palloc0(sizeof(RowGroup));

	group->columns = columns;
	group->images = palloc0(sizeof(GroupColumn) * Max(columns.n, 1));
	group->trusts_images = true;
	for (int i = 0; i < columns.n; i++)
	{
		int column = columns.attnos[i] - 1;
		Form_pg_attribute attribute = TupleDescAttr(rows, column);

		group->images[i] =
			(GroupColumn){.index = column, .length = attribute->attlen, .byval = attribute->attbyval};
		group->last_attno = Max(group->last_attno, columns.attnos[i]);
		group->trusts_images &= get_opcode(columns.operators[i]) < FirstNormalObjectId;
		group->keeps_memory |= !attribute->attbyval;
	}
	group->equal =
		execTuplesMatchPrepare(rows, columns.n, columns.attnos, columns.operators, columns.collations, node);
	group->first = ExecInitExtraTupleSlot(node->state, rows, &TTSOpsVirtual);
	group->memory = AllocSetContextCreate(CurrentMemoryContext, "gpusort row group", ALLOCSET_SMALL_SIZES);
	return group;
}

/* Bytes of a value that is not null and not passed by value. */
static inline Size
image_size(Datum value, int16 length)
{
	return length == -1 ? VARSIZE_ANY(DatumGetPointer(value)) : datumGetSize(value, false, length);
}

void
row_group_begin(RowGroup *group, TupleTableSlot *row)
{
	TupleTableSlot *first = group->first;
	MemoryContext old;

	if (group->columns.n == 0)
		return;
	if (TTS_EMPTY(first))
		ExecStoreAllNullTuple(first);
	slot_getsomeattrs(row, group->last_attno);
	if (group->keeps_memory)
		MemoryContextReset(group->memory);
	old = MemoryContextSwitchTo(group->memory);
	for (int i = 0; i < group->columns.n; i++)
	{
		GroupColumn *column = &group->images[i];
		int c = column->index;

		first->tts_isnull[c] = row->tts_isnull[c];
		if (row->tts_isnull[c])
			continue;
		first->tts_values[c] = row->tts_values[c];
		if (column->byval)
			continue;
		first->tts_values[c] = datumCopy(row->tts_values[c], false, column->length);
		column->size = image_size(first->tts_values[c], column->length);
	}
	MemoryContextSwitchTo(old);
}

static inline bool
same_image(const GroupColumn *column, Datum value, Datum first)
{
	if (value == first)
		return true;
	return !column->byval && image_size(value, column->length) == column->size &&
		   memcmp(DatumGetPointer(value), DatumGetPointer(first), column->size) == 0;
}

/* Has the row the same bytes in all columns? */
static inline bool
images_equal(const RowGroup *group, const TupleTableSlot *row)
{
	const TupleTableSlot *first = group->first;

	for (int i = 0; i < group->columns.n; i++)
	{
		const GroupColumn *column = &group->images[i];
		int c = column->index;

		if (row->tts_isnull[c] != first->tts_isnull[c])
			return false;
		if (!row->tts_isnull[c] && !same_image(column, row->tts_values[c], first->tts_values[c]))
			return false;
	}
	return true;
}

bool
row_group_contains(RowGroup *group, TupleTableSlot *row, ExprContext *context)
{
	if (group->columns.n == 0)
		return true;
	slot_getsomeattrs(row, group->last_attno);
	if (group->trusts_images && images_equal(group, row))
		return true;
	context->ecxt_innertuple = group->first;
	context->ecxt_outertuple = row;
	return ExecQualAndReset(group->equal, context);
}
