/*
 * chunk.h
 *		Fixed-size buffers of encoded sort keys and rows.
 *
 * A chunk is the unit of everything: filling, sorting, spilling, handing out.
 * It holds no pointers, only offsets from its own start, so that it can be
 * moved, shared or sent away as it is.
 *
 *	  base                                                        base + size
 *	  | entry 0 | entry 1 | ... entry n-1 |   free   | row n-1 | ... | row 0 |
 *	            entries grow upwards  -->      <--  rows grow downwards
 *
 * Fixed keys (width W, a multiple of 8): an entry is W bytes of key, then the
 * uint64 offset of the row (a MinimalTuple).
 *
 * Variable keys: an entry is the first 8 bytes of the key, zero-padded, then the
 * uint64 offset of a record: uint64 key length, the key zero-padded to a
 * multiple of 8 bytes, the row (a MinimalTuple).
 *
 * All offsets, and the size of every part, are multiples of 8.
 */
#ifndef GPUSORT_CHUNK_H
#define GPUSORT_CHUNK_H

#include "postgres.h"

typedef struct Chunk
{
	struct Chunk *next;			/* the next chunk in feed order */
	char	   *base;			/* start of the buffer, 8-byte aligned */
	Size		size;			/* bytes in the buffer */
	Size		front;			/* bytes used by entries, from base upwards */
	Size		back;			/* offset of the lowest row so far */
	uint64		nrows;
} Chunk;

#endif							/* GPUSORT_CHUNK_H */
