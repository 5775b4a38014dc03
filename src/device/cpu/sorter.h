/*
 * device/cpu/sorter.h
 *		The cpu device's sorter: what device.c, chunks.c, cut.c and joint_spill.c know of one sort.
 *
 * Private to these files.
 *
 * A CpuSorter belongs to one process, and so needs no lock; what processes share is in SharedChunks
 * (shared_chunks.h).  It is fed, then performed: with all rows in memory (sorted), or with runs (external, or
 * ranges where each process wrote its own).  It never sets base.failure: errors here are PostgreSQL's, of
 * memory or temporary files.
 */
#ifndef GPUSORT_DEVICE_CPU_SORTER_H
#define GPUSORT_DEVICE_CPU_SORTER_H

#include "postgres.h"

#include "device/cpu/shared_chunks.h"
#include "device/sorter.h"
#include "files/external_sort.h"
#include "files/run_ranges.h"
#include "sort/sorted_rows.h"

typedef struct CpuSorter
{
	Sorter base;
	const SortKey *key;
	TupleDesc complete_rows; /* of rows that hold all their sort columns; NULL: they don't */
	Size limit;
	Size process_memory; /* in the limit for each process that was expected; 0: it is for all */
	int planned;		 /* processes, this one included */
	bool random_access;
	MemoryContext context; /* all that the sorter holds */
	SorterStats stats;

	Chunk *chunks; /* filled, in feed order */
	Chunk **chunks_end;
	Chunk *empty_chunks;  /* from an earlier run */
	Chunk *open_chunks;	  /* partly filled, after rows were taken out */
	uint64 cut_rows;	  /* so many rows were left then */
	Size chunk_memory;	  /* bytes of all chunks */
	Size next_chunk_size; /* 0: none was made yet */
	uint64 nrows;		  /* in the filled chunks */

	SharedChunks *shared; /* the share; NULL: this process alone feeds */
	int process;		  /* this one's number among them; -1: it does not feed with them */

	/* Each process writes what does not fit (joint_spill.h). */
	FileSet *files;	   /* NULL: this process alone has to do with the sort */
	bool apart;		   /* has this process gone apart, or was it so from the start? */
	Size held;		   /* bytes that it had then */
	Size noted_memory; /* bytes of its memory that count in that of all */
	bool published;	   /* can all runs be read? */
	RunRanges *ranges; /* their rows; NULL: nobody has read them yet */

	ExternalSort *external; /* NULL: all rows are in memory, in sorted once performed */
	SortedRows sorted;
	int64 position; /* in sorted: the row last returned, -1 before the first, nrows after the last */
	int64 mark;
	int64 range_end;	 /* the first row in sorted behind those to be read */
	WindowReader reader; /* its windows: NULL where nobody helps */
} CpuSorter;

/* Counts the rows of a filled chunk as the sorter's, or with -1 as no longer the sorter's. */
static inline void
cpu_count_chunk(CpuSorter *sorter, const Chunk *chunk, int sign)
{
	sorter->nrows += sign * (int64) chunk->nrows;
	sorter->stats.rows += sign * (int64) chunk->nrows;
	sorter->stats.bytes += sign * (int64) chunk_bytes(chunk);
}

/* A chunk in the process's own memory; spills where there is no room for it.  Takes it back, filled. */
extern Chunk *cpu_get_own_chunk(CpuSorter *sorter, Size at_least);
extern void cpu_put_own_chunk(CpuSorter *sorter, Chunk *chunk);

/* The sort has runs from now on. */
extern void cpu_begin_external(CpuSorter *sorter);

/* One of so many parts of the shared chunks that are filled becomes this process's own. */
extern void cpu_take_filled(CpuSorter *sorter, int parts);

/*
 * Takes rows that can't be wanted any more out of the filled chunks, if their number may be worth it: most of
 * them, so that memory stays small; or enough to make room, where there is none.  True: some chunk has room
 * now.
 */
extern bool cpu_cut_many(CpuSorter *sorter);
extern bool cpu_cut_for_room(CpuSorter *sorter);

/* A partly filled chunk with room for so many bytes, to be filled further, or NULL. */
extern Chunk *cpu_take_open_chunk(CpuSorter *sorter, Size at_least);

/* Partly filled chunks are taken for filled ones. */
extern void cpu_close_open_chunks(CpuSorter *sorter);

/* Sorts the filled chunks in memory. */
extern void cpu_sort_chunks(CpuSorter *sorter);

/* Sorts the filled chunks into a run; they become empty ones. */
extern void cpu_spill(CpuSorter *sorter);

/* Frees the chunks of this list, which is empty then. */
extern void cpu_free_chunks(CpuSorter *sorter, Chunk **list);

#endif /* GPUSORT_DEVICE_CPU_SORTER_H */
