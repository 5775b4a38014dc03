/*
 * key/builder.c
 *		Building a key: columns and their markers, the key's buffer, detoasted values.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_collation.h"
#include "utils/formatting.h"
#include "utils/memutils.h"

#include "key/builder.h"
#include "key/fixed.h"

/* Appends the encoding of a value that is not NULL. */
static inline void
append_value(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	uint8 *dst = sort_key_reserve(key, 1 + col->width);
	Size start;

	if (!col->self_marked)
	{
		*dst++ = col->value_marker;
		key->length++;
	}

	if (col->append == NULL)
	{
		sort_key_store_fixed(col, value, dst);
		key->length += col->width;
		return;
	}

	start = key->length;
	col->append(key, col, value);
	if (col->descending)
	{
		uint8 *end = key->buffer + key->length;

		for (uint8 *byte = key->buffer + start; byte < end; byte++)
			*byte = ~*byte;
	}
}

void
sort_key_append_column(SortKeyBuilder *key, SortKeyColumn *col, Datum value, bool isnull)
{
	if (isnull)
		sort_key_append_byte(key, col->null_marker);
	else
		append_value(key, col, value);
}

void
sort_key_grow(SortKeyBuilder *key, Size more)
{
	Size size = key->buffer_size;

	while (size - key->length < more)
		size *= 2;
	key->buffer = repalloc_huge(key->buffer, size);
	key->buffer_size = size;
}

struct varlena *
sort_key_fetch(SortKeyBuilder *key, struct varlena *value)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(key->scratch);
	struct varlena *result = detoast_attr(value);

	MemoryContextSwitchTo(oldcontext);
	key->detoasted = true;
	return result;
}

/* Strings in lower case, as the database's own locale has it, are what the collation compares. */
const char *
sort_key_lower_case(SortKeyBuilder *key, Datum datum, Size *len)
{
	struct varlena *value = sort_key_detoast(key, datum);
	MemoryContext oldcontext = MemoryContextSwitchTo(key->scratch);
	char *lower = str_tolower(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), DEFAULT_COLLATION_OID);

	MemoryContextSwitchTo(oldcontext);
	key->detoasted = true;
	*len = strlen(lower);
	return lower;
}
