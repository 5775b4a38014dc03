/*
 * key/text_search.c
 *		Variable sort keys of tsvector.
 *
 * They order by their bytes, then by how many words they have.  So a key need not say where the value ends.
 * What is more comes first in much of the rest, and is complemented there.  No word has a zero byte within.
 */
#include "postgres.h"

#include "tsearch/ts_type.h"

#include "key/encoders.h"
#include "key/numbers.h"
#include "key/components.h"

static void
append16(SortKeyBuilder *key, uint16 value)
{
	sort_key_store16(sort_key_reserve(key, sizeof(value)), value);
	key->length += sizeof(value);
}

static void
append32(SortKeyBuilder *key, uint32 value)
{
	sort_key_store32(sort_key_reserve(key, sizeof(value)), value);
	key->length += sizeof(value);
}

/* How many places there are, then each, with its weight: the more, the further back, the heavier is less. */
static void
append_places(SortKeyBuilder *key, const TSVectorData *vector, const WordEntry *word)
{
	const WordEntryPos *places = POSDATAPTR(vector, word);
	uint16 count = POSDATALEN(vector, word);

	append16(key, ~count);
	for (int i = 0; i < count; i++)
		append16(key, ~(WEP_GETPOS(places[i]) << 2 | WEP_GETWEIGHT(places[i])));
}

/* Words with places come before those without. */
void
sort_key_append_tsvector(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	const TSVectorData *vector = (TSVectorData *) sort_key_unpack(key, col, value);
	const WordEntry *words = ARRPTR(vector);

	append32(key, VARSIZE(vector));
	append32(key, vector->size);
	for (int i = 0; i < vector->size; i++)
	{
		sort_key_append_byte(key, !words[i].haspos);
		sort_key_append_terminated(key, STRPTR(vector) + words[i].pos, words[i].len, 0);
		if (words[i].haspos)
			append_places(key, vector, &words[i]);
	}
}
