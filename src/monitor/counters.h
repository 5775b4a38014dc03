/*
 * monitor/counters.h
 *		Counters of sorts, for the view pg_stat_gpusort.
 */
#ifndef GPUSORT_MONITOR_COUNTERS_H
#define GPUSORT_MONITOR_COUNTERS_H

#include "postgres.h"

#include "base/declined.h"
#include "monitor/sort_stats.h"

/* Once, when the library is loaded: without shared memory each process counts for itself. */
extern void stats_init_local(void);

/* The shared memory that the counters take, and its set-up when the server starts. */
extern Size stats_shmem_size(void);
extern void stats_shmem_init(void);

/* Counts a sort that was performed, by this process; device is a device's name. */
extern void stats_count_sort(const char *device, const SorterStats *stats);

/* Counts a build of an index that is complete; its sort is counted besides. */
extern void stats_count_index_build(const char *device);

/* Counts a sort that the device could not complete. */
extern void stats_count_fallback(const char *device, SortFailureReason reason);

/* Counts a wait in a device's queue, of so many milliseconds, that ended with a place there, or in vain. */
extern void stats_count_wait(const char *device, double milliseconds, bool admitted);

/* Counts a sort of a plan, or a build of an index, that is left to PostgreSQL. */
extern void stats_count_declined(DeclinedReason reason);

#endif /* GPUSORT_MONITOR_COUNTERS_H */
