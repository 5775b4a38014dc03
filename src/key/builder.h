/*
 * key/builder.h
 *		Building a key: the functions with which encoders append bytes and read values.
 */
#ifndef GPUSORT_KEY_BUILDER_H
#define GPUSORT_KEY_BUILDER_H

#include "utils/jsonb.h"

#include "key/column.h"

/* Appends a value, or NULL, with its marker to the key. */
extern void sort_key_append_column(SortKeyBuilder *key, SortKeyColumn *col, Datum value, bool isnull);

/* Makes room in key->buffer for "more" bytes after key->length. */
extern void sort_key_grow(SortKeyBuilder *key, Size more);

/* Returns a compressed or out-of-line value, detoasted in key->scratch. */
extern struct varlena *sort_key_fetch(SortKeyBuilder *key, struct varlena *value);

/* Returns the characters of a citext in lower case, valid until the next row. */
extern const char *sort_key_lower_case(SortKeyBuilder *key, Datum datum, Size *len);

/*
 * Returns the place of the next "more" bytes of the key.  The caller adds the bytes that it used to
 * key->length.
 */
static inline uint8 *
sort_key_reserve(SortKeyBuilder *key, Size more)
{
	if (unlikely(key->buffer_size - key->length < more))
		sort_key_grow(key, more);
	return key->buffer + key->length;
}

static inline void
sort_key_append_byte(SortKeyBuilder *key, uint8 byte)
{
	*sort_key_reserve(key, 1) = byte;
	key->length++;
}

/* Appends a string that does not contain the terminator, and the terminator. */
static inline void
sort_key_append_terminated(SortKeyBuilder *key, const char *bytes, Size len, uint8 terminator)
{
	uint8 *dst = sort_key_reserve(key, len + 1);

	memcpy(dst, bytes, len);
	dst[len] = terminator;
	key->length += len + 1;
}

/*
 * Appends a string and a zero byte.  Notes the place of the string, because it may be the last one of the
 * key.
 */
static inline void
sort_key_append_string(SortKeyBuilder *key, const char *bytes, Size len)
{
	key->tail = bytes;
	key->tail_start = key->length;
	sort_key_append_terminated(key, bytes, len, 0);
	key->tail_end = key->length;
}

/* Returns a varlena that can be read with VARDATA_ANY: the value itself if possible. */
static inline struct varlena *
sort_key_detoast(SortKeyBuilder *key, Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	if (unlikely(VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value)))
		return sort_key_fetch(key, value);
	return value;
}

/* Returns the characters of a text, bpchar or name that affect its order. */
static inline const char *
sort_key_text_bytes(SortKeyBuilder *key, const SortKeyColumn *col, Datum datum, Size *len)
{
	struct varlena *value;
	const char *bytes;
	Size n;

	if (col->kind == SORT_KEY_NAME)
	{
		bytes = NameStr(*DatumGetName(datum));
		*len = strnlen(bytes, NAMEDATALEN);
		return bytes;
	}
	if (col->kind == SORT_KEY_JSONB_STRING)
	{
		const JsonbValue *item = (const JsonbValue *) DatumGetPointer(datum);

		*len = item->val.string.len;
		return item->val.string.val;
	}
	if (col->kind == SORT_KEY_CITEXT)
		return sort_key_lower_case(key, datum, len);

	value = sort_key_detoast(key, datum);
	bytes = VARDATA_ANY(value);
	n = VARSIZE_ANY_EXHDR(value);
	if (col->kind == SORT_KEY_BPCHAR)
		while (n > 0 && bytes[n - 1] == ' ')
			n--;
	*len = n;
	return bytes;
}

#endif /* GPUSORT_KEY_BUILDER_H */
