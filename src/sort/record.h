/*
 * sort/record.h
 *		The records of variable keys in chunks: header, key, row.
 *
 * Where rows can be made of their keys most records have no row, and RECORD_KEY_ALONE in the length of the
 * key says so.
 *
 * A key that ends with a string as it stands in the row may have its tail read there: the record then has the
 * head of the key alone, as many multiples of 8 bytes as are not all the row's, and RECORD_TAIL_IN_ROW in the
 * length says so.  If all that is before the string is one byte, the record is nothing but the row, and what
 * is to be known of the key stands where a MinimalTuple has padding, with RECORD_IS_ROW.  Such records are
 * for the host's sort, since gpusortd knows none.
 *
 * The functions are in chunk.c.
 */
#ifndef GPUSORT_SORT_RECORD_H
#define GPUSORT_SORT_RECORD_H

#include "postgres.h"

#include "access/htup_details.h"

#include "sort/chunk.h"

#define RECORD_HEADER_SIZE sizeof(uint64)
#define RECORD_KEY_ALONE (UINT64CONST(1) << 63)

/*
 * Where the tail is in the row, the length has 32 bits.  Then comes by how many bytes the tail is further on
 * than it would be in the record, and how many words the head has.
 */
#define RECORD_TAIL_IN_ROW (UINT64CONST(1) << 62)
#define RECORD_SHIFT_BIT 32
#define RECORD_HEAD_BIT 47
#define RECORD_SHIFT_MAX 0x7FFF
#define RECORD_HEAD_WORDS_MAX 0x3FFF

/*
 * Where the record is the row, t_len has these 32 bits.  Then comes where in the row the tail is, and the
 * length of the key.  The key's first byte is the next one, which belongs to the padding, too.
 */
#define RECORD_IS_ROW (UINT64CONST(1) << 61)
#define RECORD_ROW_TAIL_BIT 32
#define RECORD_ROW_TAIL_MAX 0xFFF
#define RECORD_ROW_LENGTH_BIT 44
#define RECORD_ROW_LENGTH_MAX 0x1FFFF

static inline bool
record_tail_is_in_row(const char *record)
{
	return (*(const uint64 *) record & RECORD_TAIL_IN_ROW) != 0;
}

/* Then the tail is in the row, too. */
static inline bool
record_is_row(const char *record)
{
	return (*(const uint64 *) record & RECORD_IS_ROW) != 0;
}

static inline Size
record_key_length(const char *record)
{
	uint64 header = *(const uint64 *) record;

	if ((header & RECORD_IS_ROW) != 0)
		return (header >> RECORD_ROW_LENGTH_BIT) & RECORD_ROW_LENGTH_MAX;
	return (header & RECORD_TAIL_IN_ROW) != 0 ? (uint32) header : header & ~RECORD_KEY_ALONE;
}

static inline bool
record_has_row(const char *record)
{
	return (*(const uint64 *) record & RECORD_KEY_ALONE) == 0;
}

/* The key, or what comes before its tail. */
static inline const char *
record_key(const char *record)
{
	return record + RECORD_HEADER_SIZE;
}

/* Bytes of the key that the record has beside the row, zero padding included. */
static inline Size
record_head_size(const char *record)
{
	uint64 header = *(const uint64 *) record;

	if ((header & RECORD_IS_ROW) != 0)
		return 0;
	if ((header & RECORD_TAIL_IN_ROW) != 0)
		return ((header >> RECORD_HEAD_BIT) & RECORD_HEAD_WORDS_MAX) * sizeof(uint64);
	return TYPEALIGN(8, record_key_length(record));
}

/* That much of a key whose tail begins so far from its start and is in the row. */
static inline Size
record_split_head(Size tail_start)
{
	return TYPEALIGN(8, Max(tail_start, 1));
}

/* Where in the key the tail begins that is in the row. */
static inline Size
record_tail_start(const char *record)
{
	return record_is_row(record) ? 1 : record_head_size(record);
}

/*
 * How much further on than in the record the tail of the key is, which may be less than nothing; 0: nothing
 * of the key is elsewhere.
 */
static inline Size
record_tail_shift(const char *record)
{
	uint64 header = *(const uint64 *) record;

	if ((header & RECORD_IS_ROW) != 0)
		return ((header >> RECORD_ROW_TAIL_BIT) & RECORD_ROW_TAIL_MAX) - RECORD_HEADER_SIZE - 1;
	return (header & RECORD_TAIL_IN_ROW) != 0 ? (header >> RECORD_SHIFT_BIT) & RECORD_SHIFT_MAX : 0;
}

/* The tail of a key that is in the row. */
static inline const char *
record_tail(const char *record)
{
	return record_key(record) + record_tail_start(record) + record_tail_shift(record);
}

/* Bytes of the record before the row. */
static inline Size
record_row_offset(const char *record)
{
	return record_is_row(record) ? 0 : RECORD_HEADER_SIZE + record_head_size(record);
}

static inline MinimalTuple
record_row(const char *record)
{
	return (MinimalTuple) (record + record_row_offset(record));
}

/*
 * The word of a key at depth, whose bytes up to length follow each other there.  The last one is loaded from
 * where it ends: what follows may not be memory, while a tail has so many bytes before it.
 */
static inline uint64
record_tail_word(const char *place, uint64 depth, uint64 length)
{
	int missing = length - depth < sizeof(uint64) ? sizeof(uint64) - (length - depth) : 0;
	uint64 word;

	memcpy(&word, place - missing, sizeof(uint64));
	return KEY_WORD_TO_HOST(word) << (8 * missing);
}

/* The same where the record is the row: the first byte of the key is elsewhere. */
static inline uint64
record_row_word(const char *record, uint64 depth)
{
	uint64 length = record_key_length(record);
	uint64 word;

	if (depth >= length)
		return 0;
	word = record_tail_word(record_tail(record) + depth - 1, depth, length);
	if (depth == 0)
		word = (word & PG_UINT64_MAX >> 8) | (uint64) * (const uint8 *) record_key(record) << 56;
	return word;
}

/* The same where the record has the head of the key. */
static inline uint64
record_split_word(const char *record, uint64 depth)
{
	uint64 length = (uint32) * (const uint64 *) record;
	const char *place = record_key(record) + depth;

	if (depth >= length)
		return 0;
	if (depth < record_head_size(record))
		return KEY_WORD_TO_HOST(*(const uint64 *) place);
	return record_tail_word(place + record_tail_shift(record), depth, length);
}

/* The key's word at depth, in host order; zero behind its end. */
static inline uint64
record_key_word(const char *record, uint64 depth)
{
	if (record_is_row(record))
		return record_row_word(record, depth);
	if (record_tail_is_in_row(record))
		return record_split_word(record, depth);
	if (depth >= record_key_length(record))
		return 0;
	return KEY_WORD_TO_HOST(*(const uint64 *) (record_key(record) + depth));
}

/* The key in one piece: the record's, or put together in the buffer, which has room for it. */
extern const char *record_whole_key(const char *record, char *buffer);

/*
 * Orders two records by their keys: less than, equal to or more than 0.  As keys end in no zero byte, of two
 * that agree as far as both go, the longer one is the greater.
 */
extern int record_compare_keys(const char *a, const char *b);

/* What a record has of its key, beside the row. */
typedef enum RecordKind
{
	RECORD_WITH_KEY,  /* all of it */
	RECORD_WITH_HEAD, /* what is before the tail, and to the end of that word */
	RECORD_WITHOUT	  /* nothing beside the row */
} RecordKind;

/* A variable key on its way to a record. */
typedef struct RecordKey
{
	const uint8 *bytes;
	Size size;
	RecordKind kind;
	Size tail_start;  /* unless the record has all of it: from there to its end the key is */
	Size tail_offset; /* what the row has from here on */
} RecordKey;

/*
 * The key is what the row has from tail_offset on, from tail_start to its end: then the record has the least
 * that it may have; but for a few bytes of tail no head is made.
 */
extern void record_key_share_row(RecordKey *key, Size tail_start, Size tail_offset);

/* Adds a record; returns where the caller writes the row.  When that is written, it is to be committed. */
extern char *chunk_append_record(Chunk *chunk, const RecordKey *key, Size row_size);
extern void chunk_commit_record(Chunk *chunk, const RecordKey *key);

/* Bytes that chunk_append_variable takes. */
static inline Size
chunk_variable_size(Size key_size, Size row_size)
{
	return chunk_entry_size(0, true) + RECORD_HEADER_SIZE + TYPEALIGN(8, key_size) + row_size;
}

/* Bytes that chunk_append_record takes. */
static inline Size
chunk_record_size(const RecordKey *key, Size row_size)
{
	switch (key->kind)
	{
		case RECORD_WITHOUT:
			return chunk_entry_size(0, true) + row_size;
		case RECORD_WITH_HEAD:
			return chunk_variable_size(record_split_head(key->tail_start), row_size);
		default:
			return chunk_variable_size(key->size, row_size);
	}
}

#endif /* GPUSORT_SORT_RECORD_H */
