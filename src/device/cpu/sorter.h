/*
 * device/cpu/sorter.h
 *		The cpu device's sorter, and what its files know of each other.
 *
 * Private to this folder.
 *
 * A CpuSorter belongs to one process, and so needs no lock; what processes share is in SharedChunks
 * (shared_chunks.h).  Its places are the memory that processes share, if there are several, then the
 * process's own memory.  It is fed, then performed: with all rows in memory (sorted), or with runs (external,
 * or ranges where each process wrote its own).  It never sets base.failure: errors here are PostgreSQL's, of
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

	Place shared_place;
	SharedChunks *shared; /* the share; NULL: this process alone feeds */
	Place own_place;
	ChunkPool own;

	/* Each process writes what does not fit (joint_spill.h). */
	FileSet *files;	   /* NULL: this process alone has to do with the sort */
	bool apart;		   /* has this process gone apart, or was it so from the start? */
	Size held;		   /* bytes that it had then */
	Size noted_memory; /* bytes of its memory that count in that of all */
	bool published;	   /* can all runs be read? */
	RunRanges *ranges; /* their rows; NULL: nobody has read them yet */

	ExternalSort *external; /* NULL: all rows are in memory, in sorted once performed */
	SortedRows sorted;
	WindowReader reader; /* its windows: NULL where nobody helps */
} CpuSorter;

/* ---- chunks.c: the process's own memory, and runs ---- */

/* The place that is the process's own memory: past the limit it is drained into a run. */
extern void cpu_open_own_place(CpuSorter *sorter);

/* Counts the rows that the process has in memory. */
extern void cpu_count_rows(CpuSorter *sorter);

/* The sort has runs from now on. */
extern void cpu_begin_external(CpuSorter *sorter);

/* Sorts the filled chunks in memory; into a run, after which they are empty. */
extern void cpu_sort_chunks(CpuSorter *sorter);
extern void cpu_spill(CpuSorter *sorter);

/* ---- joint_sort.c: the processes that fed sort together ---- */

/*
 * To be called by every process that entered, when all are through with the input and the sort is closed.
 * Sorts what the chunks hold, if the memory limit allows it and it pays; returns when that is done.  Else
 * is_sorted stays false, and the leader sorts alone.  Checks for interrupts.  sorter: this process's, for the
 * view of its progress.
 */
extern void joint_sort(SharedChunks *shared, int process, const SortKey *key, const Sorter *sorter);

/* Bytes of the chunks, and of sorting them together. */
extern Size joint_sort_memory(const SharedChunks *shared, const SortKey *key);

/* In any process, later: the rows in order, if is_sorted says that they are. */
extern void joint_sort_rows(const SharedChunks *shared, const SortKey *key, SortedRows *sorted);

/*
 * ---- joint_spill.c: the processes write what does not fit ----
 *
 * A process is with the others, or has gone apart, or has published its runs, in this order; a lone worker
 * (SortTeam) is apart from the start.
 */

/* There is no room for all: this process goes apart, unless it has, and has what memory it may have now. */
extern void joint_spill_go_apart(CpuSorter *sorter);

/*
 * To be called by every process that entered, when all are through with the input and there was no room for
 * it: writes what is left, passes its runs on, and waits until all have.  Checks for interrupts.
 */
extern void joint_spill_finish(CpuSorter *sorter);

/* The same of a process that shares no memory, and waits for nobody. */
extern void joint_spill_publish(CpuSorter *sorter);

/*
 * In the first process, when no other one feeds or reads: merges all runs, with what is in memory, sorted
 * already or not.
 */
extern void joint_spill_perform(CpuSorter *sorter, bool is_sorted);

/* The next row is the first one of a range, one of nranges of the order (run_ranges.h). */
extern void joint_spill_seek(CpuSorter *sorter, int range, int nranges);

#endif /* GPUSORT_DEVICE_CPU_SORTER_H */
