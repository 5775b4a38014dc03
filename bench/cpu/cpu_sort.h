/*
 * cpu_sort.h
 *		What the parts of cpu_sort share.
 */
#ifndef GPUSORT_CPU_SORT_H
#define GPUSORT_CPU_SORT_H

#include "postgres.h"

#include "sort/chunk.h"
#include "sort/parallel_sort.h"

#define CHUNK_SIZE ((Size) 8 * 1024 * 1024)

/* server.c: the server's part, memory that is counted, and random numbers. */
extern Size live_bytes; /* allocated now */
extern Size peak_bytes; /* the most since it was last set */
extern uint64 random_state;

/* Cases of more rows than these are few. */
#define MANY_ROWS 60000
#define MOST_ROWS 100000

extern bool runs_all(void); /* tools/test --all */
extern uint64 random64(void);
extern uint64 random_below(uint64 n);
extern double now_ns(void);
extern Chunk *make_chunk(Size size, int key_width, bool has_rows);
extern void free_chunks(Chunk *chunk);
extern void fail(const char *what, const char *name, uint64 n, int words) __attribute__((noreturn));

/* bounds.c: sorts of which the first rows are wanted. */
extern void check_bounds(void);

/* splitter_checks.c: keys that cut an order into parts. */
extern void check_splitters(void);

/* chunks.c: chunks that are put together. */
extern void check_chunks(void);

/* strings.c: variable keys. */
extern void check_strings(const uint64 *sizes, int nsizes);
extern void bench_strings(uint64 n, const char *only, int processes);

/* parallel.c: a sort by several processes, and what came of it. */
typedef struct ParallelRun
{
	void *shared; /* memory: copies of the chunks, the items */
	Size size;
	void *items;
	double wall_ns;
	double cpu_ns; /* of the process that took the most */
} ParallelRun;

extern void parallel_run(ParallelRun *run, const ParallelSortInput *input, const char *name);
extern void parallel_run_free(ParallelRun *run);
extern void print_parallel(const char *name, const ParallelSortInput *input, const ParallelRun *one,
						   const ParallelRun *many);

#endif /* GPUSORT_CPU_SORT_H */
