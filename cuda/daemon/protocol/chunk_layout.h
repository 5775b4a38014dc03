/*
 * chunk_layout.h
 *		What must be true of the entries of a chunk before anything is copied by them.
 *
 * src/sort/chunk.h says what a chunk is: entries upwards from its start, rows or records downwards from its
 * end, without gaps.  So entry i's row ends where entry i - 1's begins, the first one's at the chunk's end;
 * and the last one's begins at `back`.  A client may have written anything else, and may write while gpusortd
 * reads.  So both device layers copy the chunk to memory of their own first, and then ask these functions,
 * which are the same on host and device, about the copy.  What passes can't make anyone read or write outside
 * of the chunk's copy.
 */
#ifndef GPUSORTD_CHUNK_LAYOUT_H
#define GPUSORTD_CHUNK_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/protocol/protocol.h"

#ifdef __CUDACC__
#define CHUNK_FUNCTION static inline __host__ __device__
#else
#define CHUNK_FUNCTION static inline
#endif

/* The key of an entry: itself, or the first 8 bytes of one of variable length. */
CHUNK_FUNCTION uint64_t
chunk_entry_key_bytes(uint32_t key_bytes)
{
	return key_bytes > 0 ? key_bytes : 8;
}

CHUNK_FUNCTION uint64_t
chunk_entry_bytes(uint32_t key_bytes)
{
	return chunk_entry_key_bytes(key_bytes) + sizeof(uint64_t);
}

/* The copy of a chunk: its entries, its rows, and what SUBMIT said of them. */
typedef struct ChunkCopy
{
	const uint8_t *entries;
	const uint8_t *region; /* from `back` to the chunk's end */
	uint64_t rows;
	uint64_t back;
	uint64_t end; /* the chunk's bytes */
	uint32_t key_bytes;
} ChunkCopy;

/* The part of the region that belongs to an entry. */
typedef struct ChunkExtent
{
	uint64_t begin; /* in the region */
	uint64_t bytes;
	uint64_t key_bytes; /* variable keys: the key's length, and with header and padding */
	uint64_t key_part;
} ChunkExtent;

CHUNK_FUNCTION uint64_t
chunk_entry_word(const ChunkCopy *chunk, uint64_t i)
{
	return *(const uint64_t *) (chunk->entries + i * chunk_entry_bytes(chunk->key_bytes) +
								chunk_entry_key_bytes(chunk->key_bytes));
}

/* Finds the extent of entry i, and whether it is where it must be. */
CHUNK_FUNCTION bool
chunk_find_extent(const ChunkCopy *chunk, uint64_t i, ChunkExtent *extent)
{
	uint64_t begin = chunk_entry_word(chunk, i);
	uint64_t end = i > 0 ? chunk_entry_word(chunk, i - 1) : chunk->end;

	if (begin < chunk->back || end > chunk->end || begin >= end || (begin | end) % 8 != 0 ||
		(i == chunk->rows - 1 && begin != chunk->back))
		return false;
	extent->begin = begin - chunk->back;
	extent->bytes = end - begin;
	extent->key_bytes = 0;
	extent->key_part = 0;
	return true;
}

/* Is there a row, by its own account, in exactly these bytes?  A MinimalTuple begins with its length. */
CHUNK_FUNCTION bool
chunk_row_fits(const uint8_t *row, uint64_t bytes)
{
	uint64_t length = *(const uint32_t *) row;

	return length > 0 && (length + 7) / 8 * 8 == bytes;
}

/*
 * Finds the key and the row of entry i of a chunk with variable keys: the key is at begin + 8, the row at
 * begin + key_part.
 */
CHUNK_FUNCTION bool
chunk_find_record(const ChunkCopy *chunk, uint64_t i, ChunkExtent *extent)
{
	uint64_t row_bytes;

	if (!chunk_find_extent(chunk, i, extent) || extent->bytes < 2 * sizeof(uint64_t))
		return false;
	extent->key_bytes = *(const uint64_t *) (chunk->region + extent->begin);
	if (extent->key_bytes > extent->bytes - 2 * sizeof(uint64_t))
		return false;
	extent->key_part = sizeof(uint64_t) + (extent->key_bytes + 7) / 8 * 8;
	row_bytes = extent->bytes - extent->key_part;
	return chunk_row_fits(chunk->region + extent->begin + extent->key_part, row_bytes);
}

/* Finds the row of entry i of a chunk with fixed keys. */
CHUNK_FUNCTION bool
chunk_find_row(const ChunkCopy *chunk, uint64_t i, ChunkExtent *extent)
{
	return chunk_find_extent(chunk, i, extent) &&
		   chunk_row_fits(chunk->region + extent->begin, extent->bytes);
}

#endif /* GPUSORTD_CHUNK_LAYOUT_H */
