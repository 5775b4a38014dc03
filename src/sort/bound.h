/*
 * sort/bound.h
 *		Decides which rows of a sort can still be among the first rows that are wanted.
 *
 * A sort under a LIMIT wants its first n rows.  While its rows come, the keys of the rows that are kept are
 * counted between splitters.  As soon as n of the keys are not above a splitter, this splitter is the
 * *threshold*: a row with a greater key can no longer be wanted.  The threshold becomes lower as more rows
 * come.  Splitters above it are given up, and new splitters are taken from the keys that were kept lately.
 * Therefore the threshold stays as fine as it was.
 *
 * All processes of one sort know its SortBound, in memory that they share.  Each process that feeds the sort
 * has a BoundFilter of its own: it counts for itself, and adds its counts to the bound at intervals.  Any
 * splitters and any intervals give right thresholds.  They only decide how many rows are kept without need.
 *
 * Every row that was counted must have gone to the sort, once.  It must not be dropped as long as its key is
 * not above the threshold.
 */
#ifndef GPUSORT_SORT_BOUND_H
#define GPUSORT_SORT_BOUND_H

#include "postgres.h"

#include "port/atomics.h"

#include "base/limits.h"
#include "base/spin.h"
#include "key/types.h"
#include "sort/chunk.h"

/* Words of a key that are compared; the last one says whether a key has more bytes than the others hold. */
#define BOUND_KEY_WORDS 9
#define BOUND_KEY_BYTES ((BOUND_KEY_WORDS - 1) * sizeof(uint64))

/* The most splitters. */
#ifndef BOUND_TIGHT
#define BOUND_SPLITTERS 256
#else
#define BOUND_SPLITTERS 16
#endif

/* The part of a key that is compared, as integers that order as keys do. */
typedef struct BoundKey
{
	uint64 words[BOUND_KEY_WORDS];
} BoundKey;

/* In memory of all processes of the sort; all zeros, except the fields that bound_init sets. */
typedef struct SortBound
{
	uint64 rows;	/* number of rows that are wanted; at least 1 */
	bool with_ties; /* rows that equal the last wanted one are wanted, too */
	bool variable;	/* are the keys variable? */
	int nwords;		/* words of a key that are compared */

	/* Number of changes of the rest, except counts. */
	pg_atomic_uint32 version;
	/* all processes read the version for every row; the fields that follow are written often */
	char unused[PG_CACHE_LINE_SIZE];

	slock_t mutex;	   /* protects all that follows */
	uint32 generation; /* number of times that the splitters were replaced */
	int nsplitters;
	bool has_threshold;					 /* the threshold is the last splitter */
	uint64 dropped;						 /* number of rows that were dropped */
	uint64 counts[BOUND_SPLITTERS];		 /* number of keys up to this splitter, and above the one before it */
	BoundKey splitters[BOUND_SPLITTERS]; /* ascending */
} SortBound;

/* The filter of one process. */
typedef struct BoundFilter
{
	SortBound *bound;
	uint32 version; /* version of the bound that the following fields are of */
	bool has_threshold;
	bool drops_equal; /* may a row that equals the threshold be dropped? */
	BoundKey threshold;
	uint8 threshold_bytes[BOUND_KEY_BYTES]; /* the threshold as the bytes of a variable key */
	Size threshold_size;					/* bytes of the threshold up to its last one that is not 0 */

	uint32 generation;
	int nsplitters;
	BoundKey *splitters; /* the splitters as they were when the generation began */
	uint64 *first_words; /* first words of the splitters */
	uint32 *counts;		 /* number of keys not yet added to the bound */
	uint64 noted;		 /* number of keys that were kept */
	uint64 flush_at;	 /* counts are added to the bound when noted reaches this value */
	uint64 flush_interval;
	BoundKey *samples;	  /* the last BOUND_SAMPLES keys that were kept */
	uint64 fresh;		  /* number of keys kept since this process last chose splitters */
	uint64 refine_at;	  /* this process chooses splitters again when `fresh` reaches this value */
	uint64 dropped;		  /* number of rows that this process dropped */
	uint64 dropped_added; /* the part of `dropped` that the bound knows of */
} BoundFilter;

/* Returns the bytes of the bound and of the filters of this number of processes. */
extern Size bound_memory(int processes);

/*
 * Makes a bound for the first rows of a sort by this key.  bound: memory of all zeros; rows, with_ties: as in
 * SortBound.
 */
extern void bound_init(SortBound *bound, const SortKey *key, uint64 rows, bool with_ties);

/* Makes the filter of one process that feeds the sort, in CurrentMemoryContext. */
extern BoundFilter *bound_filter_create(SortBound *bound);

/* Adds the filter's remaining counts to the bound: at the end, and by itself at intervals. */
extern void bound_filter_flush(BoundFilter *filter);

/* Reads the latest threshold from the bound. */
extern void bound_filter_refresh(BoundFilter *filter);

/*
 * Is this key, whose first word is the threshold's, above the threshold, or may it be dropped because it
 * equals the threshold?
 */
extern bool bound_filter_drops_close(const BoundFilter *filter, const uint8 *key, Size size);

/* Notes that the row with this key was kept. */
extern void bound_filter_note(BoundFilter *filter, const uint8 *key, Size size);

/*
 * Takes rows that can no longer be wanted out of a chunk.  Returns their number.
 */
extern uint64 bound_cut_chunk(SortBound *bound, Chunk *chunk);

/*
 * Returns the number of rows in chunks from which on it pays to take out rows that can no longer be wanted.
 * left: number of rows that were left the last time.
 */
static inline uint64
bound_rows_to_cut(const SortBound *bound, uint64 left)
{
	return Max(bound->rows * BOUND_DROP_FACTOR, left * 2) + BOUND_SAMPLES;
}

/* bound_rows_to_cut, if there is no room. */
static inline uint64
bound_rows_to_cut_for_room(uint64 left)
{
	return left + left / BOUND_LEAST_PART + 1;
}

/* Returns the number of rows that were dropped by all processes that have flushed. */
extern uint64 bound_dropped(SortBound *bound);

/*
 * May the row with this key be dropped?  Fixed keys have the sort's width, variable ones any size.  The row
 * must be noted if it is kept.
 */
static inline bool
bound_filter_drops(BoundFilter *filter, const uint8 *key, Size size)
{
	uint64 word;

	if (unlikely(filter->version != pg_atomic_read_u32(&filter->bound->version)))
		bound_filter_refresh(filter);
	if (!filter->has_threshold)
		return false;
	word = key_first_word(key, size);
	if (likely(word != filter->threshold.words[0]))
		return word > filter->threshold.words[0];
	return bound_filter_drops_close(filter, key, size);
}

#endif /* GPUSORT_SORT_BOUND_H */
