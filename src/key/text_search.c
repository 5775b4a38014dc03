/*
 * key/text_search.c
 *		Variable sort keys of tsvector and tsquery.
 *
 * Both order by sizes first: a tsvector by its bytes, then by how many words it has; a tsquery the other way
 * round.  So a key need not say where the value ends.  What is more comes first in much of the rest, and is
 * complemented there.  No word has a zero byte within.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "tsearch/ts_type.h"

#include "key/encoders.h"
#include "key/fixed.h"
#include "key/parts.h"

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

/* ---------------------------------------------------------------- tsvector */

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

/* ---------------------------------------------------------------- tsquery */

/* Operators, from the last one on, come before words; these are in the order of their checksums. */
static void
append_item(SortKeyBuilder *key, const QueryItem *item, const char *words)
{
	const QueryOperand *operand = &item->qoperand;

	sort_key_append_byte(key, ~item->type);
	if (item->type == QI_VAL)
	{
		append32(key, ~sort_key_order_int32(operand->valcrc));
		sort_key_append_terminated(key, words + operand->distance, operand->length, 0);
	}
	else
		sort_key_append_byte(key, ~item->qoperator.oper);
}

/* A part of a query: its operator, what that is applied to, and how far apart these are. */
static void
append_tree(SortKeyBuilder *key, const QueryItem *item, const char *words)
{
	const QueryOperator *operator= & item->qoperator;

	check_stack_depth();
	append_item(key, item, words);
	if (item->type == QI_VAL)
		return;
	append_tree(key, item + 1, words);
	if (operator->oper != OP_NOT)
		append_tree(key, item + operator->left, words);
	if (operator->oper == OP_PHRASE)
		append16(key, ~operator->distance);
}

void
sort_key_append_tsquery(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	const TSQueryData *query = (TSQueryData *) sort_key_unpack(key, col, value);

	append32(key, query->size);
	append32(key, VARSIZE(query));
	if (query->size > 0)
		append_tree(key, GETQUERY(query), GETOPERAND(query));
}
