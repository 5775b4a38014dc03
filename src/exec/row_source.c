/*
 * exec/row_source.c
 *		A slot's row as a MinimalTuple, measured first and written in place after.
 *
 * A heap row is a MinimalTuple but for what precedes its infomask, and a minimal tuple is one as it is: both
 * are copied byte by byte.  A virtual row, such as a projection's result, is put together column by column,
 * by a layout if the columns are of fixed width; then columns that nothing looks at after the sort, such as
 * the `name COLLATE "C"` of an ORDER BY that is no output column, are left out.
 */
#include "postgres.h"

#include "exec/row_source.h"

void
row_source_init(RowSource *source, TupleDesc desc, const Bitmapset *unused)
{
	memset(source, 0, sizeof(*source));
	source->unused = unused;
	source->layout = row_layout_create(desc, unused);
	if (unused != NULL)
		source->isnull_copy = palloc(sizeof(bool) * desc->natts);
}

/* Which columns are NULL or left out? */
static const bool *
null_columns(const RowSource *source, const TupleTableSlot *slot, int ncolumns)
{
	int attno = -1;

	if (source->unused == NULL)
		return slot->tts_isnull;
	memcpy(source->isnull_copy, slot->tts_isnull, sizeof(bool) * ncolumns);
	while ((attno = bms_next_member(source->unused, attno)) >= 0)
		source->isnull_copy[attno - 1] = true;
	return source->isnull_copy;
}

static void
open_columns(RowSource *source, TupleTableSlot *slot)
{
	TupleDesc desc = slot->tts_tupleDescriptor;
	Size length = SizeofMinimalTupleHeader;

	slot_getallattrs(slot);
	source->stored = NULL;
	source->by_layout = row_layout_fits(source->layout, slot);
	if (source->by_layout)
	{
		source->length = source->layout->length;
		return;
	}
	source->isnull = null_columns(source, slot, desc->natts);
	source->has_nulls = memchr(source->isnull, true, desc->natts) != NULL;
	if (source->has_nulls)
		length += BITMAPLEN(desc->natts);
	source->data_length = heap_compute_data_size(desc, slot->tts_values, unconstify(bool *, source->isnull));
	source->length = MAXALIGN(length) + source->data_length;
}

void
row_source_open(RowSource *source, TupleTableSlot *slot)
{
	source->slot = slot;
	if (TTS_IS_BUFFERTUPLE(slot) || TTS_IS_HEAPTUPLE(slot))
	{
		HeapTuple tuple = ((HeapTupleTableSlot *) slot)->tuple;

		if (tuple != NULL)
		{
			row_source_open_stored(source, (char *) tuple->t_data + MINIMAL_TUPLE_OFFSET,
								   tuple->t_len - MINIMAL_TUPLE_OFFSET);
			return;
		}
	}
	else if (TTS_IS_MINIMALTUPLE(slot))
	{
		MinimalTuple tuple = ((MinimalTupleTableSlot *) slot)->mintuple;

		if (tuple != NULL)
		{
			row_source_open_stored(source, tuple, tuple->t_len);
			return;
		}
	}
	open_columns(source, slot);
}

static void
write_columns(const RowSource *source, MinimalTuple row)
{
	TupleTableSlot *slot = source->slot;
	TupleDesc desc = slot->tts_tupleDescriptor;
	Size header_length = source->length - source->data_length;

	memset(row, 0, row_source_size(source));
	row->t_len = source->length;
	row->t_hoff = header_length + MINIMAL_TUPLE_OFFSET;
	HeapTupleHeaderSetNatts(row, desc->natts);
	heap_fill_tuple(desc, slot->tts_values, unconstify(bool *, source->isnull), (char *) row + header_length,
					source->data_length, &row->t_infomask, source->has_nulls ? row->t_bits : NULL);
}

void
row_source_write(const RowSource *source, char *dst)
{
	if (source->stored != NULL)
	{
		memcpy(dst + ROW_BODY_OFFSET, source->stored, source->length - ROW_BODY_OFFSET);
		((MinimalTuple) dst)->t_len = source->length;
	}
	else if (source->by_layout)
		row_layout_write(source->layout, source->slot, dst);
	else
		write_columns(source, (MinimalTuple) dst);
}
