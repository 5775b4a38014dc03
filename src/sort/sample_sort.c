/*
 * sort/sample_sort.c
 *		Sample sort of fixed keys in host memory: the parts that no key width changes.
 *
 * The sort of chunks goes like this:
 *	  sample			a few keys out of every stretch of the chunks, at random
 *	  choose splitters	every so many-th key of the sorted sample, as a search tree
 *	  classify			one pass over the chunks: each key's bucket, and how many a bucket gets
 *	  scatter			one more pass: each entry, squeezed, to its bucket's place in items
 *	  sort the buckets	each one by the same distribution into the scratch memory, whose small buckets
 *						come back sorted by the base case; large ones recurse
 *
 * Samples are random, so no input order is worse than another.  Buckets that are too large for the scratch
 * memory, as those of one value in the first of several words may be, are distributed in place; and should
 * bad luck make too many distributions one inside the other, PostgreSQL's own sort ends it.
 *
 * The scratch memory belongs to the sorter; a longjmp out of a sort leaves it to its context.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "memory/alloc.h"
#include "sort/sample_sort.h"
#include "sort/sample_sort_packed.h"
#include "sort/tuning.h"

#define SORT_MAX_SAMPLES (SORT_MAX_SPLITTERS * Max(SORT_OVERSAMPLING_CHUNKS, SORT_OVERSAMPLING_ITEMS))

/* What one distribution knows; one for each depth of the recursion. */
typedef struct SortLevel
{
	SplitterTree tree;
	uint64 counts[SORT_MAX_BUCKETS];
	uint64 ends[SORT_MAX_BUCKETS]; /* where the bucket's next item goes; after the scatter, its end */
} SortLevel;

struct SampleSorter
{
	int nwords;
	const struct SampleSortMethods *methods;
	int max_depth;	 /* distributions one inside the other */
	uint64 capacity; /* items in scratch */
	uint64 random;	 /* state of the random numbers; the seed is fixed, so sorts can be repeated */
	void *scratch;	 /* items, or the buckets of all rows while chunks are distributed */
	uint16 *oracle;	 /* the bucket of each item of one distribution */
	uint64 *sample;	 /* 2 * nsamples words */
	MemoryContext context;
	SortLevel *levels[SORT_MAX_DEPTH]; /* made when first used */
};

/* Equal steps to the base case. */
int
sample_sort_log_leaves(uint64 n)
{
	int log_all = pg_leftmost_one_pos64((n - 1) / SORT_TARGET_BASE) + 1;
	int nlevels = (log_all + SORT_MAX_LOG_BUCKETS - 1) / SORT_MAX_LOG_BUCKETS;

	return (log_all + nlevels - 1) / nlevels;
}

int
sample_sort_nsamples(uint64 n, int log_leaves, int oversampling)
{
	int nsamples = oversampling << log_leaves;

	while (nsamples > n)
		nsamples /= 2;
	return nsamples;
}

/* xorshift64* */
uint64
sample_sort_position(uint64 *random, int i, int nsamples, uint64 n)
{
	uint64 stretch = n / nsamples;
	uint64 x = *random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*random = x;
	x *= UINT64CONST(0x2545F4914F6CDD1D);
	return i * stretch + (stretch <= PG_UINT32_MAX ? ((x >> 32) * stretch) >> 32 : x % stretch);
}

static inline void
exchange_words(uint64 *a, uint64 *b)
{
	uint64 low = Min(*a, *b);

	*b = Max(*a, *b);
	*a = low;
}

uint64 *
sample_sort_words(uint64 *sample, int n)
{
	uint64 *from = sample;
	uint64 *to = sample + n;

	for (int i = 0; i < n; i += 4)
	{
		exchange_words(&from[i], &from[i + 1]);
		exchange_words(&from[i + 2], &from[i + 3]);
		exchange_words(&from[i], &from[i + 2]);
		exchange_words(&from[i + 1], &from[i + 3]);
		exchange_words(&from[i + 1], &from[i + 2]);
	}
	for (int len = 4; len < n; len *= 2)
	{
		uint64 *swap = to;

		for (int i = 0; i < n; i += 2 * len)
			packed_merge(from + i, from + i + len, len, 1, to + i);
		to = from;
		from = swap;
	}
	return from;
}

/* Fetches the cache lines of a range, which need not exist. */
static inline void
prefetch_range(const void *from, Size size)
{
	for (Size i = 0; i < size; i += SORT_CACHE_LINE)
		__builtin_prefetch((const char *) from + i);
}

static inline bool
bucket_is_finished(const SplitterTree *tree, int bucket, int word, int nwords)
{
	return word == nwords - 1 && sample_sort_bucket_is_equal(tree, bucket);
}

/* The prefix sum: where each bucket starts. */
static void
bucket_starts(SortLevel *level)
{
	uint64 start = 0;

	for (int b = 0; b < level->tree.nbuckets; b++)
	{
		level->ends[b] = start;
		start += level->counts[b];
	}
}

/* The bucket that holds all n items, or -1. */
static int
only_bucket(const SortLevel *level, uint64 n)
{
	for (int b = 0; b < level->tree.nbuckets; b++)
	{
		if (level->counts[b] == n)
			return b;
		if (level->counts[b] != 0)
			break;
	}
	return -1;
}

static SortLevel *
sample_sorter_level(SampleSorter *sorter, int depth)
{
	if (sorter->levels[depth] == NULL)
		sorter->levels[depth] = MemoryContextAlloc(sorter->context, sizeof(SortLevel));
	return sorter->levels[depth];
}

/* The sort for one kind of items. */
typedef struct SampleSortMethods
{
	void (*sort_chunks)(SampleSorter *sorter, const Chunk *chunks, uint64 n, const KeySqueeze *squeeze,
						void *items);
	void (*sort_items)(SampleSorter *sorter, void *items, uint64 n, int word, int depth);
	void (*classify_entries)(const SplitterTree *tree, const Chunk *chunk, uint64 first, uint64 nentries,
							 const KeySqueeze *squeeze, uint16 *buckets, uint64 *counts);
	void (*scatter_entries)(uint64 *ends, const Chunk *chunk, uint64 first, uint64 nentries,
							const KeySqueeze *squeeze, const uint16 *buckets, void *items);
} SampleSortMethods;

#define ITEM_HAS_ROW 1
#define KEY_WORDS 1
#include "sort/sample_sort_impl.h"
#define KEY_WORDS 2
#include "sort/sample_sort_impl.h"
#define KEY_WORDS 3
#include "sort/sample_sort_impl.h"
#define KEY_WORDS 4
#include "sort/sample_sort_impl.h"
#undef ITEM_HAS_ROW

#define ITEM_HAS_ROW 0
#define KEY_WORDS 1
#include "sort/sample_sort_impl.h"
#define KEY_WORDS 2
#include "sort/sample_sort_impl.h"
#define KEY_WORDS 3
#include "sort/sample_sort_impl.h"
#define KEY_WORDS 4
#include "sort/sample_sort_impl.h"
#undef ITEM_HAS_ROW

static const SampleSortMethods *
methods_for(SortItemKind kind)
{
	static const SampleSortMethods *const methods[2][KEY_MAX_WORDS] = {{&methods_1_0, &methods_2_0,
																		&methods_3_0, &methods_4_0},
																	   {&methods_1_1, &methods_2_1,
																		&methods_3_1, &methods_4_1}};

	return methods[kind.has_row ? 1 : 0][kind.nwords - 1];
}

void
sample_sort_chunks(const Chunk *chunks, uint64 nrows, const KeySqueeze *squeeze, void *items)
{
	SampleSorter *sorter;

	if (nrows == 0)
		return;
	sorter = sample_sorter_create(nrows, sort_item_kind(chunks, squeeze->nwords));
	sample_sorter_sort_chunks(sorter, chunks, nrows, squeeze, items);
	sample_sorter_free(sorter);
}

/* Items in the scratch memory: many times what a bucket is expected to hold. */
static uint64
scratch_capacity(uint64 nrows)
{
	return Max(Max(nrows / SORT_SCRATCH_SHARE, Min(nrows, SORT_SCRATCH_MIN)), 1);
}

/* The scratch memory holds items with the bucket of each or, before, the buckets of all rows. */
static Size
scratch_items_size(uint64 nrows, SortItemKind kind)
{
	return Max(nrows * sizeof(uint16), scratch_capacity(nrows) * (sort_item_size(kind) + sizeof(uint16)));
}

/* The largest sample, in words. */
static int
sample_capacity(uint64 nrows)
{
	return Min(Max(nrows, 1), SORT_MAX_SAMPLES);
}

/*
 * How many distributions one inside the other a sort of so many items may need: as many as leave buckets of
 * PACKED_MAX items, if each makes parts of a 64th at most, and one for each word; with one to spare.  Each
 * takes memory, which a sort of few items hasn't got.
 */
static int
depth_limit(uint64 nitems, SortItemKind kind)
{
	int depth = kind.nwords + 1;

	for (uint64 n = nitems; n > PACKED_MAX; n /= 64)
		depth++;
	return Min(depth, SORT_MAX_DEPTH);
}

Size
sample_sort_scratch_size(uint64 nrows, SortItemKind kind)
{
	return sizeof(SampleSorter) + scratch_items_size(nrows, kind) +
		   2 * sample_capacity(nrows) * sizeof(uint64) +
		   (nrows > PACKED_MAX ? depth_limit(nrows, kind) * sizeof(SortLevel) : 0);
}

SampleSorter *
sample_sorter_create(uint64 max_items, SortItemKind kind)
{
	SampleSorter *sorter = palloc(sizeof(SampleSorter));

	memset(sorter, 0, sizeof(SampleSorter));
	sorter->nwords = kind.nwords;
	sorter->methods = methods_for(kind);
	sorter->max_depth = depth_limit(max_items, kind);
	sorter->capacity = scratch_capacity(max_items);
	sorter->random = UINT64CONST(0x9E3779B97F4A7C15);
	sorter->context = CurrentMemoryContext;
	sorter->scratch = huge_alloc(scratch_items_size(max_items, kind));
	sorter->oracle = (uint16 *) ((char *) sorter->scratch + sorter->capacity * sort_item_size(kind));
	sorter->sample = palloc(2 * sample_capacity(max_items) * sizeof(uint64));
	return sorter;
}

void
sample_sorter_sort_chunks(SampleSorter *sorter, const Chunk *chunks, uint64 nrows, const KeySqueeze *squeeze,
						  void *items)
{
	Assert(sorter->nwords == squeeze->nwords);
	sorter->methods->sort_chunks(sorter, chunks, nrows, squeeze, items);
}

void
sample_sorter_sort(SampleSorter *sorter, void *items, uint64 nitems, int word)
{
	sorter->methods->sort_items(sorter, items, nitems, word, 0);
}

void
sample_sort_classify_entries(const SplitterTree *tree, const Chunk *chunk, uint64 first, uint64 nentries,
							 const KeySqueeze *squeeze, uint16 *buckets, uint64 *counts)
{
	methods_for(sort_item_kind(chunk, squeeze->nwords))
		->classify_entries(tree, chunk, first, nentries, squeeze, buckets, counts);
}

void
sample_sort_scatter_entries(uint64 *ends, const Chunk *chunk, uint64 first, uint64 nentries,
							const KeySqueeze *squeeze, const uint16 *buckets, void *items)
{
	methods_for(sort_item_kind(chunk, squeeze->nwords))
		->scatter_entries(ends, chunk, first, nentries, squeeze, buckets, items);
}

void
sample_sorter_free(SampleSorter *sorter)
{
	for (int depth = 0; depth < SORT_MAX_DEPTH; depth++)
	{
		if (sorter->levels[depth] != NULL)
			pfree(sorter->levels[depth]);
	}
	pfree(sorter->sample);
	huge_free(sorter->scratch);
	pfree(sorter);
}
