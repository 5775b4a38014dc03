/*
 * monitor/counters.h
 *		Counters of sorts, for the view pg_stat_gpusort.
 */
#ifndef GPUSORT_MONITOR_COUNTERS_H
#define GPUSORT_MONITOR_COUNTERS_H

#include "postgres.h"

#include "base/declined.h"
#include "monitor/sort_stats.h"

/* Call once, when the library is loaded: without shared memory each process has its own counters. */
extern void stats_init_local(void);

/* The size of the counters' shared memory, and its initialization when the server starts. */
extern Size stats_shmem_size(void);
extern void stats_shmem_init(void);

/* Counts a sort that this process completed. device: the name of the device. */
extern void stats_count_sort(const char *device, const SorterStats *stats);

/* Counts a completed index build; its sort is counted separately. */
extern void stats_count_index_build(const char *device);

/* Counts a sort that the device could not complete. */
extern void stats_count_fallback(const char *device, SortFailureReason reason);

/* Counts a wait in a device's queue, in milliseconds. admitted: did the sort get a place? */
extern void stats_count_wait(const char *device, double milliseconds, bool admitted);

/* Counts a sort of a plan, or a build of an index, that is left to PostgreSQL. */
extern void stats_count_declined(DeclinedReason reason);

/* Counts a table that CLUSTER sorts because of gpusort, instead of fetching its rows by the index. */
extern void stats_count_cluster_sort(void);

#endif /* GPUSORT_MONITOR_COUNTERS_H */
