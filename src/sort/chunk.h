/*
 * sort/chunk.h
 *		Fixed-size buffers of encoded sort keys and rows.
 *
 * A chunk is the unit of filling, sorting, spilling and handing out.  It holds no pointers, only offsets from
 * its own start.  Therefore it can be moved, shared or sent as it is.
 *
 *	  base                                                        base + size
 *	  | entry 0 | entry 1 | ... entry n-1 |   free   | row n-1 | ... | row 0 |
 *	            entries grow upwards  -->      <--  rows grow downwards
 *
 * Fixed keys (width W, a multiple of 8): an entry is W bytes of key, then the uint64 offset of the row (a
 * MinimalTuple).  If rows can be made of their keys, the entry is the key, and there are no rows.
 *
 * Variable keys: an entry is the first 8 bytes of the key, zero-padded, then the uint64 offset of a record:
 * uint64 key length, the key zero-padded to a multiple of 8 bytes, the row (a MinimalTuple).  If rows can be
 * made of their keys, most records have no row.  A record may have only a part of its key (record.h).
 *
 * All offsets, and the size of every part, are multiples of 8.
 */
#ifndef GPUSORT_SORT_CHUNK_H
#define GPUSORT_SORT_CHUNK_H

#include "postgres.h"

#include "access/htup_details.h"

#include "sort/key_words.h"

struct RecordKey; /* record.h */
struct SortKey;

typedef struct Chunk
{
	struct Chunk *next; /* the next chunk in feed order */
	char *base;			/* start of the buffer, 8-byte aligned */
	Size size;			/* bytes in the buffer */
	Size front;			/* bytes used by entries, from base upwards */
	Size back;			/* offset of the lowest row so far */
	uint64 nrows;
	uint64 max_rows; /* the chunk is full at this number of rows, whatever its bytes */
	int key_width;	 /* of fixed keys; 0: variable keys */
	int entry_size;	 /* bytes from the start of an entry to that of the next */

	/* Properties of the keys, noted by the feed: they let a device squeeze keys and skip work. */
	bool ascending;	 /* no key is less than the one before it */
	bool descending; /* each key is less than the one before it */
	bool ranked;	 /* fixed keys: were codes replaced by ranks (value_ranks.h)? */
	/* fixed keys: bits in which a key differs from the chunk's first one, as loaded from memory */
	uint64 key_differs[KEY_MAX_WORDS];

	/*
	 * For the process that has taken the chunk: the place that the chunk is from (device/place.h), and the
	 * part of its rows.
	 */
	struct Place *place;
	int part;
} Chunk;

/*
 * Returns the bytes from the start of an entry to the start of the next one.  key_width: 0 if keys are
 * variable; variable keys always have records.
 */
static inline Size
chunk_entry_size(int key_width, bool has_rows)
{
	if (key_width == 0)
		return 2 * sizeof(uint64);
	return key_width + (has_rows ? sizeof(uint64) : 0);
}

/* Do entries have the offset of a row or a record? */
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

/* Returns the bytes of the keys and rows in the chunk. */
static inline Size
chunk_bytes(const Chunk *chunk)
{
	return chunk->front + (chunk->size - chunk->back);
}

/* Returns the bytes of a row in a chunk. */
static inline Size
row_stored_size(MinimalTuple row)
{
	return TYPEALIGN(8, row->t_len);
}

/* Sets the layout of the chunk: keys of this kind, with rows or alone. */
extern void chunk_set_layout(Chunk *chunk, const struct SortKey *key);

/* Makes the chunk empty. */
extern void chunk_reset(Chunk *chunk);

/*
 * Adds a row with a fixed key to a chunk that has room for it.  The caller writes the key, of key_width
 * bytes, to the address that chunk_reserve_fixed returns, and the row to *row, which has room for row_size
 * bytes (a multiple of 8).  Then the caller calls chunk_commit_fixed, which notes the order and the bits of
 * the key.  A key without a row is written to the address that chunk_reserve_key returns.
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
 * Adds a variable key of key_size bytes.  Returns the address to which the caller writes the row.  row_size:
 * bytes of the row; 0: there is no row.
 */
extern char *chunk_append_variable(Chunk *chunk, const uint8 *key, Size key_size, Size row_size);

/*
 * chunk_append_record adds a record, and returns the address to which the caller writes the row.  Then the
 * caller calls chunk_commit_record.
 */
extern char *chunk_append_record(Chunk *chunk, const struct RecordKey *key, Size row_size);
extern void chunk_commit_record(Chunk *chunk, const struct RecordKey *key);

/*
 * Adds rows that were copied into the chunk from another one: its entries are behind those of the chunk, its
 * rows below those.  from: describes the chunk that they were copied of; the memory at its base is not read.
 */
extern void chunk_adopt_copy(Chunk *chunk, const Chunk *from);

/* Copies all rows of a chunk behind the rows of another chunk, which has room for them. */
extern void chunk_copy(Chunk *to, const Chunk *from);

/* Does a row with this key stay? */
typedef bool (*ChunkPredicate)(const uint8 *key, Size size, void *arg);

/* Takes out the rows that do not stay, which makes room.  Returns their number. */
extern uint64 chunk_keep_only(Chunk *chunk, ChunkPredicate keep, void *arg);

#endif /* GPUSORT_SORT_CHUNK_H */
