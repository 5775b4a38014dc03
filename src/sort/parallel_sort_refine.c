/*
 * sort/parallel_sort_refine.c
 *		Every process's part of the later rounds of a parallel sort: rows in buckets that are too large go on
 *		to other buckets.
 *
 * Nothing moves: a row has its bucket's number changed.  The rows of a slice are listed split by split, and
 * then classified as in the first round.  A string's word is put into its entry, for the scatter: it took a
 * cache miss to get it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sort/parallel_sort_state.h"
#include "sort/record.h"
#include "sort/string_sort.h"

struct ParallelRefiner
{
	ParallelSort *sort;
	uint64 *counts;					 /* this process's, by bucket */
	uint64 *longest;				 /* this process's, by split of the round */
	uint16 rows[SORT_SLICE_ROWS];	 /* of a slice, split by split */
	int ends[FLEXIBLE_ARRAY_MEMBER]; /* of the part in no split, and of each split's */
};

StaticAssertDecl(SORT_SLICE_ROWS <= PG_UINT16_MAX, "a row of a slice must fit");

Size
parallel_refiner_size(int nsplits)
{
	return offsetof(ParallelRefiner, ends) + (nsplits + 1) * sizeof(int);
}

ParallelRefiner *
parallel_refiner_create(ParallelSort *sort, int process)
{
	ParallelRefiner *refiner = palloc(parallel_refiner_size(sort->round_splits));
	const ParallelSplit *first = &sort->splits[sort->round_first];

	refiner->sort = sort;
	refiner->counts = parallel_sort_counts(sort, process);
	refiner->longest = parallel_sort_longest(sort, process);
	memset(refiner->counts + first->first, 0, (sort->nbuckets - first->first) * sizeof(uint64));
	memset(refiner->longest, 0, sort->round_splits * sizeof(uint64));
	return refiner;
}

/* Lists the rows of a slice by their split of this round; first those in none. No branch depends on a row. */
static void
list_rows(ParallelRefiner *refiner, const ParallelSlice *slice)
{
	const ParallelSort *sort = refiner->sort;
	const uint16 *bucket_of = sort->bucket_of + slice->position;
	int start = 0;

	memset(refiner->ends, 0, (sort->round_splits + 1) * sizeof(int));
	for (int i = 0; i < slice->nrows; i++)
		refiner->ends[sort->split_of[bucket_of[i]] + 1]++;
	for (int r = 0; r <= sort->round_splits; r++)
	{
		int n = refiner->ends[r];

		refiner->ends[r] = start;
		start += n;
	}
	for (int i = 0; i < slice->nrows; i++)
		refiner->rows[refiner->ends[sort->split_of[bucket_of[i]] + 1]++] = i;
}

/* Loads the words of rows with fixed keys. */
static void
load_fixed(const ParallelSort *sort, const ParallelSlice *slice, const ParallelSplit *split,
		   const uint16 *rows, int n, uint64 *words)
{
	const KeySqueeze *squeeze = &sort->squeeze;
	int stride = slice->chunk->entry_size / sizeof(uint64);
	const uint64 *entries = (const uint64 *) slice->chunk->base + slice->first * stride;

	memset(words, 0, n * sizeof(uint64));
	for (int p = 0; p < squeeze->npieces; p++)
	{
		KeySqueezePiece piece = squeeze->pieces[p];

		if (piece.to_word != split->depth)
			continue;
		for (int i = 0; i < n; i++)
			words[i] |= key_squeeze_piece(&piece, entries + rows[i] * stride);
	}
}

/*
 * Loads the words of strings at the depth of their split.  Those that do not agree with the others up to
 * there get their buckets at once, and are taken out of rows.  Returns how many are left.
 */
static int
load_strings(ParallelRefiner *refiner, const ParallelSlice *slice, int number, uint16 *rows, int n,
			 uint64 *words)
{
	ParallelSort *sort = refiner->sort;
	const ParallelSplit *split = &sort->splits[sort->round_first + number];
	uint64 longest = refiner->longest[number];
	int kept = 0;

	for (int i = 0; i < n; i++)
		__builtin_prefetch(parallel_slice_record(slice, rows[i]));
	for (int i = 0; i < n; i++)
	{
		int row = rows[i];
		const char *record = parallel_slice_record(slice, row);
		uint64 agreed = split->from;

		if (split->depth > split->from)
			agreed = record_key_agreement(record, split->reference, split->from, split->depth);
		if (agreed < split->depth)
		{
			bool before = record_key_word(record, agreed) < record_key_word(split->reference, agreed);
			int bucket = before ? split->first : split->first + split->nbuckets - 1;

			sort->bucket_of[slice->position + row] = bucket;
			refiner->counts[bucket]++;
			continue;
		}
		longest = Max(longest, record_key_length(record));
		words[kept] = record_key_word(record, split->depth);
		parallel_slice_entry(slice, row)[0] = KEY_WORD_TO_HOST(words[kept]);
		rows[kept++] = row;
	}
	refiner->longest[number] = longest;
	return kept;
}

/* Classifies rows of a slice in one split; rows is overwritten. */
static void
classify_rows(ParallelRefiner *refiner, const ParallelSlice *slice, int number, uint16 *rows, int nrows)
{
	ParallelSort *sort = refiner->sort;
	const ParallelSplit *split = &sort->splits[sort->round_first + number];
	uint16 *bucket_of = sort->bucket_of + slice->position;
	uint64 words[SORT_BLOCK];
	uint16 buckets[SORT_BLOCK];

	for (int i = 0; i < nrows; i += SORT_BLOCK)
	{
		int n = Min(nrows - i, SORT_BLOCK);

		if (sort->variable)
			n = load_strings(refiner, slice, number, rows + i, n, words);
		else
			load_fixed(sort, slice, split, rows + i, n, words);
		splitter_tree_classify(&sort->trees[number], words, 1, n, buckets,
							   refiner->counts + split->tree_first);
		for (int j = 0; j < n; j++)
			bucket_of[rows[i + j]] = split->tree_first + buckets[j];
		CHECK_FOR_INTERRUPTS();
	}
}

void
parallel_refiner_classify(ParallelRefiner *refiner, const ParallelSlice *slice)
{
	list_rows(refiner, slice);
	for (int r = 0; r < refiner->sort->round_splits; r++)
		classify_rows(refiner, slice, r, refiner->rows + refiner->ends[r],
					  refiner->ends[r + 1] - refiner->ends[r]);
}
