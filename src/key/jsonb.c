/*
 * key/jsonb.c
 *		Variable sort keys of jsonb.
 *
 * Documents order as they are read from their beginning.  An array or an object begins with how many elements
 * or pairs it has; arrays come before objects, and shorter ones before longer ones, whatever they hold.  In
 * an object the keys stand by their length, then their bytes, but compare as strings do, each before its
 * value.  Strings are in the order of the database's collation.
 *
 * A document that is a single scalar is kept as an array of one, and says so.  Counted in are both, so it
 * comes behind the empty array, and before those that are arrays of one.
 *
 * As each container says first how many components come, it needs no end.  The first byte is 06 or 07, so it
 * does as the marker of the value itself.
 */
#include "postgres.h"

#include "utils/jsonb.h"

#include "key/encoders.h"
#include "key/numbers.h"
#include "key/components.h"

/* Numbers from this one on take five bytes. */
#define NUMBER_LARGE 0xFF

static void
append_number(SortKeyBuilder *key, uint32 number)
{
	uint8 *dst;

	if (likely(number < NUMBER_LARGE))
	{
		sort_key_append_byte(key, (uint8) number);
		return;
	}
	dst = sort_key_reserve(key, 1 + sizeof(number));
	*dst++ = NUMBER_LARGE;
	sort_key_store32(dst, number);
	key->length += 1 + sizeof(number);
}

/* Where an array stands among the others by its size. */
static uint32
rank_of_array(const JsonbValue *array)
{
	if (array->val.array.rawScalar)
		return 1;
	return array->val.array.nElems == 0 ? 0 : array->val.array.nElems + 1;
}

/* A scalar, the key of a pair, or the beginning of an array or an object. */
static void
append_item(SortKeyBuilder *key, SortKeyComponents *components, JsonbValue *item)
{
	switch (item->type)
	{
		case jbvNull:
			sort_key_append_byte(key, JSONB_NULL);
			break;
		case jbvString:
			sort_key_append_column(key, &components->columns[JSONB_STRINGS], PointerGetDatum(item), false);
			break;
		case jbvNumeric:
			sort_key_append_column(key, &components->columns[JSONB_NUMBERS],
								   PointerGetDatum(item->val.numeric), false);
			break;
		case jbvBool:
			sort_key_append_byte(key, item->val.boolean ? JSONB_TRUE : JSONB_FALSE);
			break;
		case jbvArray:
			sort_key_append_byte(key, JSONB_ARRAY);
			append_number(key, rank_of_array(item));
			break;
		case jbvObject:
			sort_key_append_byte(key, JSONB_OBJECT);
			append_number(key, item->val.object.nPairs);
			break;
		default:
			elog(ERROR, "gpusort: unexpected kind of jsonb value: %d", (int) item->type);
	}
}

void
sort_key_append_jsonb(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	Jsonb *document = (Jsonb *) sort_key_unpack(key, col, value);
	JsonbIterator *iterator = JsonbIteratorInit(&document->root);
	JsonbIteratorToken token;
	JsonbValue item;

	while ((token = JsonbIteratorNext(&iterator, &item, false)) != WJB_DONE)
	{
		if (token != WJB_END_ARRAY && token != WJB_END_OBJECT)
			append_item(key, col->components, &item);
	}
}
