/*
 * row_source.c
 *		A slot's row as a MinimalTuple, measured first and written in place after.
 *
 * A heap row is a MinimalTuple but for what precedes its infomask, and a minimal tuple is one as it is: both
 * are copied byte by byte.  A virtual row, such as a projection's result, is put together
 * column by column.
 */
#include "postgres.h"

#include "row_source.h"

/* Where a MinimalTuple's infomask2 stands; all before it is t_len and padding. */
#define ROW_BODY_OFFSET offsetof(MinimalTupleData, t_infomask2)

static void
open_stored(RowSource *source, const void *minimal_start, uint32 length)
{
	source->stored = (const char *) minimal_start + ROW_BODY_OFFSET;
	source->length = length;
}

static void
open_columns(RowSource *source, TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;
	Size		length = SizeofMinimalTupleHeader;

	slot_getallattrs(slot);
	source->stored = NULL;
	source->has_nulls = false;
	for (int i = 0; i < desc->natts; i++)
		source->has_nulls |= slot->tts_isnull[i];
	if (source->has_nulls)
		length += BITMAPLEN(desc->natts);
	source->data_length = heap_compute_data_size(desc, slot->tts_values, slot->tts_isnull);
	source->length = MAXALIGN(length) + source->data_length;
}

void
row_source_open(RowSource *source, TupleTableSlot *slot)
{
	source->slot = slot;
	if (TTS_IS_BUFFERTUPLE(slot) || TTS_IS_HEAPTUPLE(slot))
	{
		HeapTuple	tuple = ((HeapTupleTableSlot *) slot)->tuple;

		if (tuple != NULL)
		{
			open_stored(source, (char *) tuple->t_data + MINIMAL_TUPLE_OFFSET, tuple->t_len - MINIMAL_TUPLE_OFFSET);
			return;
		}
	}
	else if (TTS_IS_MINIMALTUPLE(slot))
	{
		MinimalTuple tuple = ((MinimalTupleTableSlot *) slot)->mintuple;

		if (tuple != NULL)
		{
			open_stored(source, tuple, tuple->t_len);
			return;
		}
	}
	open_columns(source, slot);
}

static void
write_columns(const RowSource *source, MinimalTuple row)
{
	TupleTableSlot *slot = source->slot;
	TupleDesc	desc = slot->tts_tupleDescriptor;
	Size		header_length = source->length - source->data_length;

	memset(row, 0, row_source_size(source));
	row->t_hoff = header_length + MINIMAL_TUPLE_OFFSET;
	HeapTupleHeaderSetNatts(row, desc->natts);
	heap_fill_tuple(desc, slot->tts_values, slot->tts_isnull, (char *) row + header_length, source->data_length,
					&row->t_infomask, source->has_nulls ? row->t_bits : NULL);
}

void
row_source_write(const RowSource *source, char *dst)
{
	MinimalTuple row = (MinimalTuple) dst;

	if (source->stored != NULL)
		memcpy(dst + ROW_BODY_OFFSET, source->stored, source->length - ROW_BODY_OFFSET);
	else
		write_columns(source, row);
	row->t_len = source->length;
}
