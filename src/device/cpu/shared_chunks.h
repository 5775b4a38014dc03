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
#include "sort/chunk_pool.h"
#include "sort/sorted_rows.h"

/* At the start of the shared memory; the mutex of base guards all that changes. */
typedef struct SharedChunks
{
	SortShare base;
	Size limit;			  /* bytes of chunks and of sorting their rows */
	int processes;		  /* that may enter, at most */
	ChunkPool pool;		  /* chunks that no process has taken; its memory and nchunks count the others, too */
	uint64 reserved_rows; /* rows for which the chunks that are being filled, or cut, have room */
	int ncutting;		  /* processes that cut rows out: 1 or 0 */

	/* When the sort is closed (joint_sort.c): */
	char *sort_memory; /* NULL: the leader will sort alone */
	Size sort_memory_size;
	Size windows_size; /* bytes at the end of sort_memory, for windows */
	bool no_memory;	   /* the kernel has less */
	ParallelSort *sort;
	SortedRows sorted; /* the result */
	bool is_sorted;
	bool helped;			/* is the leader to be helped when it reads the result? */
	ReturnWindows *windows; /* NULL: it is not, or that does not pay, or there is no memory */

	/* When there was no room, and each process spills by itself (joint_spill.c): */
	int nleaving;		 /* processes that have begun to go apart */
	int napart;			 /* processes that have gone apart */
	int64 memory;		 /* bytes that all processes have now */
	int64 joint_memory;	 /* bytes of `memory` that no process has taken with it yet */
	int64 peak_memory;	 /* the highest value of `memory`; 0: no process has begun to go apart */
	SorterStats spilled; /* sums over the runs that all processes can read */
} SharedChunks;

/*
 * For a sort by this many processes within limit bytes; helped: is the leader to be helped when it reads?
 * NULL: there is no memory to share.  Belongs to CurrentMemoryContext.
 */
extern SharedChunks *shared_chunks_create(Size limit, int processes, bool helped);

/*
 * A chunk with room for a row of so many bytes; NULL: it would not fit within the limit, or another one has
 * not.
 */
extern Chunk *shared_chunks_take(SharedChunks *shared, const SortKey *key, Size at_least);

/* Takes back a chunk, filled.  Takes rows that are not wanted any more out of all, if there are many. */
extern void shared_chunks_put(SharedChunks *shared, Chunk *chunk);

/*
 * Makes room by cutting rows out, or waits until another process has done so, which itself waits for nobody;
 * false: no use.
 */
extern bool shared_chunks_cut_for_room(SharedChunks *shared);

/* One of so many parts of the filled chunks, and all that are empty, are this process's own from now on. */
extern void shared_chunks_collect(SharedChunks *shared, int parts, ChunkPool *own, Place *place);

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

/* A process that has gone apart has so many bytes now, instead of what was noted last. */
extern void shared_chunks_note_memory(SharedChunks *shared, Size *noted, Size bytes);

#endif /* GPUSORT_DEVICE_CPU_SHARED_CHUNKS_H */
