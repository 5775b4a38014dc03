/*
 * sort/chunk.h
 *		Fixed-size buffers of encoded sort keys and rows.
 *
 * A chunk is the unit of everything: filling, sorting, spilling, handing out.  It holds no pointers, only
 * offsets from its own start, so that it can be moved, shared or sent away as it is.
 *
 *	  base                                                        base + size
 *	  | entry 0 | entry 1 | ... entry n-1 |   free   | row n-1 | ... | row 0 |
 *	            entries grow upwards  -->      <--  rows grow downwards
 *
 * Fixed keys (width W, a multiple of 8): an entry is W bytes of key, then the uint64 offset of the row (a
 * MinimalTuple).  Where rows can be made of their keys, the entry is the key, and there are no rows.
 *
 * Variable keys: an entry is the first 8 bytes of the key, zero-padded, then the uint64 offset of a record:
 * uint64 key length, the key zero-padded to a multiple of 8 bytes, the row (a MinimalTuple).  Where rows can
 * be made of their keys, most records have none, and RECORD_KEY_ALONE in the length says so.
 *
 * A key that ends with a string as it stands in the row may have its tail read there: the record then has the
 * head of the key alone, as many multiples of 8 bytes as are not all the row's, and RECORD_TAIL_IN_ROW in the
 * length says so.  If all that is before the string is one byte, the record is nothing but the row, and what
 * is to be known of the key stands where a MinimalTuple has padding, with RECORD_IS_ROW.  Such records are
 * for the host's sort, since gpusortd knows none.
 *
 * All offsets, and the size of every part, are multiples of 8.
 */
#ifndef GPUSORT_SORT_CHUNK_H
#define GPUSORT_SORT_CHUNK_H

#include "postgres.h"

#include "access/htup_details.h"
#include "port/pg_bswap.h"

#include "key/types.h"

/* The widest fixed key in 64-bit words. */
#define KEY_MAX_WORDS 4

typedef struct Chunk
{
	struct Chunk *next; /* the next chunk in feed order */
	char *base;			/* start of the buffer, 8-byte aligned */
	Size size;			/* bytes in the buffer */
	Size front;			/* bytes used by entries, from base upwards */
	Size back;			/* offset of the lowest row so far */
	uint64 nrows;
	uint64 max_rows; /* the chunk is full at so many rows, whatever its bytes */
	int key_width;	 /* of fixed keys; 0: variable keys */
	int entry_size;	 /* bytes from the start of an entry to that of the next */

	/* What the feed saw pass: lets a device squeeze keys and skip work. */
	bool ascending;					   /* no key is less than the one before it */
	bool descending;				   /* each key is less than the one before it */
	uint64 key_differs[KEY_MAX_WORDS]; /* fixed: bits in which a key differs from the chunk's
											 * first one, as loaded from memory */
} Chunk;

/* 8 bytes of key, as loaded from memory, as an integer that orders as they do. */
#ifdef WORDS_BIGENDIAN
#define KEY_WORD_TO_HOST(word) (word)
#else
#define KEY_WORD_TO_HOST(word) pg_bswap64(word)
#endif

/* The record of a variable key: header, key, row. */
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

/*
 * Bytes from the start of an entry to that of the next; key_width: 0 if keys are variable, which always have
 * records.
 */
static inline Size
chunk_entry_size(int key_width, bool has_rows)
{
	if (key_width == 0)
		return 2 * sizeof(uint64);
	return key_width + (has_rows ? sizeof(uint64) : 0);
}

/* Do entries say where there is a row, or a record? */
static inline bool
chunk_has_rows(const Chunk *chunk)
{
	return chunk->entry_size > chunk->key_width;
}

static inline bool
chunk_has_room(const Chunk *chunk, Size bytes)
{
	return chunk->back - chunk->front >= bytes && chunk->nrows < chunk->max_rows;
}

/* Has a filled chunk enough room to be filled further? */
static inline bool
chunk_is_open(const Chunk *chunk)
{
	return chunk->back - chunk->front >= chunk->size / 16;
}

/* Bytes of the keys and rows in the chunk. */
static inline Size
chunk_bytes(const Chunk *chunk)
{
	return chunk->front + (chunk->size - chunk->back);
}

/* Bytes of a row in a chunk. */
static inline Size
row_stored_size(MinimalTuple row)
{
	return TYPEALIGN(8, row->t_len);
}

/* Says what will be in the chunk: keys of this kind, with rows or alone. */
static inline void
chunk_set_layout(Chunk *chunk, const SortKey *key)
{
	chunk->key_width = key->width;
	chunk->entry_size = chunk_entry_size(key->width, !key->policy.alone);
}

/* Makes the chunk empty. */
extern void chunk_reset(Chunk *chunk);

/*
 * Adds a row with a fixed key to a chunk that has room for it.  The caller writes the key, of key_width
 * bytes, to the address that chunk_reserve_fixed returns, and the row to *row, which has room for row_size
 * bytes (a multiple of 8); then calls chunk_commit_fixed, which notes the order and the bits of the key.  A
 * key without a row goes to where chunk_reserve_key says.
 */
static inline char *
chunk_reserve_key(Chunk *chunk)
{
	return chunk->base + chunk->front;
}

static inline char *
chunk_reserve_fixed(Chunk *chunk, int key_width, Size row_size, char **row)
{
	char *entry = chunk_reserve_key(chunk);

	chunk->back -= row_size;
	*row = chunk->base + chunk->back;
	*(uint64 *) (entry + key_width) = chunk->back;
	return entry;
}

/*
 * Orders keys of nwords words in host order, the most significant one first: less than, equal to or more
 * than 0.
 */
static inline int
compare_host_words(const uint64 *a, const uint64 *b, int nwords)
{
	for (int i = 0; i < nwords; i++)
	{
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

/* The same of words as loaded from memory. */
static inline int
compare_key_words(const uint64 *a, const uint64 *b, int nwords)
{
	for (int i = 0; i < nwords; i++)
	{
		if (a[i] != b[i])
			return KEY_WORD_TO_HOST(a[i]) < KEY_WORD_TO_HOST(b[i]) ? -1 : 1;
	}
	return 0;
}

static inline void
chunk_commit_fixed(Chunk *chunk, int key_width)
{
	const uint64 *key = (const uint64 *) (chunk->base + chunk->front);
	const uint64 *first = (const uint64 *) chunk->base;
	Size entry_size = chunk->entry_size;
	int nwords = key_width / sizeof(uint64);

	for (int i = 0; i < nwords; i++)
		chunk->key_differs[i] |= key[i] ^ first[i];
	if ((chunk->ascending || chunk->descending) && chunk->nrows > 0)
	{
		int order = compare_key_words((const uint64 *) ((const char *) key - entry_size), key, nwords);

		chunk->ascending &= order <= 0;
		chunk->descending &= order > 0;
	}
	chunk->front += entry_size;
	chunk->nrows++;
}

/*
 * Adds a variable key of key_size bytes; returns where the caller writes the row_size bytes of the row.  0:
 * it has none.
 */
extern char *chunk_append_variable(Chunk *chunk, const uint8 *key, Size key_size, Size row_size);

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

/*
 * Makes rows the chunk's own that were copied there from another one: its entries behind those of the chunk,
 * its rows below those.  from: what they were copied of; what is at its base is not looked at.
 */
extern void chunk_adopt_copy(Chunk *chunk, const Chunk *from);

/* Copies all rows of a chunk to another one, which has room for them, behind those that are there. */
extern void chunk_copy(Chunk *to, const Chunk *from);

/* Bytes that a row of the chunk takes, entry and all. */
extern Size chunk_row_bytes(const Chunk *chunk, uint64 i);

/* Adds a copy of another chunk's row to one that has room for it.  There are rows in both. */
extern void chunk_append_copy(Chunk *chunk, const Chunk *from, uint64 i);

/* Is a row with this key to stay? */
typedef bool (*ChunkPredicate)(const uint8 *key, Size size, void *arg);

/* Takes out the rows that are not to stay, and makes room by that; returns how many. */
extern uint64 chunk_keep_only(Chunk *chunk, ChunkPredicate keep, void *arg);

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

#endif /* GPUSORT_SORT_CHUNK_H */
