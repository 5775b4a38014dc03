/*
 * key/compare.c
 *		Comparing keys that only guess at the order, by PostgreSQL's own comparison.
 *
 * A verified column is its marker and, if it has a value, an image of the string, unless the string does as
 * its own; 00; perhaps ties (images.h) and 00; the string; 00; all but the marker complemented if the column
 * is descending.  No image, no ties and no string have a zero byte within.  Zero bytes at the end of the key
 * may be missing.  Values that are compared whole (whole.c) stand in the string's place, with their size
 * before them, and 01 behind.
 *
 * Where other columns stand before, between or behind verified ones, the key ends with the places of these, 8
 * bytes each in the order of the machine, and 01.  That changes nothing of the order: keys that agree up to
 * there have the same places.  What stands between two verified columns compares as bytes.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "utils/memutils.h"
#include "utils/varlena.h"

#include "key/builder.h"
#include "key/compare.h"
#include "key/images.h"

#define PLACES_END 1

struct SortKeyComparer
{
	const SortKey *key;
	uint8 *strings[2]; /* of a descending column, as they are; values, where they are aligned */
	Size sizes[2];
	MemoryContext context; /* all of this */
	MemoryContext scratch; /* of comparisons that take memory */
};

/* A key being read. */
typedef struct KeyReader
{
	const uint8 *start;
	const uint8 *at;
	const uint8 *end;
	const uint8 *places; /* behind the columns, or NULL */
} KeyReader;

/* A string in a key, or its image. */
typedef struct KeyString
{
	const uint8 *bytes;
	Size len;
} KeyString;

SortKeyComparer *
sort_key_comparer_create(const SortKey *key)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "gpusort comparer", ALLOCSET_SMALL_SIZES);
	SortKeyComparer *comparer = MemoryContextAllocZero(context, sizeof(SortKeyComparer));

	Assert(key->verified);
	comparer->key = key;
	comparer->context = context;
	comparer->scratch = AllocSetContextCreate(context, "gpusort compared values", ALLOCSET_SMALL_SIZES);
	return comparer;
}

void
sort_key_comparer_free(SortKeyComparer *comparer)
{
	MemoryContextDelete(comparer->context);
}

void
sort_key_append_places(SortKey *key)
{
	Size size = sizeof(uint64) * key->nplaces;
	uint8 *dst = sort_key_reserve(&key->builder, size + 1);

	memcpy(dst, key->builder.places, size);
	dst[size] = PLACES_END;
	key->builder.length += size + 1;
}

/* ---------------------------------------------------------------- reading keys */

static KeyReader
begin_reading(const SortKey *key, const uint8 *bytes, Size size)
{
	KeyReader reader = {.start = bytes, .at = bytes, .end = bytes + size};

	if (key->nplaces > 0)
		reader.places = reader.end -= sizeof(uint64) * key->nplaces + 1;
	return reader;
}

/* Where the nth verified column stands. */
static const uint8 *
place_of(const KeyReader *reader, int n)
{
	uint64 place;

	if (reader->places == NULL)
		return reader->at;
	memcpy(&place, reader->places + n * sizeof(place), sizeof(place));
	return reader->start + place;
}

/* The marker of a verified column, which may be a zero that was left out. */
static uint8
read_marker(KeyReader *reader)
{
	return reader->at < reader->end ? *reader->at++ : 0;
}

/* What stands up to the next end of a string. */
static KeyString
read_string(KeyReader *reader, const SortKeyColumn *col)
{
	KeyString string = {.bytes = reader->at};
	const uint8 *end = memchr(reader->at, col->descending ? 0xFF : 0, reader->end - reader->at);

	if (end == NULL)
		end = reader->end;
	string.len = end - string.bytes;
	reader->at = Min(end + 1, reader->end);
	return string;
}

/* A value that is compared whole, behind its size. */
static KeyString
read_whole(KeyReader *reader, const SortKeyColumn *col)
{
	KeyString value = {.bytes = reader->at + sizeof(uint32)};
	uint32 size;

	memcpy(&size, reader->at, sizeof(size));
	value.len = col->descending ? ~size : size;
	reader->at = value.bytes + value.len + 1;
	return value;
}

static inline bool
has_image(const SortKeyColumn *col)
{
	return col->images != NULL || sort_key_is_whole(col);
}

/* What stands before the string or value, if it is no image of its own. */
static void
skip_image(KeyReader *reader, const SortKeyColumn *col)
{
	uint8 flip = col->descending ? 0xFF : 0;

	if (has_image(col))
		(void) read_string(reader, col);
	if (col->images == NULL || reader->at >= reader->end || !begins_ties(*reader->at ^ flip))
		return;
	if ((*reader->at ^ flip) != STRING_TELLS)
		(void) read_string(reader, col);
	if (reader->at < reader->end && (*reader->at ^ flip) == STRING_TELLS)
		reader->at++;
}

/* The string of a verified column's value, behind its image, or the value itself. */
static KeyString
read_value(KeyReader *reader, const SortKeyColumn *col)
{
	skip_image(reader, col);
	return sort_key_is_whole(col) ? read_whole(reader, col) : read_string(reader, col);
}

/* ---------------------------------------------------------------- comparing */

/* What stands up to these ends, columns of exact keys: of different ones neither begins with the other. */
static int
compare_exact(KeyReader *a, const uint8 *a_end, KeyReader *b, const uint8 *b_end)
{
	int order = memcmp(a->at, b->at, Min(a_end - a->at, b_end - b->at));

	a->at = a_end;
	b->at = b_end;
	return order;
}

/* Room for so many bytes, aligned. */
static uint8 *
reserve(SortKeyComparer *comparer, int which, Size size)
{
	if (size > comparer->sizes[which])
	{
		if (comparer->strings[which] != NULL)
			pfree(comparer->strings[which]);
		comparer->sizes[which] = 2 * size;
		comparer->strings[which] = MemoryContextAllocHuge(comparer->context, 2 * size);
	}
	return comparer->strings[which];
}

/* The string of a descending column, complemented back. */
static const char *
complement(SortKeyComparer *comparer, int which, KeyString string)
{
	uint8 *dst = reserve(comparer, which, string.len);

	for (Size i = 0; i < string.len; i++)
		dst[i] = ~string.bytes[i];
	return (const char *) dst;
}

/* A value as a function takes it. */
static Datum
aligned_value(SortKeyComparer *comparer, const SortKeyColumn *col, int which, KeyString value)
{
	const void *bytes = col->descending ? complement(comparer, which, value)
										: memcpy(reserve(comparer, which, value.len), value.bytes, value.len);

	return col->by_value ? fetch_att(bytes, true, col->length) : PointerGetDatum(bytes);
}

static int
compare_whole(SortKeyComparer *comparer, SortKeyColumn *col, KeyString a, KeyString b)
{
	Datum datum_a = aligned_value(comparer, col, 0, a);
	Datum datum_b = aligned_value(comparer, col, 1, b);
	MemoryContext oldcontext = MemoryContextSwitchTo(comparer->scratch);
	int order = DatumGetInt32(FunctionCall2Coll(&col->compare, col->collation, datum_a, datum_b));

	MemoryContextSwitchTo(oldcontext);
	MemoryContextReset(comparer->scratch);
	if (col->descending)
		INVERT_COMPARE_RESULT(order);
	return order;
}

static int
compare_strings(SortKeyComparer *comparer, SortKeyColumn *col, KeyString a, KeyString b)
{
	/* of equal strings the images may differ all the same */
	if (a.len == b.len && memcmp(a.bytes, b.bytes, a.len) == 0)
		return 0;
	if (sort_key_is_whole(col))
		return compare_whole(comparer, col, a, b);
	if (!col->descending)
		return varstr_cmp((const char *) a.bytes, a.len, (const char *) b.bytes, b.len, col->collation);
	return varstr_cmp(complement(comparer, 1, b), b.len, complement(comparer, 0, a), a.len, col->collation);
}

static int
compare_column(SortKeyComparer *comparer, SortKeyColumn *col, KeyReader *a, KeyReader *b)
{
	uint8 marker = read_marker(a);
	int order = (int) marker - (int) read_marker(b);

	if (order != 0 || marker == col->null_marker)
		return order;
	return compare_strings(comparer, col, read_value(a, col), read_value(b, col));
}

int
sort_key_compare(SortKeyComparer *comparer, const uint8 *a, Size a_size, const uint8 *b, Size b_size)
{
	const SortKey *key = comparer->key;
	KeyReader reader_a = begin_reading(key, a, a_size);
	KeyReader reader_b = begin_reading(key, b, b_size);
	int order = 0;
	int n = 0;

	/* so it is with most neighbours where strings are repeated */
	if (a_size == b_size && memcmp(a, b, a_size) == 0)
		return 0;
	for (int i = 0; i < key->ncols && order == 0; i++)
	{
		SortKeyColumn *col = &key->cols[i];

		if (!col->verified)
			continue;
		order = compare_exact(&reader_a, place_of(&reader_a, n), &reader_b, place_of(&reader_b, n));
		n++;
		if (order == 0)
			order = compare_column(comparer, col, &reader_a, &reader_b);
	}
	return order != 0 ? order : compare_exact(&reader_a, reader_a.end, &reader_b, reader_b.end);
}
