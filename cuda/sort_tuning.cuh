/*
 * sort_tuning.cuh
 *		Every constant of the sorts that was tuned, with what it was measured on.
 */
#ifndef DEVSORT_SORT_TUNING_CUH
#define DEVSORT_SORT_TUNING_CUH

/* ---- sample sort ---- */

/* Leaves hold so many pairs on average at most: the base case wants them to fit a block of LEAF_CAPACITY. */
#define SAMPLE_LEAF_MEAN 2304

/* Samples a splitter.  Leischner, Osipov, Sanders, section 5: a = 30, 15 for wide keys. */
#define SAMPLE_OVERSAMPLING 16

/* Ways of one distribution: as few levels as these allow. */
#define SAMPLE_LOG_WAYS 9
#define SAMPLE_LOG_WAYS_MAX 11

/* A tile of the distribution is what one block counts and scatters at a time. */
#define SAMPLE_TILE_THREADS 512
#define SAMPLE_TILE_ITEMS 16
#define SAMPLE_TILE (SAMPLE_TILE_THREADS * SAMPLE_TILE_ITEMS)

/* How often an oversized leaf is sampled again before CUB's radix sort ends it. */
#define SAMPLE_MAX_DEPTH 3

/* ---- the base case: leaves sorted by one block ---- */

/* Pairs a thread; the leaf classes differ in threads a block. */
#define LEAF_ITEMS 8

/* Threads that a multiprocessor holds at a time: more hide more latency, but have fewer registers. */
#define LEAF_RESIDENT_THREADS 1536

/* Sub-buckets up to this size are ranked at once, without a look at what is in them. */
#define LEAF_SMALL_SUB_BUCKET 8

/* Comparisons a pair, on average, past which a leaf is given to the merge sort. */
#define LEAF_MAX_WORK 24

/* ---- bucket sort ---- */

/* Samples of a sublist, and buckets, at the first of two levels; more if the second would need more. */
#define BUCKET_SAMPLES 256

/* One level is enough up to so many. */
#define BUCKET_ONE_LEVEL_SAMPLES 512

/* ---- merge sort inside a block ---- */

/* Pairs a thread, odd: then consecutive threads write to different banks. */
#define MERGE_ITEMS 9

#endif							/* DEVSORT_SORT_TUNING_CUH */
