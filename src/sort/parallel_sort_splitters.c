/*
 * sort/parallel_sort_splitters.c
 *		The plan of a parallel sort, which the first process makes: splitters, and where everything goes.
 *
 * A round distributes the rows of some splits: the first round all rows, a later one each bucket that the
 * round before left too large.  Its samples are rows at random positions; a row in none of the splits is no
 * sample.  So a split has as many samples, and gets as many buckets, as its size deserves, and the buckets of
 * all rounds come out about equally large.
 *
 * Fixed keys: a bucket of equal words goes on to the next word; any other to the same word again.  Strings:
 * the samples tell how far the split's keys agree, and the word behind that decides.  Rows for which this is
 * not true go into a bucket before all others or behind them.
 *
 * When no bucket is too large, or it can't be helped, the buckets are brought into order, which is a walk
 * through the tree of splits, and each process's part of each bucket gets its place.
 *
 * Nothing here depends on the samples but the time it takes: any splitters give the right order.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "key/ends.h"
#include "sort/parallel_sort_state.h"
#include "sort/record.h"
#include "sort/string_sort.h"

#define LOG_MIN_LEAVES 2

/* Leaves of the first distribution: enough to share them out, even if there are few rows. */
static int
first_log_leaves(uint64 nrows, int nprocesses)
{
	int log_leaves = sample_sort_log_leaves(Max(nrows, 2 * SORT_TARGET_BASE));

	while ((1 << log_leaves) < SORT_BUCKETS_PER_PROCESS * nprocesses && log_leaves < SORT_MAX_LOG_BUCKETS)
		log_leaves++;
	return log_leaves;
}

#define MIN_SPLIT_BUCKETS ((2 << LOG_MIN_LEAVES) + 2)

/* Words that choose_splitters needs room for, of so many samples. */
#define SAMPLE_WORDS(nsamples) (2 * (nsamples) + (2 << LOG_MIN_LEAVES))

int
parallel_sort_samples(uint64 nrows, int nprocesses)
{
	return sample_sort_nsamples(nrows, first_log_leaves(nrows, nprocesses), SORT_OVERSAMPLING_CHUNKS);
}

/*
 * A leaf has SORT_OVERSAMPLING_CHUNKS samples, if its split has more than the fewest leaves, and makes two
 * buckets at most.
 */
int
parallel_sort_round_buckets(uint64 nrows, int nprocesses)
{
	return 2 * (parallel_sort_samples(nrows, nprocesses) / SORT_OVERSAMPLING_CHUNKS) +
		   PARALLEL_ROUND_SPLITS(nprocesses) * MIN_SPLIT_BUCKETS;
}

Size
parallel_sort_plan_size(uint64 nrows, int nprocesses)
{
	return SAMPLE_WORDS(parallel_sort_samples(nrows, nprocesses)) * sizeof(uint64);
}

/* ---------------------------------------------------------------- splitters */

/* The word of a row with a fixed key, or the first word of a string. */
static uint64
entry_word(const ParallelSort *sort, const ParallelSlice *slice, int row, int word)
{
	const char *entry = slice->chunk->base + (slice->first + row) * slice->chunk->entry_size;
	uint64 key[KEY_MAX_WORDS];

	key_squeeze_apply(&sort->squeeze, sort->squeeze.npieces, sort->squeeze.nwords, (const uint64 *) entry,
					  key);
	return key[word];
}

/* Draws this process's part of the samples of a round: to touch that much memory at random takes its time. */
void
parallel_sort_draw_samples(ParallelSort *sort, int process)
{
	uint64 random = UINT64CONST(0x9E3779B97F4A7C15) * (sort->nrounds * sort->nprocesses + process + 1);
	int first = (uint64) sort->nsamples * process / sort->nprocesses;
	int end = (uint64) sort->nsamples * (process + 1) / sort->nprocesses;
	const ParallelSlice *slice = sort->slices;

	for (int i = first; i < end; i++)
	{
		ParallelSample *sample = &sort->samples[i];
		uint64 position = sample_sort_position(&random, i, sort->nsamples, sort->nrows);

		while (position - slice->position >= slice->nrows)
			slice++;
		sample->slice = slice;
		sample->row = position - slice->position;
		sample->split = sort->nrounds == 0 ? 0 : sort->split_of[sort->bucket_of[position]];
		if (sample->split >= 0 && !(sort->variable && sort->nrounds > 0))
			sample->word =
				entry_word(sort, slice, sample->row, sort->splits[sort->round_first + sample->split].depth);
		if (i % SORT_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

/* Finds out how far a split's strings agree, as far as the samples tell. */
static void
choose_depth(const ParallelSort *sort, ParallelSplit *split, int number)
{
	const char *reference = NULL;
	uint64 depth = split->from;

	for (int i = 0; i < sort->nsamples; i++)
	{
		const ParallelSample *sample = &sort->samples[i];
		const char *record;

		if (sample->split != number)
			continue;
		record = parallel_slice_record(sample->slice, sample->row);
		if (reference != NULL)
			depth = record_key_agreement(record, reference, split->from, depth);
		else
		{
			reference = record;
			depth = Max(depth, TYPEALIGN(sizeof(uint64), record_key_length(record)));
		}
	}
	split->reference = reference;
	split->depth = depth;
}

/* Loads the words of a split's samples.  Returns how many. */
static int
load_samples(const ParallelSort *sort, const ParallelSplit *split, int number, uint64 *words)
{
	int n = 0;

	for (int i = 0; i < sort->nsamples; i++)
	{
		const ParallelSample *sample = &sort->samples[i];

		if (sample->split != number)
			continue;
		if (sort->variable && sort->nrounds > 0)
			words[n++] = record_key_word(parallel_slice_record(sample->slice, sample->row), split->depth);
		else
			words[n++] = sample->word;
	}
	return n;
}

/*
 * Chooses a split's splitters from the words of its n samples, of which a power of two are used; there is
 * room for SAMPLE_WORDS of them.
 */
static void
choose_splitters(SplitterTree *tree, uint64 *words, int n)
{
	int used = 1 << LOG_MIN_LEAVES;
	int log_leaves = LOG_MIN_LEAVES;

	while (n < used)
		words[n++] = 0;
	while (2 * used <= n)
		used *= 2;
	for (int i = 0; i < used; i++)
		words[i] = words[(uint64) i * n / used];
	while (log_leaves < SORT_MAX_LOG_BUCKETS && (SORT_OVERSAMPLING_CHUNKS << (log_leaves + 1)) <= used)
		log_leaves++;
	splitter_tree_choose(tree, sample_sort_words(words, used), used, log_leaves);
}

/* Gives the buckets of a split their numbers. */
static void
number_buckets(ParallelSort *sort, ParallelSplit *split, const SplitterTree *tree)
{
	int others = sort->variable && sort->nrounds > 0 ? 1 : 0;

	split->first = sort->nbuckets;
	split->tree_first = split->first + others;
	split->nbuckets = tree->nbuckets + 2 * others;
	sort->nbuckets += split->nbuckets;
	Assert(sort->nbuckets <= sort->max_buckets);
}

/* Makes the splitter trees of this round's splits, and gives their buckets numbers. */
void
parallel_sort_choose_splitters(ParallelSort *sort)
{
	uint64 *words = palloc(SAMPLE_WORDS(sort->nsamples) * sizeof(uint64));

	for (int r = 0; r < sort->round_splits; r++)
	{
		ParallelSplit *split = &sort->splits[sort->round_first + r];

		if (sort->variable && sort->nrounds > 0)
			choose_depth(sort, split, r);
		choose_splitters(&sort->trees[r], words, load_samples(sort, split, r, words));
		number_buckets(sort, split, &sort->trees[r]);
		CHECK_FOR_INTERRUPTS();
	}
	pfree(words);
}

/* ---------------------------------------------------------------- buckets */

/* Length of the longest key that was classified in a split of this round. */
static uint64
longest_key(const ParallelSort *sort, int number)
{
	uint64 longest = 0;

	for (int p = 0; p < sort->nprocesses; p++)
		longest = Max(longest, parallel_sort_longest(sort, p)[number]);
	return longest;
}

/* What the keys of a split's bucket have in common, and what is left to do. */
static void
describe_bucket(const ParallelSort *sort, int number, int b, ParallelBucket *bucket)
{
	const ParallelSplit *split = &sort->splits[sort->round_first + number];
	const SplitterTree *tree = &sort->trees[number];

	b -= split->tree_first;
	bucket->split = -1;
	bucket->kind = BUCKET_BY_WORD;
	bucket->settled = false;
	bucket->depth = split->depth;
	if (b < 0 || b >= tree->nbuckets)
	{
		bucket->kind = BUCKET_SEGMENT;
		bucket->depth = split->from;
	}
	else if (sample_sort_bucket_is_equal(tree, b))
	{
		uint64 word = tree->splitter[b / 2];

		bucket->depth += sort->variable ? sizeof(uint64) : 1;
		if (!sort->variable)
			bucket->kind = bucket->depth == sort->squeeze.nwords ? BUCKET_FINISHED : BUCKET_BY_WORD;
		else if (sort_key_word_ends(sort->ends, word, split->depth == 0) ||
				 (sort->nrounds > 0 && longest_key(sort, number) <= bucket->depth))
			bucket->kind = BUCKET_FINISHED;
		else
			bucket->kind = BUCKET_SEGMENT;
	}
}

/* Adds up what the processes counted in this round. */
static void
describe_buckets(ParallelSort *sort)
{
	for (int r = 0; r < sort->round_splits; r++)
	{
		const ParallelSplit *split = &sort->splits[sort->round_first + r];

		for (int b = split->first; b < split->first + split->nbuckets; b++)
		{
			describe_bucket(sort, r, b, &sort->buckets[b]);
			sort->buckets[b].nrows = 0;
			for (int p = 0; p < sort->nprocesses; p++)
				sort->buckets[b].nrows += parallel_sort_counts(sort, p)[b];
		}
	}
}

/* Makes splits of this round's buckets that are too large, as far as there is room. */
static void
open_splits(ParallelSort *sort)
{
	int first = sort->splits[sort->round_first].first;
	int end = sort->nbuckets;

	sort->nrounds++;
	sort->round_first = sort->nsplits;
	sort->round_splits = 0;
	memset(sort->split_of, 0xff, end * sizeof(int16));
	if (sort->nrounds == SORT_PARALLEL_ROUNDS ||
		end + parallel_sort_round_buckets(sort->nrows, sort->nprocesses) > sort->max_buckets)
		return;
	for (int b = first; b < end && sort->round_splits < sort->max_round_splits; b++)
	{
		ParallelBucket *bucket = &sort->buckets[b];
		ParallelSplit *split = &sort->splits[sort->nsplits];

		if (bucket->kind == BUCKET_FINISHED || bucket->nrows <= sort->huge_bucket)
			continue;
		split->from = split->depth = bucket->depth;
		bucket->split = sort->nsplits++;
		sort->split_of[b] = sort->round_splits++;
	}
}

/* ---------------------------------------------------------------- places */

/*
 * Gives the buckets of a split, and of the splits below it, their places from *next on, and each process its
 * part.
 */
static void
place_split(ParallelSort *sort, const ParallelSplit *split, uint64 *next)
{
	for (int b = split->first; b < split->first + split->nbuckets; b++)
	{
		ParallelBucket *bucket = &sort->buckets[b];

		if (bucket->split >= 0)
		{
			place_split(sort, &sort->splits[bucket->split], next);
			continue;
		}
		bucket->start = *next;
		sort->order[sort->norder++] = b;
		for (int p = 0; p < sort->nprocesses; p++)
		{
			uint64 *place = &parallel_sort_counts(sort, p)[b];
			uint64 n = *place;

			*place = *next;
			*next += n;
		}
	}
}

static int
compare_tasks(const void *a, const void *b)
{
	uint64 a_rows = ((const ParallelTask *) a)->nrows;
	uint64 b_rows = ((const ParallelTask *) b)->nrows;

	return (a_rows < b_rows) - (a_rows > b_rows);
}

/* Makes tasks of neighbouring buckets. */
static void
make_tasks(ParallelSort *sort)
{
	uint64 enough = sort->nrows / (SORT_TASKS_PER_PROCESS * sort->nprocesses);
	ParallelTask task = {0, 0, 0};

	for (int i = 0; i < sort->norder; i++)
	{
		const ParallelBucket *bucket = &sort->buckets[sort->order[i]];

		task.nbuckets++;
		if (bucket->kind != BUCKET_FINISHED)
			task.nrows += bucket->nrows;
		if (task.nrows > enough || i == sort->norder - 1)
		{
			sort->tasks[sort->ntasks++] = task;
			task = (ParallelTask){0, i + 1, 0};
		}
	}
	qsort(sort->tasks, sort->ntasks, sizeof(ParallelTask), compare_tasks);
}

/* ---------------------------------------------------------------- rounds */

/* All are classified: begins the next round, or, if there is none, gives everything its place. */
void
parallel_sort_end_round(ParallelSort *sort)
{
	uint64 end = 0;

	describe_buckets(sort);
	open_splits(sort);
	if (sort->round_splits > 0)
		return;
	place_split(sort, &sort->splits[0], &end);
	Assert(end == sort->nrows);
	make_tasks(sort);
}
