/*
 * exec/row_group.c
 *		Rows that come one after the other and are equal in some columns: partitions, peers.
 *
 * Most rows have the very bytes of the first one.  Such values are equal by every equality that sorting and
 * grouping know: a NaN equals itself there, and so does a toasted value that was not fetched.  So the
 * operators are asked only where bytes differ, as they do of 1.0 and 1.00, or of texts that a
 * nondeterministic collation calls equal.  That holds for PostgreSQL's own operators; others are always
 * asked.  Integers and times of other bytes are never equal, and need no operator at all.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/pg_compat.h"
#include "exec/row_group.h"

/* Are values of other bytes different, for this function of an operator? */
static bool
compares_bytes(Oid function)
{
	static const Oid functions[] = {F_BOOLEQ, F_CHAREQ,	 F_INT2EQ,	F_INT4EQ,		F_INT8EQ,
									F_OIDEQ,  F_DATE_EQ, F_TIME_EQ, F_TIMESTAMP_EQ, F_TIMESTAMPTZ_EQ};

	for (int i = 0; i < lengthof(functions); i++)
	{
		if (functions[i] == function)
			return true;
	}
	return false;
}

/* The bits of a Datum that count: the others of a function's result may not be those of a column's value. */
static Datum
value_bits(Form_pg_attribute attribute)
{
	if (!attribute->attbyval || attribute->attlen == sizeof(Datum))
		return ~(Datum) 0;
	return ((Datum) 1 << (attribute->attlen * BITS_PER_BYTE)) - 1;
}

RowGroup *
row_group_create(WindowColumns columns, TupleDesc rows, PlanState *node)
{
	RowGroup *group = palloc0(sizeof(RowGroup));

	group->columns = columns;
	group->images = palloc0(sizeof(GroupColumn) * Max(columns.n, 1));
	group->trusts_images = group->is_exact = true;
	for (int i = 0; i < columns.n; i++)
	{
		int column = columns.attnos[i] - 1;
		Form_pg_attribute attribute = TupleDescAttr(rows, column);

		group->images[i] = (GroupColumn){.index = column,
										 .length = attribute->attlen,
										 .byval = attribute->attbyval,
										 .bits = value_bits(attribute)};
		group->last_attno = Max(group->last_attno, columns.attnos[i]);
		group->trusts_images &= get_opcode(columns.operators[i]) < FirstNormalObjectId;
		group->is_exact &= compares_bytes(get_opcode(columns.operators[i]));
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
	if (((value ^ first) & column->bits) == 0)
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
	if (group->is_exact)
		return false;
	context->ecxt_innertuple = group->first;
	context->ecxt_outertuple = row;
	return ExecQualAndReset(group->equal, context);
}
