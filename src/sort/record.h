/*
 * sort/record.h
 *		The records of variable keys in chunks: header, key, row.
 *
 * If rows can be made of their keys, most records have no row.  RECORD_KEY_ALONE in the length of the key
 * marks such a record.
 *
 * If a key ends with a string as it stands in the row, the tail of the key may be read in the row.  The
 * record then has only the head of the key: the words of 8 bytes that are not completely in the row.
 * RECORD_TAIL_IN_ROW in the length marks such a record.  If only one byte is before the string, the record is
 * only the row.  The data about the key then stand in the padding of a MinimalTuple, with RECORD_IS_ROW.
 * Only the host's sort reads these two kinds of records; gpusortd does not know them.
 */
#ifndef GPUSORT_SORT_RECORD_H
#define GPUSORT_SORT_RECORD_H

#include "postgres.h"

#include "access/htup_details.h"

#include "sort/key_words.h"

#define RECORD_HEADER_SIZE sizeof(uint64)
#define RECORD_KEY_ALONE (UINT64CONST(1) << 63)

/*
 * If the tail is in the row, the length has 32 bits.  Two numbers follow: the bytes by which the tail is
 * further on than it would be in the record, and the words of the head.
 */
#define RECORD_TAIL_IN_ROW (UINT64CONST(1) << 62)
#define RECORD_SHIFT_BIT 32
#define RECORD_HEAD_BIT 47
#define RECORD_SHIFT_MAX 0x7FFF
#define RECORD_HEAD_WORDS_MAX 0x3FFF

/*
 * If the record is the row, t_len has these 32 bits.  The offset of the tail in the row, and the length of
 * the key, follow.  The next byte, which also belongs to the padding, is the first byte of the key.
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

/* Is the record the row?  Then the tail is also in the row. */
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

/* Returns the key, or the part before its tail. */
static inline const char *
record_key(const char *record)
{
	return record + RECORD_HEADER_SIZE;
}

/* Returns the bytes of the key that the record has in addition to the row, with zero padding. */
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

/*
 * Returns the bytes of the head of a key whose tail is in the row.  tail_start: bytes of the key before the
 * tail.
 */
static inline Size
record_split_head(Size tail_start)
{
	return TYPEALIGN(8, Max(tail_start, 1));
}

/* Returns the offset in the key at which the tail in the row begins. */
static inline Size
record_tail_start(const char *record)
{
	return record_is_row(record) ? 1 : record_head_size(record);
}

/*
 * Returns the bytes by which the tail of the key is further on than it would be in the record; they may be
 * negative.  0: the whole key is in the record.
 */
static inline Size
record_tail_shift(const char *record)
{
	uint64 header = *(const uint64 *) record;

	if ((header & RECORD_IS_ROW) != 0)
		return ((header >> RECORD_ROW_TAIL_BIT) & RECORD_ROW_TAIL_MAX) - RECORD_HEADER_SIZE - 1;
	return (header & RECORD_TAIL_IN_ROW) != 0 ? (header >> RECORD_SHIFT_BIT) & RECORD_SHIFT_MAX : 0;
}

/* Returns the tail of a key, which is in the row. */
static inline const char *
record_tail(const char *record)
{
	return record_key(record) + record_tail_start(record) + record_tail_shift(record);
}

/* Returns the bytes of the record before the row. */
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
 * Returns the word of a key at depth.  place: the address of the key's bytes from depth to length, which
 * follow each other.  The last word is loaded from the 8 bytes that end with the key.  The bytes behind it
 * may not be memory, but a tail has enough bytes before it.
 */
static inline uint64
record_tail_word(const char *place, uint64 depth, uint64 length)
{
	int missing = length - depth < sizeof(uint64) ? sizeof(uint64) - (length - depth) : 0;
	uint64 word;

	memcpy(&word, place - missing, sizeof(uint64));
	return KEY_WORD_TO_HOST(word) << (8 * missing);
}

/* record_key_word if the record is the row: the first byte of the key is elsewhere. */
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

/* record_key_word if the record has the head of the key. */
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

/* Returns the key's word at depth, in host order; zero behind the end of the key. */
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

/* Returns the key in one piece: in the record, or put together in the buffer, which has room for it. */
extern const char *record_whole_key(const char *record, char *buffer);

/*
 * Orders two records by their keys: less than, equal to or more than 0.  Keys do not end in a zero byte.  If
 * two keys agree up to the end of the shorter one, the longer one is greater.
 */
extern int record_compare_keys(const char *a, const char *b);

/* The part of its key that a record has in addition to the row. */
typedef enum RecordKind
{
	RECORD_WITH_KEY,  /* the whole key */
	RECORD_WITH_HEAD, /* the bytes before the tail, to the end of their last word */
	RECORD_WITHOUT	  /* only the row */
} RecordKind;

/* A variable key on its way to a record. */
typedef struct RecordKey
{
	const uint8 *bytes;
	Size size;
	RecordKind kind;
	/* unless the record has the whole key: offset in the key at which the part in the row begins */
	Size tail_start;
	Size tail_offset; /* offset in the row at which this part begins */
} RecordKey;

/*
 * Notes that the key, from tail_start to its end, stands in the row at tail_offset.  The record then has the
 * smallest part of the key that it can have.  If the tail has only a few bytes, the record keeps the whole
 * key.
 */
extern void record_key_share_row(RecordKey *key, Size tail_start, Size tail_offset);

/* Returns the bytes of a record with a key of its own. */
static inline Size
record_whole_size(Size key_size, Size row_size)
{
	return RECORD_HEADER_SIZE + TYPEALIGN(8, key_size) + row_size;
}

/* Returns the bytes of the record of a key and its row. */
static inline Size
record_size_for(const RecordKey *key, Size row_size)
{
	switch (key->kind)
	{
		case RECORD_WITHOUT:
			return row_size;
		case RECORD_WITH_HEAD:
			return record_whole_size(record_split_head(key->tail_start), row_size);
		default:
			return record_whole_size(key->size, row_size);
	}
}

#endif /* GPUSORT_SORT_RECORD_H */
