/*
 * device/cpu/joint_sort.h
 *		The processes that fed a sort of the cpu device sort it together.
 *
 * The processes prepare, provide memory, lay it out and sort, one step after the other with a meeting between
 * two of them.  Nothing is locked but the number of corrections.  If there is no memory, is_sorted stays
 * false and all return: the leader sorts alone when it performs.
 */
#ifndef GPUSORT_DEVICE_CPU_JOINT_SORT_H
#define GPUSORT_DEVICE_CPU_JOINT_SORT_H

#include "postgres.h"

#include "device/cpu/shared_chunks.h"
#include "key/types.h"
#include "sort/sorted_rows.h"

/*
 * To be called by every process that entered, when all are through with the input and the sort is closed.
 * Sorts what the chunks hold, if the memory limit allows it and it pays; returns when that is done.  Checks
 * for interrupts.  sorter: this process's, for the view of its progress.
 */
extern void joint_sort(SharedChunks *shared, int process, const SortKey *key, const Sorter *sorter);

/* Bytes of the chunks, and of sorting them together. */
extern Size joint_sort_memory(const SharedChunks *shared, const SortKey *key);

/* In any process, later: the rows in order, if is_sorted says that they are. */
extern void joint_sort_rows(const SharedChunks *shared, const SortKey *key, SortedRows *sorted);

#endif /* GPUSORT_DEVICE_CPU_JOINT_SORT_H */
