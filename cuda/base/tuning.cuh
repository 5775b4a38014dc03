/*
 * tuning.cuh
 *		Every constant of the sorts that was tuned, with what it was measured on.
 */
#ifndef DEVSORT_SORT_TUNING_CUH
#define DEVSORT_SORT_TUNING_CUH

/* ---- sample sort ---- */

/*
 * The maximum average number of pairs of a leaf.  A leaf seldom has more pairs than the base case can sort:
 * 8192, or 4096 on small cards.
 */
#define SAMPLE_LEAF_MEAN 2304

/* Samples a splitter.  Leischner, Osipov, Sanders, section 5: a = 30, 15 for wide keys. */
#define SAMPLE_OVERSAMPLING 16

/* Ways of one distribution: as few levels as these allow. */
#define SAMPLE_LOG_WAYS 9

/* The most that two levels of DEVSORT_MAX_ROWS rows have. */
#define SAMPLE_MOST_LOG_WAYS 11

/* Cells of the table by which the buckets of a segment are found, and threads of the block that makes it. */
#define SAMPLE_LOG_CELLS 11
#define SAMPLE_CELLS (1 << SAMPLE_LOG_CELLS)
#define SAMPLE_CELL_MOST 8 /* splitters in a cell; where one has more, a tree is walked */
#define SAMPLE_PICK_THREADS 256

/* A tile of the distribution is what one block counts and scatters at a time. */
#define SAMPLE_TILE_THREADS 512
#define SAMPLE_TILE_ITEMS 16
#define SAMPLE_WIDE_TILE_ITEMS 8 /* of keys of 16 bytes */

/* How often an oversized leaf is sampled again before CUB's radix sort ends it. */
#define SAMPLE_MAX_DEPTH 3

/* ---- the base case: leaves sorted by one block ---- */

/* Pairs a thread; the leaf classes differ in threads a block. */
#define LEAF_ITEMS 8

/*
 * The number of such blocks that a multiprocessor holds at a time.  More blocks hide more latency, but have
 * fewer registers.  Devices of compute capability 7.5 hold 1024 threads, and have no shared memory for more
 * keys of 16 bytes.
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define LEAF_RESIDENT_BLOCKS(threads, key_bytes) (1024 / (threads))
#else
#define LEAF_RESIDENT_BLOCKS(threads, key_bytes) (((key_bytes) > 8 ? 1024 : 1536) / (threads))
#endif

/*
 * Blocks to launch for each that the device holds: more even out the leaves' sizes, but an empty class costs
 * more.
 */
#define LEAF_ROUNDS 4

/* Up to this number of leaves the class of small leaves is left out. */
#define LEAF_FEW 512

/* Sub-buckets up to this size are ranked at once, without a look at what is in them. */
#define LEAF_SMALL_SUB_BUCKET 8

/*
 * Comparisons a pair, on average, of a crowded leaf, past which it is worth a look which sub-buckets have but
 * one key, and of a small sample, past which it is sorted as crowded leaves are.
 */
#define LEAF_USUAL_WORK 24

/*
 * Comparisons a pair, on average, past which a leaf is given to the merge sort.  Threads of a warp that rank
 * pairs of the same sub-bucket read the same key at a time, so comparisons are cheap.
 */
#define LEAF_MAX_WORK 96

/*
 * Of leaves whose keys crowd, threads that share a key of the leaf's own sample: fewer make more parts, but
 * these are longer sorted.  2^27 low-entropy keys on an H100 (2026-11-25): with 2, 4 and 8 threads those of 8
 * bytes took 7.81, 7.04 and 7.05 ms, of 16 bytes 13.6, 12.8 and 12.6.
 */
#define LEAF_PART_THREADS 8

/*
 * The range of a leaf has 2^LEAF_CROWD_LOG_CELLS cells.  A leaf's keys crowd if LEAF_CROWD_SHARES_ALONE of
 * LEAF_CROWD_SHARES pairs of its samples are in the same cell.  They also crowd if LEAF_CROWD_SHARES_AMONG
 * are so in one of LEAF_CROWD_NEIGHBOURS leaves around it, and any pair in the leaf itself.  With 2^27
 * uniform keys no leaf has more than 9 such pairs of 120, and 34 leaves have 6 (counted on a CPU,
 * 2026-11-25).  With low-entropy keys 99 of 100 leaves are found in this way.
 */
#define LEAF_CROWD_LOG_CELLS 8
#define LEAF_CROWD_SHARES 1000
#define LEAF_CROWD_SHARES_ALONE 100
#define LEAF_CROWD_SHARES_AMONG 25
#define LEAF_CROWD_NEIGHBOURS 4

/* ---- wide keys ---- */

/* Keys of the sample that says whether keys begin alike, and from how many rows on it is taken. */
#define PREFIX_SAMPLE 1024
#define PREFIX_LEAST_ROWS (UINT64_C(1) << 22)

/* A prefix gets a code if this number of keys of the sample have it ... */
#define PREFIX_LEAST_SHARES 3

/* ... and if one key in this number has such a prefix: a code costs time, but less than a second round. */
#define PREFIX_WORTH 8

/*
 * This number of the bits that the sample's keys have in common is not a part of the prefix, because other
 * keys may differ there.
 */
#define PREFIX_SPARED_BITS 4

/* ---- bucket sort ---- */

/* Samples of a sublist, and buckets, at the first of two levels; more if the second would need more. */
#define BUCKET_SAMPLES 256

/* Up to this number of samples one level is enough. */
#define BUCKET_ONE_LEVEL_SAMPLES 512

/*
 * The number of such blocks for a multiprocessor.  With the remaining 64 registers for each thread, two
 * blocks of 512 threads, 15 pairs each, sort 2^27 pairs of 12 bytes in tiles in 3.3 ms on an H100
 * (2026-11-21); one such block at a time takes 5.3 ms.
 */
#define BUCKET_RESIDENT_BLOCKS(threads) (1024 / (threads))

/* ---- merge sort inside a block ---- */

/* Pairs a thread, odd: then consecutive threads write to different banks. */
#define MERGE_ITEMS 15

#endif /* DEVSORT_SORT_TUNING_CUH */
