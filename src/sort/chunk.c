/*
 * sort/chunk.c
 *		Filling chunks; see chunk.h for what is in one.
 */
#include "postgres.h"

#include "key/sort_key.h"
#include "sort/chunk.h"
#include "sort/record.h"

void
chunk_set_layout(Chunk *chunk, const SortKey *key)
{
	chunk->key_width = key->width;
	chunk->entry_size = chunk_entry_size(key->width, !key->policy.alone);
}

void
chunk_reset(Chunk *chunk)
{
	chunk->front = 0;
	chunk->back = chunk->size;
	chunk->nrows = 0;
	chunk->ascending = true;
	chunk->descending = true;
	chunk->ranked = false;
	memset(chunk->key_differs, 0, sizeof(chunk->key_differs));
}

/* Notes whether the last but one and the last record of the chunk are in order. */
static void
note_variable_order(Chunk *chunk, const char *record)
{
	uint64 previous_offset = *(uint64 *) (chunk->base + chunk->front - sizeof(uint64));
	int order = record_compare_keys(chunk->base + previous_offset, record);

	chunk->ascending &= order <= 0;
	chunk->descending &= order > 0;
}

/* Adds the entry of the record that is the lowest one, whose first word is known. */
static inline void
append_entry(Chunk *chunk, uint64 first_word)
{
	uint64 *entry = (uint64 *) (chunk->base + chunk->front);

	entry[0] = first_word;
	entry[1] = chunk->back;
	chunk->front += chunk->entry_size;
	chunk->nrows++;
}

char *
chunk_append_variable(Chunk *chunk, const uint8 *key, Size key_size, Size row_size)
{
	Size padded_size = TYPEALIGN(8, key_size);
	char *record;
	char *key_place;

	chunk->back -= RECORD_HEADER_SIZE + padded_size + row_size;
	record = chunk->base + chunk->back;
	key_place = record + RECORD_HEADER_SIZE;
	*(uint64 *) record = key_size | (row_size == 0 ? RECORD_KEY_ALONE : 0);
	if (padded_size > 0)
		*(uint64 *) (key_place + padded_size - sizeof(uint64)) = 0;
	memcpy(key_place, key, key_size);

	if ((chunk->ascending || chunk->descending) && chunk->nrows > 0)
		note_variable_order(chunk, record);
	append_entry(chunk, padded_size > 0 ? *(uint64 *) key_place : 0);
	return key_place + padded_size;
}

/* ---------------------------------------------------------------- keys whose tails are in the rows */

static char *
append_with_head(Chunk *chunk, const RecordKey *key, Size row_size)
{
	Size head = record_split_head(key->tail_start);
	Size shift = head - key->tail_start + key->tail_offset;
	char *record;

	chunk->back -= RECORD_HEADER_SIZE + head + row_size;
	record = chunk->base + chunk->back;
	*(uint64 *) record = RECORD_TAIL_IN_ROW | (uint64) (head / sizeof(uint64)) << RECORD_HEAD_BIT |
						 (uint64) shift << RECORD_SHIFT_BIT | key->size;
	memcpy(record + RECORD_HEADER_SIZE, key->bytes, head);
	return record + RECORD_HEADER_SIZE + head;
}

char *
chunk_append_record(Chunk *chunk, const RecordKey *key, Size row_size)
{
	switch (key->kind)
	{
		case RECORD_WITHOUT:
			chunk->back -= row_size;
			return chunk->base + chunk->back;
		case RECORD_WITH_HEAD:
			return append_with_head(chunk, key, row_size);
		default:
			return chunk_append_variable(chunk, key->bytes, key->size, row_size);
	}
}

StaticAssertDecl(offsetof(MinimalTupleData, t_infomask2) > RECORD_HEADER_SIZE,
				 "a MinimalTuple has padding for a record's header and a byte");

/* The record is the row, which is written: what is to be known of the key goes to its padding. */
static void
note_key_in_row(char *record, const RecordKey *key)
{
	uint64 length = ((MinimalTuple) record)->t_len;

	*(uint64 *) record = RECORD_TAIL_IN_ROW | RECORD_IS_ROW | (uint64) key->size << RECORD_ROW_LENGTH_BIT |
						 (uint64) key->tail_offset << RECORD_ROW_TAIL_BIT | length;
	record[RECORD_HEADER_SIZE] = (char) key->bytes[0];
}

void
chunk_commit_record(Chunk *chunk, const RecordKey *key)
{
	char *record = chunk->base + chunk->back;

	if (key->kind == RECORD_WITH_KEY)
		return; /* chunk_append_variable has */
	if (key->kind == RECORD_WITHOUT)
		note_key_in_row(record, key);
	if ((chunk->ascending || chunk->descending) && chunk->nrows > 0)
		note_variable_order(chunk, record);
	append_entry(chunk, KEY_WORD_TO_HOST(record_key_word(record, 0)));
}

/* ---------------------------------------------------------------- rows of another chunk */

/* Notes the order and the keys of what another chunk has seen pass, and now is behind the chunk's own. */
static void
note_adopted(Chunk *chunk, const Chunk *from)
{
	const uint64 *first = (const uint64 *) chunk->base;
	const uint64 *adopted = (const uint64 *) (chunk->base + chunk->front);

	for (int i = 0; i < chunk->key_width / sizeof(uint64); i++)
		chunk->key_differs[i] |= from->key_differs[i] | (adopted[i] ^ first[i]);
	chunk->ascending = chunk->nrows == 0 && from->ascending;
	chunk->descending = chunk->nrows == 0 && from->descending;
}

void
chunk_adopt_copy(Chunk *chunk, const Chunk *from)
{
	uint64 shift = chunk->back - from->size;

	Assert(chunk->entry_size == from->entry_size && chunk_has_rows(chunk));
	if (from->nrows == 0)
		return;
	note_adopted(chunk, from);
	for (uint64 i = 1; i <= from->nrows; i++)
		*(uint64 *) (chunk->base + chunk->front + i * chunk->entry_size - sizeof(uint64)) += shift;
	chunk->front += from->front;
	chunk->back -= from->size - from->back;
	chunk->nrows += from->nrows;
}

void
chunk_copy(Chunk *to, const Chunk *from)
{
	Size row_bytes = from->size - from->back;

	memcpy(to->base + to->front, from->base, from->front);
	memcpy(to->base + to->back - row_bytes, from->base + from->back, row_bytes);
	chunk_adopt_copy(to, from);
}

/* The row, or record, that an entry says. */
static const char *
entry_record(const Chunk *chunk, const char *entry)
{
	return chunk->base + *(const uint64 *) (entry + chunk->entry_size - sizeof(uint64));
}

/* ---------------------------------------------------------------- taking rows out */

/* Moves a row, or record, to the lowest place in use, which is never below where it stands. */
static char *
keep_record(Chunk *chunk, const char *record, Size size)
{
	chunk->back -= size;
	return memmove(chunk->base + chunk->back, record, size);
}

static void
keep_fixed(Chunk *chunk, const char *entry, const char *row, Size row_size)
{
	char *to = memmove(chunk_reserve_key(chunk), entry, chunk->key_width);

	if (chunk_has_rows(chunk))
	{
		(void) keep_record(chunk, row, row_size);
		*(uint64 *) (to + chunk->key_width) = chunk->back;
	}
	chunk_commit_fixed(chunk, chunk->key_width);
}

static void
keep_variable(Chunk *chunk, const char *entry, Size record_size)
{
	uint64 first_word = ((const uint64 *) entry)[0];
	uint64 offset = ((const uint64 *) entry)[1];
	char *record = keep_record(chunk, chunk->base + offset, record_size);

	if ((chunk->ascending || chunk->descending) && chunk->nrows > 0)
		note_variable_order(chunk, record);
	append_entry(chunk, first_word);
}

/*
 * Rows are gone through as they came: downwards in memory, so that those still to be looked at are below
 * where the kept ones go.
 */
uint64
chunk_keep_only(Chunk *chunk, ChunkPredicate keep, void *arg)
{
	bool fixed = chunk->key_width > 0;
	uint64 nrows = chunk->nrows;
	const char *end = chunk->base + chunk->size;

	chunk_reset(chunk);
	for (uint64 i = 0; i < nrows; i++)
	{
		const char *entry = chunk->base + i * chunk->entry_size;
		const char *record = chunk_has_rows(chunk) ? entry_record(chunk, entry) : end;
		Size size = end - record;

		end = record;
		if (fixed ? !keep((const uint8 *) entry, chunk->key_width, arg)
				  : !keep((const uint8 *) record_key(record), record_key_length(record), arg))
			continue;
		if (fixed)
			keep_fixed(chunk, entry, record, size);
		else
			keep_variable(chunk, entry, size);
	}
	return nrows - chunk->nrows;
}
