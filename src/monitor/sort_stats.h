/*
 * monitor/sort_stats.h
 *		What a sort did, for EXPLAIN and for counters.
 */
#ifndef GPUSORT_MONITOR_SORT_STATS_H
#define GPUSORT_MONITOR_SORT_STATS_H

#include "postgres.h"

typedef struct SorterStats
{
	const char *method; /* the algorithm in words */
	uint64 rows;
	uint64 bytes;		 /* of the keys and rows that were put */
	Size peak_memory;	 /* bytes of host memory at the highest */
	uint64 disk_bytes;	 /* bytes written to temporary files; 0: all in memory */
	int runs;			 /* sorted runs written there */
	int merge_passes;	 /* merges of all of them, the one on the fly included */
	double sort_ms;		 /* sorting in memory */
	double spill_ms;	 /* writing runs */
	double merge_ms;	 /* merging them but for the merge on the fly */
	uint64 rows_wanted;	 /* the first so many of the order; 0: all */
	uint64 rows_dropped; /* that were read, but can't be among them */
	uint64 corrections;	 /* rows that were put elsewhere, because their keys guessed wrong at the order */
	uint64 rows_helped;	 /* rows that several processes put in order for the one that reads them */
	int processes;		 /* that fed it, and sorted with the cpu device; 1: this one alone */

	/* Of devices with memory of their own; else 0. */
	Size device_memory; /* bytes at the highest */
	uint64 bytes_in;	/* bytes of keys and rows that went there */
	uint64 bytes_out;	/* and came back */
	double transfer_ms; /* copying chunks there and taking them apart, while the input is read */
	double gather_ms;	/* waiting for rows to be put in order and to come back, while they are returned */
	double queue_ms;	/* waiting for device memory that others had */
	int turns;			/* parts that it sorted one after the other; 0: it sorted all at once */
	uint64 waited_rows; /* that waited for their turn */
	uint64 waited_disk_bytes; /* of these, written to temporary files meanwhile */
} SorterStats;

/* Memory is in use, so many bytes. */
static inline void
sorter_stats_note_memory(SorterStats *stats, Size bytes)
{
	stats->peak_memory = Max(stats->peak_memory, bytes);
}

/* The rows and runs of another process count, too. */
static inline void
sorter_stats_add(SorterStats *stats, const SorterStats *more)
{
	stats->rows += more->rows;
	stats->bytes += more->bytes;
	stats->corrections += more->corrections;
	stats->disk_bytes += more->disk_bytes;
	stats->runs += more->runs;
}

/* What another sorter did for the same sort counts, too. */
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

/* Why a device can't go on, for statistics; the sorter (device/sorter.h) says it in words. */
typedef enum SortFailureReason
{
	SORT_FAILURE_NO_SERVICE,   /* nobody serves the device */
	SORT_FAILURE_DISCONNECTED, /* the service ended meanwhile, or answers no more */
	SORT_FAILURE_DEVICE_LOST,
	SORT_FAILURE_MEMORY,   /* none left on the device or for transfers */
	SORT_FAILURE_LIMIT,	   /* the session may not have another one there */
	SORT_FAILURE_PROTOCOL, /* the service does not understand us */
	SORT_FAILURE_REASONS
} SortFailureReason;

#endif /* GPUSORT_MONITOR_SORT_STATS_H */
