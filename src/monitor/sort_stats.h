/*
 * monitor/sort_stats.h
 *		The statistics of a sort, for EXPLAIN and for counters.
 */
#ifndef GPUSORT_MONITOR_SORT_STATS_H
#define GPUSORT_MONITOR_SORT_STATS_H

#include "postgres.h"

typedef struct SorterStats
{
	const char *method; /* the algorithm in words */
	uint64 rows;
	uint64 bytes;		  /* bytes of the keys and rows that were put */
	Size peak_memory;	  /* the most bytes of host memory */
	uint64 disk_bytes;	  /* bytes written to temporary files; 0: all in memory */
	int runs;			  /* sorted runs in temporary files */
	int merge_passes;	  /* merges of all runs, including the merge on the fly */
	double sort_ms;		  /* sorting in memory */
	double spill_ms;	  /* writing runs */
	double merge_ms;	  /* merging runs, without the merge on the fly */
	uint64 rows_wanted;	  /* number of the first rows that are wanted; 0: all */
	uint64 rows_dropped;  /* rows that were read and cannot be among the wanted ones */
	uint64 rows_of_group; /* number of the first rows of each group that are wanted; 0: all */
	uint64 groups;		  /* groups of which the lowest keys were kept to drop rows, about */
	bool groups_off;	  /* has a process stopped to look for rows to drop, because there were few? */
	uint64 values;		  /* values that got codes, of all coded columns; 0: keys had no codes */
	Size value_bytes;	  /* bytes of their tables */
	bool coding_ended;	  /* had keys no codes from some row on? */
	bool values_full;	  /* because there was no memory for more values? */
	uint64 corrections;	  /* rows that were moved because their keys guessed the order wrongly */
	uint64 rows_helped;	  /* rows that other processes put in order for the reader */
	int processes; /* processes that fed the sort; on the cpu device they also sorted. 1: only this process */

	/* Only for devices with their own memory; otherwise 0. */
	Size device_memory;		  /* the most bytes of device memory */
	uint64 bytes_in;		  /* bytes of keys and rows sent to the device */
	uint64 bytes_out;		  /* bytes received from the device */
	double transfer_ms;		  /* copying chunks to the device and extracting keys, while the input is read */
	double gather_ms;		  /* waiting for rows to be gathered and received, while rows are returned */
	double queue_ms;		  /* waiting for device memory that other sorts used */
	int turns;				  /* parts that were sorted in turns; 0: all rows were sorted at once */
	uint64 waited_rows;		  /* rows that waited for their turn */
	uint64 waited_disk_bytes; /* bytes of waiting rows that were written to temporary files */
} SorterStats;

/* Notes that `bytes` bytes of memory are in use. */
static inline void
sorter_stats_note_memory(SorterStats *stats, Size bytes)
{
	stats->peak_memory = Max(stats->peak_memory, bytes);
}

/* Adds the rows and runs of another process. */
static inline void
sorter_stats_add(SorterStats *stats, const SorterStats *more)
{
	stats->rows += more->rows;
	stats->bytes += more->bytes;
	stats->corrections += more->corrections;
	stats->disk_bytes += more->disk_bytes;
	stats->runs += more->runs;
}

/* Adds the figures of another sorter of the same sort. */
static inline void
sorter_stats_add_all(SorterStats *stats, const SorterStats *more)
{
	if (stats->method == NULL || more->disk_bytes > 0)
		stats->method = more->method;
	stats->rows += more->rows;
	stats->bytes += more->bytes;
	stats->peak_memory += more->peak_memory;
	stats->disk_bytes += more->disk_bytes;
	stats->runs += more->runs;
	stats->merge_passes = Max(stats->merge_passes, more->merge_passes);
	stats->sort_ms += more->sort_ms;
	stats->spill_ms += more->spill_ms;
	stats->merge_ms += more->merge_ms;
	stats->processes = Max(stats->processes, more->processes);
	stats->device_memory += more->device_memory;
	stats->bytes_in += more->bytes_in;
	stats->bytes_out += more->bytes_out;
	stats->transfer_ms += more->transfer_ms;
	stats->gather_ms += more->gather_ms;
	stats->queue_ms += more->queue_ms;
}

/* Why a device failed, for statistics; the sorter (device/sorter.h) has the reason in words. */
typedef enum SortFailureReason
{
	SORT_FAILURE_NO_SERVICE,   /* no gpusortd serves the device */
	SORT_FAILURE_DISCONNECTED, /* the service ended, or no longer answers */
	SORT_FAILURE_DEVICE_LOST,
	SORT_FAILURE_MEMORY,   /* no memory left on the device or for transfers */
	SORT_FAILURE_LIMIT,	   /* the session may not have another sort on the device */
	SORT_FAILURE_PROTOCOL, /* the service does not understand the client */
	SORT_FAILURE_REASONS,
	/* no failure of the device: values repeat too seldom for codes, and the input is read again */
	SORT_FAILURE_CODES = SORT_FAILURE_REASONS
} SortFailureReason;

#endif /* GPUSORT_MONITOR_SORT_STATS_H */
