/*
 * wide_sort.h
 *		Sorting keys of 16, 24 or 32 bytes.
 */
#ifndef DEVSORT_WIDE_SORT_H
#define DEVSORT_WIDE_SORT_H

#include "base/workspace.h"

/* Takes what wide_sort needs for a job of key_bytes 16, 24 or 32 from the workspace (or measures it). */
void wide_sort_measure(Workspace *workspace, const DevSortFixedJob *job);

/* Sorts a job that was checked, with n > 0.  Waits for the stream. */
DevSortStatus wide_sort(const DevSortFixedJob *job, const Workspace *workspace, cudaStream_t stream);

#endif /* DEVSORT_WIDE_SORT_H */
