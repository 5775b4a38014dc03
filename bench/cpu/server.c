/*
 * server.c
 *		What the sorts need of a server, random numbers, chunks.
 */
#include "postgres.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "miscadmin.h"
#include "storage/s_lock.h"
#include "utils/memutils.h"

#include "cpu/cpu_sort.h"
#include "memory/alloc.h"
#include "memory/huge_page_costs.h"
#include "memory/pages.h"

/* The server's part, as far as the sorts use it.  Memory is counted, and must be given back. */

MemoryContext CurrentMemoryContext = NULL;
volatile sig_atomic_t InterruptPending = false;

Size live_bytes;
Size peak_bytes;

#define HEADER_SIZE 64

void *
MemoryContextAllocHuge(MemoryContext context, Size size)
{
	char *p = aligned_alloc(HEADER_SIZE, TYPEALIGN(HEADER_SIZE, size) + HEADER_SIZE);

	if (p == NULL)
		abort();
	*(Size *) p = size;
	live_bytes += size;
	peak_bytes = Max(peak_bytes, live_bytes);
	return p + HEADER_SIZE;
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return MemoryContextAllocHuge(context, size);
}

void *
palloc(Size size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, size);
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

void
pfree(void *p)
{
	live_bytes -= *(Size *) ((char *) p - HEADER_SIZE);
	free((char *) p - HEADER_SIZE);
}

/* Where sorts alone are measured they come before, and whatever they take. */
bool
huge_pages_pay(void)
{
	return true;
}

void
huge_pages_note(int npages, double ms)
{
}

/* Nothing is kept for another sort. */
void *
huge_alloc(Size size)
{
	char *p = palloc(size);

	pages_provide_private(p, size);
	return p;
}

void
huge_free(void *p)
{
	pfree(p);
}

/* Nobody waits here: there is one process. */
int
s_lock(volatile slock_t *lock, const char *file, int line, const char *func)
{
	abort();
}

void
ProcessInterrupts(void)
{
}

void
#if PG_VERSION_NUM >= 160000
ExceptionalCondition(const char *condition, const char *file, int line)
#else
ExceptionalCondition(const char *condition, const char *type, const char *file, int line)
#endif
{
	fprintf(stderr, "assertion failed: %s, %s:%d\n", condition, file, line);
	abort();
}

/* Random numbers, splitmix64. */

uint64 random_state;

uint64
random64(void)
{
	uint64 z = (random_state += UINT64CONST(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

uint64
random_below(uint64 n)
{
	return random64() % n;
}

/* The processor's time: others on the machine slow it down, but don't count in full. */
double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Chunks */

Chunk *
make_chunk(Size size, int key_width, bool has_rows)
{
	Chunk *chunk = palloc(sizeof(Chunk));

	memset(chunk, 0, sizeof(Chunk));
	chunk->base = huge_alloc(size);
	chunk->size = size;
	chunk->back = size;
	chunk->key_width = key_width;
	chunk->entry_size = chunk_entry_size(key_width, has_rows);
	return chunk;
}

void
free_chunks(Chunk *chunk)
{
	while (chunk != NULL)
	{
		Chunk *next = chunk->next;

		huge_free(chunk->base);
		pfree(chunk);
		chunk = next;
	}
}

void
fail(const char *what, const char *name, uint64 n, int words)
{
	fprintf(stderr, "FAILED: %s: %s, %llu rows, %d words\n", what, name, (unsigned long long) n, words);
	exit(1);
}
