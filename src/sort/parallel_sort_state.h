/*
 * sort/parallel_sort_state.h
 *		State that the processes of a parallel sort share; see parallel_sort.c for its use.
 */
#ifndef GPUSORT_SORT_PARALLEL_SORT_STATE_H
#define GPUSORT_SORT_PARALLEL_SORT_STATE_H

#include "postgres.h"

#include "port/atomics.h"

#include "sort/parallel_sort.h"
#include "sort/sample_sort_tree.h"
#include "sort/tuning.h"

/* Neighbouring rows of a chunk, which a process takes at a time. */
typedef struct ParallelSlice
{
	const Chunk *chunk;
	uint64 first;	 /* the first entry in the chunk */
	uint64 position; /* number of rows in the slices before this one */
	int nrows;
	int process; /* the process that classified the slice, and will scatter it */
} ParallelSlice;

typedef enum ParallelBucketKind
{
	BUCKET_BY_WORD, /* keys may differ from the word at depth on; the items hold this word */
	BUCKET_SEGMENT, /* strings that agree before depth; the items' words have no meaning */
	BUCKET_FINISHED /* all keys are equal */
} ParallelBucketKind;

typedef struct ParallelBucket
{
	uint64 nrows;
	uint64 start; /* index of its first item */
	uint64 depth; /* keys agree before it; fixed: in words, strings: in bytes, a multiple of 8 */
	int split;	  /* the split that distributes the bucket further; -1: none */
	ParallelBucketKind kind;
	bool settled; /* sorted on demand */
} ParallelBucket;

/* A distribution: of all rows, or of one bucket.  Its own buckets have consecutive numbers. */
typedef struct ParallelSplit
{
	int first; /* its first bucket */
	int nbuckets;
	int tree_first; /* the first bucket of the tree; strings: there may be one before them and one behind */
	uint64 depth;	/* depth of the word that decides */
	uint64 from;	/* strings: all keys agree before this byte */
	const char *reference; /* strings: the record with which most keys agree between `from` and `depth` */
} ParallelSplit;

/* A row of the sample. */
typedef struct ParallelSample
{
	const ParallelSlice *slice;
	int row;	 /* row of the slice */
	int split;	 /* the split of the round that the row is in; -1: none */
	uint64 word; /* the word by which the row is distributed; strings: only in the first round */
} ParallelSample;

/* Buckets whose sorting is one piece of work: neighbours in the list of buckets in order. */
typedef struct ParallelTask
{
	uint64 nrows;
	int first;
	int nbuckets;
} ParallelTask;

struct ParallelSort
{
	int nprocesses;
	bool variable;
	SortKeyEnds ends;
	bool alone;		/* too few rows or processes: the first process sorts alone */
	bool on_demand; /* buckets are sorted when a row of theirs is asked for */
	const Chunk *chunks;
	uint64 nrows;
	KeySqueeze squeeze;
	SortItemKind item;
	uint64 huge_bucket; /* a bucket with more rows than this is distributed by all */

	char *items;
	/* each row's bucket, by position; strings: the entry has the word that the bucket is of */
	uint16 *bucket_of;

	ParallelSlice *slices;
	int nslices;
	pg_atomic_uint64 next_slice;

	int nsamples;
	ParallelSample *samples; /* samples of this round */

	int max_buckets;
	ParallelBucket *buckets;
	int nbuckets;
	int max_splits;
	ParallelSplit *splits;
	int nsplits;
	int round_first; /* the first split of this round; the last one is nsplits - 1 */
	int nrounds;
	int round_splits; /* number of splits of this round; 0: all rows are distributed */
	int max_round_splits;
	SplitterTree *trees; /* the trees of this round's splits */
	int16 *split_of; /* this round's split that distributes a bucket, counted from round_first; -1: none */
	uint64 *counts;	 /* counts by process and bucket; after the last round, the index of the next item */
	uint64 *longest; /* strings: length of the longest key, by process and split of this round */

	uint16 *order; /* the buckets that are not distributed further, in key order */
	int norder;
	ParallelTask *tasks; /* largest first */
	int ntasks;
	pg_atomic_uint64 next_task;
};

static inline uint64 *
parallel_sort_counts(const ParallelSort *sort, int process)
{
	return sort->counts + (Size) process * sort->max_buckets;
}

static inline uint64 *
parallel_sort_longest(const ParallelSort *sort, int process)
{
	return sort->longest + (Size) process * sort->max_round_splits;
}

/*
 * Returns the entry of a string: its word, as loaded from memory, and the offset of the record in the chunk.
 */
static inline uint64 *
parallel_slice_entry(const ParallelSlice *slice, int row)
{
	return (uint64 *) slice->chunk->base + (slice->first + row) * 2;
}

static inline const char *
parallel_slice_record(const ParallelSlice *slice, int row)
{
	return slice->chunk->base + parallel_slice_entry(slice, row)[1];
}

/* The most splits of a round. */
#define PARALLEL_ROUND_SPLITS(nprocesses) (2 * (nprocesses))

/* parallel_sort_splitters.c: all processes draw samples; the first process does the rest. */
extern void parallel_sort_draw_samples(ParallelSort *sort, int process);
extern void parallel_sort_choose_splitters(ParallelSort *sort);
extern void parallel_sort_end_round(ParallelSort *sort);
extern Size parallel_sort_plan_size(uint64 nrows, int nprocesses);	  /* bytes of private memory */
extern int parallel_sort_samples(uint64 nrows, int nprocesses);		  /* samples of a round */
extern int parallel_sort_round_buckets(uint64 nrows, int nprocesses); /* the most buckets of a round */

/*
 * parallel_sort_refine.c: classifies the rows of one slice that are in buckets that are distributed further.
 */
typedef struct ParallelRefiner ParallelRefiner;

extern ParallelRefiner *parallel_refiner_create(ParallelSort *sort, int process);
extern Size parallel_refiner_size(int nsplits);
extern void parallel_refiner_classify(ParallelRefiner *refiner, const ParallelSlice *slice);

#endif /* GPUSORT_SORT_PARALLEL_SORT_STATE_H */
