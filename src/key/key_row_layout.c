/*
 * key/key_row_layout.c
 *		Where the columns of a row are in its key: found once, before rows are made.
 */
#include "postgres.h"

#include "key/column.h"
#include "key/key_row_layout.h"

int
key_row_value_length(const SortKeyColumn *sort_column)
{
	switch (sort_column->kind)
	{
		case SORT_KEY_FLOAT4: /* zeros and NaNs are lost */
		case SORT_KEY_FLOAT8:
		case SORT_KEY_INTERVAL: /* months */
		case SORT_KEY_ENUM:		/* oids */
			return 0;
		default:
			return sort_column->width;
	}
}

void
key_row_describe_column(const SortKeyColumn *sort_column, Form_pg_attribute att, KeyRowColumn *column)
{
	column->index = sort_column->attidx;
	column->length = key_row_value_length(sort_column);
	column->align = att->attalign;
	column->value_marker = sort_column->value_marker;
	column->kind = sort_column->kind;
	column->flip = sort_column->flip;
}

bool
key_row_find_column(const SortKey *key, TupleDesc desc, int index, KeyRowColumn *column)
{
	Form_pg_attribute att = TupleDescAttr(desc, index);
	int offset = 0;

	for (int i = 0; i < key->ncols; i++)
	{
		const SortKeyColumn *sort_column = &key->cols[i];

		if (sort_column->attidx == index && !att->attisdropped)
		{
			key_row_describe_column(sort_column, att, column);
			column->marked = !sort_column->unmarked;
			column->offset_in_key = offset + sort_key_marker_bytes(sort_column);
			return column->length > 0 && column->length == att->attlen;
		}
		offset += sort_key_marker_bytes(sort_column) + sort_column->width;
	}
	return false;
}

bool
key_row_has_short_headers(Form_pg_attribute att)
{
	return att->attlen == -1 && att->attstorage != TYPSTORAGE_PLAIN;
}
