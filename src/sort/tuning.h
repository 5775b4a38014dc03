/*
 * sort/tuning.h
 *		The tuned constants of the host-memory sorts.  Constants that other rooms need are in base/limits.h.
 *
 * Measured with bench/cpu/cpu_sort on a 2-core Intel Xeon (Sapphire Rapids class, 2.3 GHz, 2 MB L2), gcc 12
 * -O3, 2026-11-21, other work on the machine: +-1 ns in 27 a row for 20 million uniform one-word keys.
 */
#ifndef GPUSORT_SORT_TUNING_H
#define GPUSORT_SORT_TUNING_H

#include "base/limits.h"

/* The most buckets of one distribution, as a power of two. */
#define SORT_MAX_LOG_BUCKETS 10

/* Distribution stops where the buckets are expected to hold this many items; 30 and 40 are 2 ns slower. */
#define SORT_TARGET_BASE 20

/*
 * Samples taken per bucket: out of the chunks, and out of a bucket in the caches.  In the caches 4 samples
 * cost 5.3 ns a row and 2 cost 2.8, while 1 gives 0.5 back in larger base cases.
 */
#define SORT_OVERSAMPLING_CHUNKS 16
#define SORT_OVERSAMPLING_ITEMS 2

/* Items unpacked or classified at a time; also the distance between checks for interrupts. */
#define SORT_BLOCK 240

/* Items read or copied one after the other between checks for interrupts. */
#define SORT_COPY_BLOCK 65536

/* The most nested distributions before qsort takes over. */
#ifndef SORT_MAX_DEPTH
#define SORT_MAX_DEPTH 16
#endif

/* Keys that walk down the splitter tree together; a divisor of SORT_BLOCK.  More run out of registers. */
#define SORT_TREE_WIDTH 5

/*
 * Bytes ahead of each write to a bucket at which the scatter out of the chunks fetches the cache line: 6.2
 * instead of 17 ns a row, +-0.5.
 */
#define SORT_WRITE_AHEAD 128
#define SORT_CACHE_LINE 64

/* The number of items ahead at which string records are prefetched. */
#define SORT_PREFETCH_DISTANCE 24

/*
 * Rows that are prefetched together, for a process that reads them in order.  A prefetch that misses the TLB
 * can delay the instructions after it until the page is found (AMD Zen 5, in a virtual machine).  One
 * prefetch a row, with the work on a row in between, took 250 ns each.  A batch of prefetches took 25 ns a
 * row, because they wait at the same time.  8, 16 and 32 are alike.
 */
#define SORT_ROW_BATCH 16

/* Segments of at most this many strings are sorted by insertion. */
#define SORT_SMALL_SEGMENT 24

/* The number of small segments whose records are fetched from memory at a time. */
#define SORT_FETCHED_SEGMENTS 12

/* The number of strings of a segment that tell the length of the common prefix. */
#define SORT_PREFIX_SAMPLE 16

/*
 * A segment of at least SORT_STAIRCASE_MIN strings is a staircase if SORT_STAIRCASE_STEPS of the samples
 * leave the longest one at different depths, each at least SORT_STAIRCASE_BYTES beyond the depth at which the
 * first sample left it.  Depths beyond SORT_STAIRCASE_REACH are not compared.  100,000 strings of up to 5000
 * bytes: 0.75 instead of 10.2 us each, +-0.1.
 */
#define SORT_STAIRCASE_MIN 64
#define SORT_STAIRCASE_STEPS 4
#define SORT_STAIRCASE_BYTES 64
#define SORT_STAIRCASE_REACH 65536

/*
 * SORT_SLICE_ROWS: the most rows of a chunk that a process takes at a time, when several sort together.  If
 * there are few rows, there are SORT_SLICES_PER_PROCESS slices for each process.  A process takes at most 1 /
 * SORT_EXTRA_SLICES more than its share.
 */
#ifndef SORT_SLICE_ROWS
#define SORT_SLICE_ROWS 8192
#endif
#define SORT_SLICES_PER_PROCESS 32
#define SORT_EXTRA_SLICES 4

/*
 * For each process: the least buckets of the first distribution, and the pieces of work that buckets are put
 * together to.
 */
#define SORT_BUCKETS_PER_PROCESS 16
#define SORT_TASKS_PER_PROCESS 32

/*
 * The most buckets of all distributions by all processes together: one for SORT_ROWS_PER_BUCKET rows, up to
 * SORT_PARALLEL_BUCKETS, or the buckets of SORT_FULL_ROUNDS rounds that distribute all rows.
 */
#define SORT_ROWS_PER_BUCKET 64
#define SORT_PARALLEL_BUCKETS 16384
#define SORT_FULL_ROUNDS 4

/* The most nested distributions by all processes. */
#define SORT_PARALLEL_ROUNDS 64

#endif /* GPUSORT_SORT_TUNING_H */
