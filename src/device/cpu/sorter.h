/*
 * device/cpu/sorter.h
 *		The cpu device's sorter, and the declarations that the files of the cpu device share.
 *
 * Private to this folder.
 *
 * A CpuSorter belongs to one process, and therefore needs no lock.  Data that processes share are in
 * SharedChunks (shared_chunks.h).  The sorter's places are the memory that processes share, if there are
 * several, then the process's own memory.  The sorter is fed, then performed: with all rows in memory
 * (sorted), or with runs (external, or ranges if each process wrote its own).  It never sets base.failure:
 * errors here are PostgreSQL's errors of memory or temporary files.
 */
#ifndef GPUSORT_DEVICE_CPU_SORTER_H
#define GPUSORT_DEVICE_CPU_SORTER_H

#include "postgres.h"

#include "device/cpu/shared_chunks.h"
#include "device/sorter.h"
#include "files/external_sort.h"
#include "files/run_ranges.h"
#include "key/coded.h"
#include "sort/sorted_rows.h"
#include "sort/value_ranks.h"

typedef struct CpuSorter
{
	Sorter base;
	const SortKey *key;		 /* of the rows that are fed now */
	const SortKey *plain;	 /* of runs: without codes */
	const SortKey *coded;	 /* with codes; NULL: no row has codes */
	SortKeyTables *tables;	 /* then: of the values that get codes */
	ValueRanks *ranks;		 /* of the values in runs; NULL: none */
	TupleDesc complete_rows; /* descriptor of rows that hold all their sort columns; NULL: they do not */
	Size limit;
	/* the part of the limit for each process that was expected; 0: the limit is for all processes */
	Size process_memory;
	int planned; /* processes, this one included */
	bool random_access;
	MemoryContext context; /* holds all memory of the sorter */
	SorterStats stats;

	Place shared_place;
	SharedChunks *shared; /* the share; NULL: this process alone feeds */
	Place own_place;
	ChunkPool own;

	/* Each process writes what does not fit (joint_spill.h). */
	FileSet *files;	   /* NULL: only this process takes part in the sort */
	bool apart;		   /* has this process gone apart, or was it apart from the start? */
	Size held;		   /* bytes that the process had when it went apart */
	Size noted_memory; /* bytes of the process's memory that count in the memory of all */
	bool published;	   /* can all runs be read? */
	RunRanges *ranges; /* the rows of the runs; NULL: no process has read them yet */

	ExternalSort *external; /* NULL: all rows are in memory, in sorted once performed */
	SortedRows sorted;
	WindowReader reader; /* its windows: NULL if no process helps */
} CpuSorter;

/* ---- chunks.c: the process's own memory, and runs ---- */

/* Opens the place that is the process's own memory.  Beyond the limit this place is drained into a run. */
extern void cpu_open_own_place(CpuSorter *sorter);

/* Counts the rows that the process has in memory. */
extern void cpu_count_rows(CpuSorter *sorter);

/* Makes the sort external: it has runs from now on. */
extern void cpu_begin_external(CpuSorter *sorter);

/*
 * cpu_sort_chunks sorts the filled chunks in memory.  cpu_spill sorts them into a run; then the chunks are
 * empty.
 */
extern void cpu_sort_chunks(CpuSorter *sorter);
extern void cpu_spill(CpuSorter *sorter);

/* Writes the sorted rows as a run. */
extern void cpu_add_run(CpuSorter *sorter);

/* ---- coding.c: codes of values in keys ---- */

/* Has this process make keys with codes, if the sort has tables of values. */
extern void cpu_begin_coding(CpuSorter *sorter, SortKey *coded);

/* end_coding of the device. */
extern void cpu_end_coding(Sorter *sorter, void (*feed_again)(Chunk *chunk, void *arg), void *arg);

/* No row comes any more: keys have no codes if coding has ended in any process. */
extern void cpu_settle_coding(CpuSorter *sorter);

/* Returns the key that the filled chunks of this process have. */
extern const SortKey *cpu_key_of_chunks(const CpuSorter *sorter);

/* Replaces codes by ranks in the filled chunks of this process, which all have codes or none. */
extern void cpu_rank_chunks(CpuSorter *sorter);

/* ---- joint_sort.c: the processes that fed sort together ---- */

/*
 * To be called by every process that entered, when all have read all of their input and the sort is closed.
 * Sorts the rows of the chunks, if the memory limit allows it and it pays, and returns when that is done.
 * Otherwise is_sorted stays false, and the leader sorts alone.  Checks for interrupts.  sorter: this
 * process's sorter, for the view of its progress.
 */
extern void joint_sort(SharedChunks *shared, int process, const SortKey *key, const Sorter *sorter);

/* Returns the bytes of the chunks, and of sorting them together. */
extern Size joint_sort_memory(const SharedChunks *shared, const SortKey *key);

/* Called later, by any process: returns the rows in order, if is_sorted says that they are. */
extern void joint_sort_rows(const SharedChunks *shared, const SortKey *key, SortedRows *sorted);

/*
 * ---- joint_spill.c: the processes write what does not fit ----
 *
 * A process is with the others, or has gone apart, or has published its runs, in this order.  A lone worker
 * (SortTeam) is apart from the start.
 */

/*
 * Makes this process go apart, if it has not, because there is no room for all.  Sets the memory that the
 * process may have now.
 */
extern void joint_spill_go_apart(CpuSorter *sorter);

/*
 * To be called by every process that entered, when all have read all of their input and there was no room for
 * it.  Writes the rows that are left, passes the runs on, and waits until all processes have done so.  Checks
 * for interrupts.
 */
extern void joint_spill_finish(CpuSorter *sorter);

/* Does the work of joint_spill_finish for a process that shares no memory, and does not wait. */
extern void joint_spill_publish(CpuSorter *sorter);

/*
 * Called by the first process, when no other process feeds or reads: merges all runs, with the rows in
 * memory.  is_sorted: are the rows in memory sorted already?
 */
extern void joint_spill_perform(CpuSorter *sorter, bool is_sorted);

/* Makes the first row of a range the next row.  The order has nranges ranges (run_ranges.h). */
extern void joint_spill_seek(CpuSorter *sorter, int range, int nranges);

#endif /* GPUSORT_DEVICE_CPU_SORTER_H */
