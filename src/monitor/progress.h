/*
 * monitor/progress.h
 *		The progress of running sorts, for the view pg_stat_progress_gpusort.
 */
#ifndef GPUSORT_MONITOR_PROGRESS_H
#define GPUSORT_MONITOR_PROGRESS_H

#include "postgres.h"

/*
 * Rows are reported in groups of this number, because code for every row must be very cheap.  A power of two.
 */
#define PROGRESS_ROWS 4096

typedef enum ProgressPhase
{
	PROGRESS_WAITING, /* for the device to take the sort */
	PROGRESS_READING,
	PROGRESS_SORTING,
	PROGRESS_VERIFYING, /* verifying the order of keys that only guess */
	PROGRESS_WRITING,	/* writing runs */
	PROGRESS_MERGING,	/* merging runs */
	PROGRESS_RETURNING,
	PROGRESS_PHASES
} ProgressPhase;

typedef struct Progress Progress;

/* One sort on a device (device/sorter.h); here only its address is used. */
typedef struct Sorter Sorter;

/* The size of the view's shared memory, and its initialization when the server starts. */
extern Size progress_shmem_size(void);
extern void progress_shmem_init(void);

/*
 * Creates a progress for consecutive sorts.  When CurrentMemoryContext is deleted or reset, the sort ends.
 */
extern Progress *progress_create(void);

/*
 * A sort begins, and waits for the device.  expected_rows: the estimate of its rows. processes: the number of
 * processes that feed it.
 */
extern void progress_start(Progress *progress, const char *device, double expected_rows, int processes);

/* Sets the sorter of the sort. */
extern void progress_set_sorter(Progress *progress, const Sorter *sorter);

/* Sets the number of processes that fed the sort. */
extern void progress_note_processes(Progress *progress, int processes);

/* Sets the number of rows that were returned since the sort began. */
extern void progress_note_returned(Progress *progress, uint64 rows);

/* The sort is over. */
extern void progress_end(Progress *progress);

/* The sorter enters a phase.  Returns the phase before. */
extern ProgressPhase progress_enter(const Sorter *sorter, ProgressPhase phase);

/* Adds rows and bytes that were read; in a parallel worker for its leader's sort. */
extern void progress_note_fed(const Sorter *sorter, uint64 rows, uint64 bytes);

#endif /* GPUSORT_MONITOR_PROGRESS_H */
