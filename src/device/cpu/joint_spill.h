/*
 * device/cpu/joint_spill.h
 *		The processes that feed a sort of the cpu device write what does not fit, and read it, together.
 *
 * A process is with the others, or has gone apart (CpuSorter.apart), or has published its runs (published),
 * in this order; a lone worker (team.h) is apart from the start.  The counts that all share are under the
 * mutex of SharedChunks.base; runs are written by one process, and read by others after the meeting in
 * joint_spill_finish.  No room in a temporary file is PostgreSQL's error, in this process and so in all.
 */
#ifndef GPUSORT_DEVICE_CPU_JOINT_SPILL_H
#define GPUSORT_DEVICE_CPU_JOINT_SPILL_H

#include "postgres.h"

#include "device/cpu/sorter.h"

/* There is no room for all: a chunk of this process's own, which spills by itself. */
extern Chunk *joint_spill_get_chunk(CpuSorter *sorter, Size at_least);

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

#endif /* GPUSORT_DEVICE_CPU_JOINT_SPILL_H */
