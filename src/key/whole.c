/*
 * key/whole.c
 *		Variable sort keys of values that the type's own comparison has the last word on.
 *
 * Where text that such a value is made of has keys that guess at the order (images.c), the key of the value
 * is a guess too.  It stands as an image before the value itself, whole, which is what is compared then
 * (compare.c).
 *
 * An image has no zero byte within: 00 becomes 01 01, and 01 becomes 01 02, so it orders as before.  Of long
 * keys it is the beginning, enough for a guess.  Behind it, and a zero byte, stand the size of the value in 4
 * bytes, the value, and 01, so that nothing of it is taken for zeros that may be left out.
 */
#include "postgres.h"

#include "access/tupmacs.h"

#include "key/encoders.h"
#include "key/images.h"
#include "key/components.h"

#define VALUE_END 1

/* Takes the zero bytes out of what stands in the key from "start" on. */
static void
escape(SortKeyBuilder *key, Size start)
{
	Size more = 0;
	uint8 *bytes;
	uint8 *dst;

	for (Size i = start; i < key->length; i++)
		more += key->buffer[i] <= 1;
	(void) sort_key_reserve(key, more);
	bytes = key->buffer;
	dst = bytes + key->length + more;
	for (const uint8 *at = bytes + key->length; at > bytes + start;)
	{
		uint8 byte = *--at;

		*--dst = byte <= 1 ? byte + 1 : byte;
		if (byte <= 1)
			*--dst = 1;
	}
	key->length += more;
}

static void
append_image(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	Size start = key->length;

	if (col->guess != NULL)
		col->guess(key, col, value);
	key->length = Min(key->length, start + IMAGED_BYTES_MAX);
	escape(key, start);
}

/*
 * The bytes of a value as it is stored in a row, and how many there are; good until this column's next value.
 */
static const void *
stored_bytes(SortKeyBuilder *key, SortKeyColumn *col, Datum *value, uint32 *size)
{
	if (col->length == -1)
	{
		struct varlena *whole = sort_key_unpack(key, col, *value);

		*value = PointerGetDatum(whole);
		*size = VARSIZE(whole);
		return whole;
	}
	*size = att_addlength_datum(0, col->length, *value);
	if (!col->by_value)
		return DatumGetPointer(*value);
	store_att_byval(&col->components->unpacked, *value, col->length);
	return &col->components->unpacked;
}

static uint8 *
store_value(uint8 *dst, const void *bytes, uint32 size)
{
	memcpy(dst, &size, sizeof(size));
	dst += sizeof(size);
	memcpy(dst, bytes, size);
	dst[size] = VALUE_END;
	return dst + size + 1;
}

void
sort_key_append_whole(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	uint32 size;
	const void *bytes = stored_bytes(key, col, &value, &size);
	uint8 *dst;

	if (!key->without_images)
		append_image(key, col, value);
	dst = sort_key_reserve(key, size + 6);
	*dst++ = 0;
	dst = store_value(dst, bytes, size);
	key->length = dst - key->buffer;
}
