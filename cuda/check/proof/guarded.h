/*
 * guarded.h
 *		Device buffers with guard zones around them.
 *
 * All buffers of a case are carved from one allocation, each with at least 4 KiB of a pattern before and
 * after it.  They begin at multiples of 16 bytes that are none of 256, end to the byte where they were asked
 * to end, and are filled with garbage.  The allocation is kept from case to case and grows as needed.
 */
#ifndef CHECK_GUARDED_H
#define CHECK_GUARDED_H

#include "check/harness/check.h"

#define GUARDED_MAX_PIECES 12

/* Zero-initialise it, except the stream. */
typedef struct Guarded
{
	cudaStream_t stream;
	char *memory;
	size_t memory_bytes;
	uint32_t *damages; /* device memory: a flag a zone */
	size_t used;
	uint64_t salt; /* of the pattern */
	int npieces;
	size_t begins[GUARDED_MAX_PIECES];
	size_t ends[GUARDED_MAX_PIECES];
} Guarded;

/* Forgets all buffers. */
void guarded_reset(Guarded *guarded, uint64_t salt);
/* Asks for a buffer; returns its number. */
int guarded_add(Guarded *guarded, size_t bytes);
/* Allocates and fills. */
bool guarded_open(Guarded *guarded, Why *why);
void *guarded_piece(const Guarded *guarded, int piece);
/* Waits for the stream.  Is the pattern still in all zones? */
bool guarded_intact(Guarded *guarded, Why *why);
/* Gives the memory back. */
void guarded_release(Guarded *guarded);

#endif /* CHECK_GUARDED_H */
