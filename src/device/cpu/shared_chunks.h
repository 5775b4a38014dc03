/*
 * device/cpu/shared_chunks.h
 *		Chunks that several processes fill for one sort of the cpu device, in memory that they share.
 *
 * shared_chunks.c owns the lists of chunks and their counts; joint_sort.c owns the fields for sorting
 * together, joint_spill.c the fields for spilling apart.  Every process that entered takes and puts chunks
 * until the sort is closed, or a process finds no room.  In the second case each process takes its part of
 * the filled chunks.
 *
 * Locks: base.mutex protects all that changes until the sort is closed.  Then process 0 alone changes the
 * lists and lays out the sort, any process may set no_memory, and a meeting of the processes
 * (sort_share_meet) separates writing and reading.  The sums of joint_spill.c stay under the mutex.  A chunk
 * that was taken is in no list, and only its holder uses it until it is put.
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
#include "sort/value_ranks.h"

/* At the start of the shared memory; the mutex of base guards all that changes. */
typedef struct SharedChunks
{
	SortShare base;
	Size limit;			  /* bytes of chunks and of sorting their rows */
	int processes;		  /* the most processes that may enter */
	ChunkPool pool;		  /* chunks that no process has taken; its memory and nchunks also count the others */
	uint64 reserved_rows; /* rows for which the chunks that are being filled, or cut, have room */
	int ncutting;		  /* number of processes that cut rows out: 1 or 0 */

	/* When the sort is closed (joint_sort.c): */
	char *sort_memory; /* NULL: the leader will sort alone */
	Size sort_memory_size;
	Size windows_size; /* bytes at the beginning of sort_memory, for windows */
	bool no_memory;	   /* the kernel has less memory */
	ParallelSort *sort;
	SortedRows sorted; /* the result */
	bool is_sorted;
	RankTables ranks; /* ranks of the values that have codes; n is 0: none, or there is no memory */
	pg_atomic_uint32 next_chunk; /* the next of the chunks whose codes are to be replaced */
	bool helped;				 /* will processes help the leader to read the result? */
	bool read_jointly;			 /* will all processes read ranges of the result? */
	bool few_read;				 /* will only a few rows be read, by the leader? */
	ReturnWindows *windows;		 /* NULL: no process helps, or windows do not pay, or there is no memory */

	/* When there was no room, and each process spills by itself (joint_spill.c): */
	int nleaving;		 /* processes that have begun to go apart */
	int napart;			 /* processes that have gone apart */
	int64 memory;		 /* bytes that all processes have now */
	int64 joint_memory;	 /* bytes of `memory` that no process has taken over yet */
	int64 peak_memory;	 /* the highest value of `memory`; 0: no process has begun to go apart */
	SorterStats spilled; /* sums over the runs that all processes can read */
} SharedChunks;

/*
 * Makes shared chunks for a sort by this number of processes.  limit: bytes; more: bytes of memory for other
 * things; helped: will processes help the leader to read?  NULL: there is no memory to share.  Belongs to
 * CurrentMemoryContext.
 */
extern SharedChunks *shared_chunks_create(Size limit, Size more, int processes, bool helped);

/*
 * Returns a chunk with room for a row.  at_least: bytes of this row, with its entry.  NULL: the chunk would
 * not fit within the limit, or another process has found no room.
 */
extern Chunk *shared_chunks_take(SharedChunks *shared, const SortKey *key, Size at_least);

/* Takes back a filled chunk.  Takes rows that are no longer wanted out of all chunks, if there are many. */
extern void shared_chunks_put(SharedChunks *shared, const Sorter *sorter, Chunk *chunk);

/*
 * Makes room by cutting rows out, or waits until another process has made room by this.  That process does
 * not wait.  False: there is no more room.
 */
extern bool shared_chunks_cut_for_room(SharedChunks *shared, const Sorter *sorter);

/*
 * Makes a part of the filled chunks, and all empty chunks, this process's own from now on.  parts: the part
 * is the total divided by this number.
 */
extern void shared_chunks_collect(SharedChunks *shared, int parts, ChunkPool *own, Place *place);

/*
 * Returns the bytes that sorting rows takes if each process sorts a part by itself, because there is no room
 * for more.  rows: of all parts.  The result is not less than the bytes for sorting all rows at once.
 */
static inline Size
shared_chunks_sort_memory(const SharedChunks *shared, const SortKey *key, uint64 rows)
{
	return shared->processes * sorted_rows_memory(key, rows / shared->processes + 1);
}

/* Returns the least bytes for a process that comes when the others have filled the memory. */
static inline Size
shared_chunks_late_memory(const SharedChunks *shared)
{
	return Min((Size) 128 * 1024, shared->limit / (2 * shared->processes));
}

/*
 * Notes the bytes of a process that has gone apart, in place of those noted last.  noted: the bytes noted
 * last; bytes: the bytes that the process has now.
 */
extern void shared_chunks_note_memory(SharedChunks *shared, Size *noted, Size bytes);

#endif /* GPUSORT_DEVICE_CPU_SHARED_CHUNKS_H */
