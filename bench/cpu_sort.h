/*
 * cpu_sort.h
 *		What the parts of cpu_sort share.
 */
#ifndef GPUSORT_CPU_SORT_H
#define GPUSORT_CPU_SORT_H

#include "postgres.h"

#include "chunk.h"

#define CHUNK_SIZE ((Size) 8 * 1024 * 1024)

/* cpu_sort_server.c: the server's part, memory that is counted, and random numbers. */
extern Size live_bytes;			/* allocated now */
extern Size peak_bytes;			/* the most since it was last set */
extern uint64 random_state;

extern uint64 random64(void);
extern uint64 random_below(uint64 n);
extern double now_ns(void);
extern Chunk *make_chunk(Size size);
extern void free_chunks(Chunk *chunk);
extern void fail(const char *what, const char *name, uint64 n, int words) pg_attribute_noreturn();

/* cpu_sort_strings.c: variable keys. */
extern void check_strings(const uint64 *sizes, int nsizes);
extern void bench_strings(uint64 n, const char *only);

#endif							/* GPUSORT_CPU_SORT_H */
