/*
 * sort/bound.h
 *		Which rows of a sort can still be among the first ones that are wanted.
 *
 * A sort under a LIMIT wants its first n rows.  While its rows come, the keys of those that are kept are
 * counted between splitters.  As soon as n of them are not above some splitter, that is the *threshold*: a
 * row with a greater key can't come any more.  The more rows have come, the lower it is; splitters above it
 * are given up, and new ones taken from the keys that were kept lately, so that it stays as fine as it was.
 *
 * SortBound is what all processes of one sort know, in memory that they share, and BoundFilter what one
 * process that feeds it has of its own: it counts for itself, and adds that up now and then.  Any splitters
 * and any rhythm give right thresholds; they decide how many rows are kept in vain alone.
 *
 * Every row that was counted must have gone to the sort, once, and must not be dropped as long as its key is
 * not above the threshold.
 */
#ifndef GPUSORT_SORT_BOUND_H
#define GPUSORT_SORT_BOUND_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/spin.h"

#include "base/limits.h"
#include "key/types.h"
#include "sort/chunk.h"

/* Words of a key that are looked at; the last one says whether a key has more bytes than the others hold. */
#define BOUND_KEY_WORDS 9
#define BOUND_KEY_BYTES ((BOUND_KEY_WORDS - 1) * sizeof(uint64))

/* Splitters at most. */
#ifndef BOUND_TIGHT
#define BOUND_SPLITTERS 256
#else
#define BOUND_SPLITTERS 16
#endif

/* A key as far as it is looked at, as integers that order as keys do. */
typedef struct BoundKey
{
	uint64 words[BOUND_KEY_WORDS];
} BoundKey;

/* In memory of all processes of the sort; all zeros but for what bound_init sets. */
typedef struct SortBound
{
	uint64 rows;	/* so many are wanted; at least 1 */
	bool with_ties; /* and those that are equal to the last of them */
	bool variable;	/* keys */
	int nwords;		/* of a key that count */

	/* How often any of the rest was changed, but counts. */
	pg_atomic_uint32 version;
	char unused[PG_CACHE_LINE_SIZE]; /* all read the version for every row; what follows is written often */

	slock_t mutex;	   /* of all that follows */
	uint32 generation; /* how often the splitters were replaced */
	int nsplitters;
	bool has_threshold;					 /* it is the last splitter */
	uint64 dropped;						 /* rows */
	uint64 counts[BOUND_SPLITTERS];		 /* of keys up to this splitter, and above the one before it */
	BoundKey splitters[BOUND_SPLITTERS]; /* ascending */
} SortBound;

/* One process's own. */
typedef struct BoundFilter
{
	SortBound *bound;
	uint32 version; /* of what follows */
	bool has_threshold;
	bool drops_equal; /* may a row be dropped that equals the threshold? */
	BoundKey threshold;
	uint8 threshold_bytes[BOUND_KEY_BYTES]; /* the same as a variable key has it */
	Size threshold_size;					/* up to its last byte that is not 0 */

	uint32 generation;
	int nsplitters;
	BoundKey *splitters; /* as they were when the generation began */
	uint64 *first_words; /* of them */
	uint32 *counts;		 /* of keys not yet added to the bound */
	uint64 noted;		 /* keys that were kept */
	uint64 flush_at;	 /* they are added up when noted comes to this */
	uint64 flush_interval;
	BoundKey *samples;	  /* of them, the last BOUND_SAMPLES */
	uint64 fresh;		  /* keys kept since this process last chose splitters */
	uint64 refine_at;	  /* it does so again when there are so many */
	uint64 dropped;		  /* rows, in all */
	uint64 dropped_added; /* of them, those that the bound knows of */
} BoundFilter;

/* Bytes that the bound and the filters of so many processes take. */
extern Size bound_memory(int processes);

/* The first rows of a sort by key are wanted; memory is all zeros. */
extern void bound_init(SortBound *bound, const SortKey *key, uint64 rows, bool with_ties);

/* For one process that feeds the sort; in CurrentMemoryContext. */
extern BoundFilter *bound_filter_create(SortBound *bound);

/* Adds up what it still has, and frees it. */
extern void bound_filter_free(BoundFilter *filter);

/* Learns the latest threshold. */
extern void bound_filter_refresh(BoundFilter *filter);

/* Is this key, which begins like the threshold, above it, or may be dropped though it is not? */
extern bool bound_filter_drops_close(const BoundFilter *filter, const uint8 *key, Size size);

/* Adds up what was counted, in the end or when it is time. */
extern void bound_filter_flush(BoundFilter *filter);

/* The row with this key was kept. */
extern void bound_filter_note(BoundFilter *filter, const uint8 *key, Size size);

/*
 * Takes rows that can't come any more out of a chunk of keys of this width (0: variable).  Returns how many.
 */
extern uint64 bound_cut_chunk(SortBound *bound, Chunk *chunk);

/*
 * With so many rows in chunks it is worth while to take out those that can't come any more, when left were
 * left the last time.
 */
static inline uint64
bound_rows_to_cut(const SortBound *bound, uint64 left)
{
	return Max(bound->rows * BOUND_DROP_FACTOR, left * 2) + BOUND_SAMPLES;
}

/* The same where there is no room. */
static inline uint64
bound_rows_to_cut_for_room(uint64 left)
{
	return left + left / BOUND_LEAST_PART + 1;
}

/* How many rows were dropped by all processes: those that have flushed. */
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
