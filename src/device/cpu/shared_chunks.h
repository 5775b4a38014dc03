/*
 * device/cpu/shared_chunks.h
 *		Chunks that several processes fill for one sort of the cpu device, in memory that they share.
 *
 * shared_chunks.c owns the lists of chunks and their counts; joint_sort.c owns the fields for sorting
 * together, joint_spill.c those for spilling apart.  Every process that entered takes and puts chunks until
 * the sort is closed, or one finds no room: then each takes its part of the filled ones.
 *
 * Locks: base.mutex keeps all that changes until the sort is closed.  Then process 0 alone changes the lists
 * and lays out the sort, any process may set no_memory, and a meeting of the processes (sort_share_meet)
 * stands between writing and reading; the sums of joint_spill.c stay under the mutex.  A chunk that was taken
 * is in no list, and is its holder's until it is put.
 *
 * On failure shared_chunks_create and shared_chunks_take return NULL: there is no memory within the limit, or
 * the kernel has none.  The caller spills by itself.
 */
#ifndef GPUSORT_DEVICE_CPU_SHARED_CHUNKS_H
#define GPUSORT_DEVICE_CPU_SHARED_CHUNKS_H

#include "postgres.h"

#include "device/cpu/return_windows.h"
#include "device/participants.h"
#include "key/types.h"
#include "monitor/sort_stats.h"
#include "sort/chunk.h"
#include "sort/sorted_rows.h"

/* At the start of the shared memory; the mutex of base guards all that changes. */
typedef struct SharedChunks
{
	SortShare base;
	Size limit;			  /* bytes of chunks and of sorting their rows */
	int processes;		  /* at most */
	int nchunks;		  /* handed out */
	Size chunk_memory;	  /* bytes of them */
	uint64 reserved_rows; /* that the chunks being filled may get */
	Chunk *filled;		  /* since the last collection, in the order they came */
	Chunk **filled_end;
	uint64 filled_rows; /* in them, and in those that are open */
	Chunk *open;		/* partly filled, after rows were taken out, or empty */
	bool cutting;		/* a process takes rows out; they count as reserved */
	uint64 cut_rows;	/* so many were left the last time */

	/* When the sort is closed (joint_sort.h): */
	char *sort_memory; /* NULL: the leader will sort alone */
	Size sort_memory_size;
	Size windows_size; /* bytes of it, at its end, for windows */
	bool no_memory;	   /* the kernel has less */
	ParallelSort *sort;
	SortedRows sorted; /* the result */
	bool is_sorted;
	bool helped;			/* is the leader to be helped when it reads that? */
	ReturnWindows *windows; /* then, if it pays and there is memory; else NULL */

	/* When there was no room, and each process spills by itself (joint_spill.h): */
	int nleaving;		 /* processes that go apart, or have */
	int napart;			 /* that have */
	int64 memory;		 /* bytes that all have now */
	int64 joint_memory;	 /* of these, what nobody has taken with him yet */
	int64 peak_memory;	 /* and had at the highest; 0: nobody has gone apart */
	SorterStats spilled; /* of the runs that all can read */
} SharedChunks;

/*
 * For a sort by this many processes within limit bytes; helped: is the leader to be helped when it reads?
 * NULL: there is no memory to share.  Belongs to CurrentMemoryContext.
 */
extern SharedChunks *shared_chunks_create(Size limit, int processes, bool helped);

/*
 * An empty chunk with room for a row of so many bytes; NULL: it would not fit within the limit, or another
 * one has not.
 */
extern Chunk *shared_chunks_take(SharedChunks *shared, const SortKey *key, Size at_least);

/* Takes back a chunk, filled.  Takes rows that are not wanted any more out of all, if there are many. */
extern void shared_chunks_put(SharedChunks *shared, const SortKey *key, Chunk *chunk);

/* Partly filled chunks are taken for filled ones.  For one process, when no other uses the chunks. */
extern void shared_chunks_close_open(SharedChunks *shared);

/*
 * The first ones of the filled chunks, a list, with one of so many parts of their rows, and all that are
 * empty.
 */
extern Chunk *shared_chunks_take_filled(SharedChunks *shared, int parts, Chunk **empty);

/*
 * Bytes that it takes to sort so many rows, in parts: each process its own, if there is no room for more.
 * Not less than to sort them at once.
 */
static inline Size
shared_chunks_sort_memory(const SharedChunks *shared, const SortKey *key, uint64 rows)
{
	return shared->processes * sorted_rows_memory(key, rows / shared->processes + 1);
}

/* Bytes that a process takes at least which comes when the others have filled the memory. */
static inline Size
shared_chunks_late_memory(const SharedChunks *shared)
{
	return Min((Size) 128 * 1024, shared->limit / (2 * shared->processes));
}

/* Is this chunk one of these? */
static inline bool
shared_chunks_own(const SharedChunks *shared, const Chunk *chunk)
{
	return shared != NULL && arena_contains(&shared->base.arena, chunk);
}

/* A process that has gone apart has so many bytes now, instead of what was noted last. */
extern void shared_chunks_note_memory(SharedChunks *shared, Size *noted, Size bytes);

#endif /* GPUSORT_DEVICE_CPU_SHARED_CHUNKS_H */
