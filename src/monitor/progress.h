/*
 * monitor/progress.h
 *		How far running sorts are, for the view pg_stat_progress_gpusort.
 */
#ifndef GPUSORT_MONITOR_PROGRESS_H
#define GPUSORT_MONITOR_PROGRESS_H

#include "postgres.h"

/* Rows are noted so many at a time: what is done for every one must cost next to nothing. A power of two. */
#define PROGRESS_ROWS 4096

typedef enum ProgressPhase
{
	PROGRESS_WAITING, /* for the device to take the sort */
	PROGRESS_READING,
	PROGRESS_SORTING,
	PROGRESS_VERIFYING, /* the order, where keys only guess at it */
	PROGRESS_WRITING,	/* runs */
	PROGRESS_MERGING,	/* them */
	PROGRESS_RETURNING,
	PROGRESS_PHASES
} ProgressPhase;

typedef struct Progress Progress;

/* Who does a sort (device/sorter.h); here it is only told from others. */
typedef struct Sorter Sorter;

/* The shared memory that the view takes, and its set-up when the server starts. */
extern Size progress_shmem_size(void);
extern void progress_shmem_init(void);

/* For sorts one after the other.  When CurrentMemoryContext is deleted or reset, the sort is over. */
extern Progress *progress_create(void);

/* A sort of so many rows, by estimate, fed by so many processes, begins; it waits for the device. */
extern void progress_start(Progress *progress, const char *device, double expected_rows, int processes);

/* This sorter does it. */
extern void progress_set_sorter(Progress *progress, const Sorter *sorter);

/* So many processes fed it. */
extern void progress_note_processes(Progress *progress, int processes);

/* So many rows were returned since it began. */
extern void progress_note_returned(Progress *progress, uint64 rows);

/* The sort is over. */
extern void progress_end(Progress *progress);

/* The sorter enters a phase; returns the one that it leaves. */
extern ProgressPhase progress_enter(const Sorter *sorter, ProgressPhase phase);

/* So many more rows and bytes have been read; by a parallel worker, for its leader's sort. */
extern void progress_note_fed(const Sorter *sorter, uint64 rows, uint64 bytes);

#endif /* GPUSORT_MONITOR_PROGRESS_H */
