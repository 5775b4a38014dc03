/*
 * sort/tuning.h
 *		The tuned constants of the host-memory sorts, in one place; those that others must know are in
 *		base/limits.h.
 *
 * Measured with bench/cpu/cpu_sort on a 2-core Intel Xeon (Sapphire Rapids class, 2.3 GHz, 2 MB L2), gcc 12
 * -O3, 2026-11-21, other work on the machine: +-1 ns in 27 a row for 20 million uniform one-word keys.
 */
#ifndef GPUSORT_SORT_TUNING_H
#define GPUSORT_SORT_TUNING_H

#include "base/limits.h"

/* Most buckets of one distribution, as a power of two. */
#define SORT_MAX_LOG_BUCKETS 10

/* Distribution stops where the buckets are expected to hold this many items; 30 and 40 are 2 ns slower. */
#define SORT_TARGET_BASE 20

/*
 * Samples taken per bucket: out of the chunks, and out of a bucket in the caches.  There 4 cost 5.3 ns a row
 * and 2 cost 2.8, while 1 gives 0.5 back in larger base cases.
 */
#define SORT_OVERSAMPLING_CHUNKS 16
#define SORT_OVERSAMPLING_ITEMS 2

/* Items unpacked or classified at a time; also the distance between checks for interrupts. */
#define SORT_BLOCK 240

/* Items looked at or copied one after the other between checks for interrupts. */
#define SORT_COPY_BLOCK 65536

/* Distributions one inside the other before qsort takes over, at the most. */
#ifndef SORT_MAX_DEPTH
#define SORT_MAX_DEPTH 16
#endif

/* Keys that walk down the splitter tree together; a divisor of SORT_BLOCK.  More run out of registers. */
#define SORT_TREE_WIDTH 5

/*
 * The scatter out of the chunks fetches the line so many bytes ahead of each write to a bucket: 6.2 instead
 * of 17 ns a row, +-0.5.
 */
#define SORT_WRITE_AHEAD 128
#define SORT_CACHE_LINE 64

/* How many items ahead string records are prefetched. */
#define SORT_PREFETCH_DISTANCE 24

/*
 * Rows that are prefetched together, for whoever reads them in order.  A prefetch that misses the TLB can
 * hold up what comes after it until the page is found (AMD Zen 5, in a virtual machine): one a row, with the
 * work on a row in between, took 250 ns each, a batch of them 25 a row, since they wait side by side.  8, 16
 * and 32 are alike.
 */
#define SORT_ROW_BATCH 16

/* Segments of at most this many strings are sorted by insertion. */
#define SORT_SMALL_SEGMENT 24

/* How many small segments' records are on their way from memory at a time. */
#define SORT_FETCHED_SEGMENTS 12

/* How many strings of a segment tell how long the prefix may be that all share. */
#define SORT_PREFIX_SAMPLE 16

/*
 * A segment of at least so many strings is a staircase if, of those samples, these many leave the longest one
 * at different depths, each so many bytes beyond where the first one left it; further than the reach is not
 * looked.  100,000 strings of up to 5000 bytes: 0.75 instead of 10.2 us each, +-0.1.
 */
#define SORT_STAIRCASE_MIN 64
#define SORT_STAIRCASE_STEPS 4
#define SORT_STAIRCASE_BYTES 64
#define SORT_STAIRCASE_REACH 65536

/*
 * Rows of a chunk that a process takes at a time, when several sort together, at the most; few rows make so
 * many slices for each process.  One takes no more than a fourth above its share.
 */
#ifndef SORT_SLICE_ROWS
#define SORT_SLICE_ROWS 8192
#endif
#define SORT_SLICES_PER_PROCESS 32
#define SORT_EXTRA_SLICES 4

/*
 * Buckets of the first distribution, at the least, and pieces of work that buckets are put together to; for
 * each process.
 */
#define SORT_BUCKETS_PER_PROCESS 16
#define SORT_TASKS_PER_PROCESS 32

/*
 * Buckets of all distributions by all processes together, at the most: one for so many rows, up to this, or
 * as many as a few rounds have that distribute all rows.
 */
#define SORT_ROWS_PER_BUCKET 64
#define SORT_PARALLEL_BUCKETS 16384
#define SORT_FULL_ROUNDS 4

/* Distributions by all processes, one inside the other, at the most. */
#define SORT_PARALLEL_ROUNDS 64

#endif /* GPUSORT_SORT_TUNING_H */
