/*
 * exec/row_layout.c
 *		Where the columns of a row stand, if all that are kept are of fixed width.
 */
#include "postgres.h"

#include "access/tupmacs.h"

#include "exec/row_layout.h"

typedef struct RowLayoutColumn
{
	int index;	   /* into the slot's values */
	uint32 offset; /* in the row */
	int length;	   /* in bytes */
	bool by_value;
} RowLayoutColumn;

/* The header of a row with these columns missing. */
static void
make_header(RowLayout *layout, const Bitmapset *unused)
{
	int natts = layout->natts;
	bool has_bitmap = unused != NULL;
	Size length = SizeofMinimalTupleHeader + (has_bitmap ? BITMAPLEN(natts) : 0);
	MinimalTuple row;

	layout->header_length = MAXALIGN(length);
	row = palloc0(layout->header_length);
	row->t_hoff = layout->header_length + MINIMAL_TUPLE_OFFSET;
	HeapTupleHeaderSetNatts(row, natts);
	if (has_bitmap)
	{
		row->t_infomask |= HEAP_HASNULL;
		for (int i = 0; i < natts; i++)
		{
			if (!bms_is_member(i + 1, unused))
				row->t_bits[i >> 3] |= 1 << (i & 7);
		}
	}
	layout->header = (char *) row;
}

/* Places the columns; false if one is of variable width. */
static bool
place_columns(RowLayout *layout, TupleDesc desc, const Bitmapset *unused)
{
	uint32 offset = 0;

	for (int i = 0; i < layout->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		RowLayoutColumn *column = &layout->columns[layout->ncolumns];
		uint32 end = offset;

		if (bms_is_member(i + 1, unused))
			continue;
		if (att->attlen <= 0 || att->attisdropped)
			return false;
		offset = att_align_nominal(offset, att->attalign);
		layout->has_gaps |= offset != end;
		column->index = i;
		column->offset = layout->header_length + offset;
		column->length = att->attlen;
		column->by_value = att->attbyval;
		offset += att->attlen;
		layout->ncolumns++;
	}
	layout->length = layout->header_length + offset;
	((MinimalTuple) layout->header)->t_len = layout->length;
	return true;
}

RowLayout *
row_layout_create(TupleDesc desc, const Bitmapset *unused)
{
	RowLayout *layout = palloc0(sizeof(RowLayout));

	layout->natts = desc->natts;
	layout->columns = palloc(sizeof(RowLayoutColumn) * Max(desc->natts, 1));
	make_header(layout, unused);
	layout->usable = place_columns(layout, desc, unused);
	return layout;
}

bool
row_layout_fits(const RowLayout *layout, const TupleTableSlot *slot)
{
	bool any_null = false;

	Assert(slot->tts_tupleDescriptor->natts == layout->natts);
	if (!layout->usable)
		return false;
	for (int i = 0; i < layout->ncolumns; i++)
		any_null |= slot->tts_isnull[layout->columns[i].index];
	return !any_null;
}

void
row_layout_write(const RowLayout *layout, const TupleTableSlot *slot, char *dst)
{
	memcpy(dst, layout->header, layout->header_length);
	if (layout->has_gaps)
		memset(dst + layout->header_length, 0, layout->length - layout->header_length);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const RowLayoutColumn *column = &layout->columns[i];
		Datum value = slot->tts_values[column->index];

		if (!column->by_value)
			memcpy(dst + column->offset, DatumGetPointer(value), column->length);
		else if (column->length == sizeof(Datum))
			*(Datum *) (dst + column->offset) = value;
		else
			store_att_byval(dst + column->offset, value, column->length);
	}
}
