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

#include "access/tupmacs.h"

#include "exec/row_source.h"

/* ---------------------------------------------------------------- columns of fixed width */

typedef struct RowLayoutColumn
{
	int index;	   /* into the slot's values */
	uint32 offset; /* in the row */
	int length;	   /* in bytes */
	bool by_value;
} RowLayoutColumn;

/*
 * Where the columns of a row stand, if all that are kept are of fixed width.  Such rows, without NULLs, all
 * look the same: they are put together by copying a header and storing each column at its place, in a
 * fraction of the time that a row of any kind takes.
 */
struct RowLayout
{
	uint32 length; /* t_len */
	int ncolumns;  /* that are kept */
	RowLayoutColumn *columns;
	bool has_gaps;		  /* are there bytes between columns, for their alignment? */
	uint32 header_length; /* a multiple of 8 */
	char *header;		  /* the row up to its first column */
};

/* The header of a row with these columns missing. */
static void
make_header(RowLayout *layout, int natts, const Bitmapset *unused)
{
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

	for (int i = 0; i < desc->natts; i++)
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

/*
 * A layout for rows of this kind but for the unused columns (attnos), which are NULL; NULL: a column is of
 * variable width.
 */
static RowLayout *
create_layout(TupleDesc desc, const Bitmapset *unused)
{
	RowLayout *layout = palloc0(sizeof(RowLayout));

	layout->columns = palloc(sizeof(RowLayoutColumn) * Max(desc->natts, 1));
	make_header(layout, desc->natts, unused);
	return place_columns(layout, desc, unused) ? layout : NULL;
}

/* Is none of the columns that are kept NULL? */
static bool
layout_fits(const RowLayout *layout, const TupleTableSlot *slot)
{
	bool any_null = false;

	for (int i = 0; i < layout->ncolumns; i++)
		any_null |= slot->tts_isnull[layout->columns[i].index];
	return !any_null;
}

/* Writes the slot's row, layout->length bytes, of which none keeps what stood there before. */
static void
write_by_layout(const RowLayout *layout, const TupleTableSlot *slot, char *dst)
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

/* ---------------------------------------------------------------- rows */

void
row_source_init(RowSource *source, TupleDesc desc, const Bitmapset *unused)
{
	memset(source, 0, sizeof(*source));
	source->unused = unused;
	source->layout = create_layout(desc, unused);
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
	source->by_layout = source->layout != NULL && layout_fits(source->layout, slot);
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
		write_by_layout(source->layout, source->slot, dst);
	else
		write_columns(source, (MinimalTuple) dst);
}
