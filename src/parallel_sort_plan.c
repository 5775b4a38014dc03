/*
 * parallel_sort_plan.c
 *		The first process's part of a parallel sort: splitters, and where everything goes.
 *
 * A round distributes some ranges: the first round all rows, a later one each bucket that the round before left too large.
 * Its samples are rows at random positions; a row in none of the ranges is no sample.  So a range has as many samples, and gets
 * as many buckets, as its size deserves, and the buckets of all rounds come out about equally large.
 *
 * Fixed keys: a bucket of equal words goes on to the next word; any other to the same word again.  Strings: the samples
 * tell how far the range's keys agree, and the word behind that decides.  Rows for which this is not true go into a bucket
 * before all others or behind them.
 *
 * When no bucket is too large, or it can't be helped, the buckets are brought into order, which is a walk through the tree of
 * ranges, and each process's part of each bucket gets its place.
 *
 * Nothing here depends on the samples but the time it takes: any splitters give the right order.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "parallel_sort_state.h"
#include "sample_sort_parts.h"
#include "string_sort.h"

#define LOG_MIN_LEAVES 2

typedef struct Sample
{
	const ParallelSlice *slice;
	int			row;			/* of the slice */
	int			range;			/* counted from round_first */
} Sample;

/* Leaves of the first distribution: enough to share them out, even if there are few rows. */
static int
first_log_leaves(uint64 nrows, int nprocesses)
{
	int			log_leaves = sample_sort_log_leaves(Max(nrows, 2 * SORT_TARGET_BASE));

	while ((1 << log_leaves) < SORT_BUCKETS_PER_PROCESS * nprocesses && log_leaves < SORT_MAX_LOG_BUCKETS)
		log_leaves++;
	return log_leaves;
}

#define MIN_RANGE_BUCKETS ((2 << LOG_MIN_LEAVES) + 2)

/* Words that choose_splitters needs room for, of so many samples. */
#define SAMPLE_WORDS(nsamples) (2 * (nsamples) + (2 << LOG_MIN_LEAVES))

static int
positions_to_sample(uint64 nrows, int nprocesses)
{
	return sample_sort_nsamples(nrows, first_log_leaves(nrows, nprocesses), SORT_OVERSAMPLING_CHUNKS);
}

/* A leaf has SORT_OVERSAMPLING_CHUNKS samples, if its range has more than the fewest leaves, and makes two buckets at most. */
int
parallel_sort_round_buckets(uint64 nrows, int nprocesses)
{
	return 2 * (positions_to_sample(nrows, nprocesses) / SORT_OVERSAMPLING_CHUNKS) +
		PARALLEL_ROUND_RANGES(nprocesses) * MIN_RANGE_BUCKETS;
}

Size
parallel_sort_plan_size(uint64 nrows, int nprocesses)
{
	int			nsamples = positions_to_sample(nrows, nprocesses);

	return nsamples * sizeof(Sample) + SAMPLE_WORDS(nsamples) * sizeof(uint64);
}

/* ---------------------------------------------------------------- splitters */

/* Draws the samples of a round.  Returns how many. */
static int
draw_samples(ParallelSort *sort, Sample *samples, int npositions)
{
	const ParallelSlice *slice = sort->slices;
	int			nsamples = 0;

	for (int i = 0; i < npositions; i++)
	{
		uint64		position = sample_sort_position(&sort->random, i, npositions, sort->nrows);
		int			range = sort->nrounds == 0 ? 0 : sort->range_of[sort->bucket_of[position]];

		while (position - slice->position >= slice->nrows)
			slice++;
		if (range >= 0)
			samples[nsamples++] = (Sample) {slice, position - slice->position, range};
		if (i % SORT_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return nsamples;
}

/* Finds out how far a range's strings agree, as far as the samples tell. */
static void
choose_depth(ParallelRange *range, const Sample *samples, int nsamples, int number)
{
	const char *reference = NULL;
	uint64		depth = range->from;

	for (int i = 0; i < nsamples; i++)
	{
		const char *record;

		if (samples[i].range != number)
			continue;
		record = parallel_slice_record(samples[i].slice, samples[i].row);
		if (reference != NULL)
			depth = record_key_agreement(record, reference, range->from, depth);
		else
		{
			reference = record;
			depth = Max(depth, TYPEALIGN(sizeof(uint64), record_key_length(record)));
		}
	}
	range->reference = reference;
	range->depth = reference != NULL ? depth : range->from;
}

/* The word of a sample that its range is distributed by. */
static uint64
sample_word(const ParallelSort *sort, const ParallelRange *range, const Sample *sample)
{
	const ParallelSlice *slice = sample->slice;
	const uint64 *entry = (const uint64 *) slice->chunk->base +
		(slice->first + sample->row) * (sort->squeeze.full_words + 1);
	uint64		key[KEY_MAX_WORDS];

	if (sort->variable && range->depth > 0)
		return record_key_word(parallel_slice_record(slice, sample->row), range->depth);
	key_squeeze_apply(&sort->squeeze, sort->squeeze.npieces, sort->squeeze.nwords, entry, key);
	return key[range->depth];
}

/*
 * Chooses a range's splitters from the words of its n samples, of which a power of two are used; there is room for
 * SAMPLE_WORDS of them.
 */
static void
choose_splitters(SplitterTree *tree, uint64 *words, int n)
{
	int			used = 1 << LOG_MIN_LEAVES;
	int			log_leaves = LOG_MIN_LEAVES;

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

/* Gives the buckets of a range their numbers. */
static void
number_buckets(ParallelSort *sort, ParallelRange *range, const SplitterTree *tree)
{
	int			others = sort->variable && sort->nrounds > 0 ? 1 : 0;

	range->first = sort->nbuckets;
	range->tree_first = range->first + others;
	range->nbuckets = tree->nbuckets + 2 * others;
	sort->nbuckets += range->nbuckets;
	Assert(sort->nbuckets <= sort->max_buckets);
}

/* Makes the splitter trees of this round's ranges. */
static void
choose_trees(ParallelSort *sort)
{
	int			npositions = positions_to_sample(sort->nrows, sort->nprocesses);
	Sample	   *samples = palloc(npositions * sizeof(Sample));
	uint64	   *words = palloc(SAMPLE_WORDS(npositions) * sizeof(uint64));
	int			nsamples = draw_samples(sort, samples, npositions);

	for (int r = 0; r < sort->round_ranges; r++)
	{
		ParallelRange *range = &sort->ranges[sort->round_first + r];
		int			n = 0;

		if (sort->variable && sort->nrounds > 0)
			choose_depth(range, samples, nsamples, r);
		for (int i = 0; i < nsamples; i++)
		{
			if (samples[i].range == r)
				words[n++] = sample_word(sort, range, &samples[i]);
		}
		choose_splitters(&sort->trees[r], words, n);
		number_buckets(sort, range, &sort->trees[r]);
		CHECK_FOR_INTERRUPTS();
	}
	pfree(words);
	pfree(samples);
}

/* ---------------------------------------------------------------- buckets */

/* Length of the longest key that was classified in a range of this round. */
static uint64
longest_key(const ParallelSort *sort, int number)
{
	uint64		longest = 0;

	for (int p = 0; p < sort->nprocesses; p++)
		longest = Max(longest, parallel_sort_longest(sort, p)[number]);
	return longest;
}

/* What the keys of a range's bucket have in common, and what is left to do. */
static void
describe_bucket(const ParallelSort *sort, int number, int b, ParallelBucket *bucket)
{
	const ParallelRange *range = &sort->ranges[sort->round_first + number];
	const SplitterTree *tree = &sort->trees[number];

	b -= range->tree_first;
	bucket->range = -1;
	bucket->kind = BUCKET_BY_WORD;
	bucket->depth = range->depth;
	if (b < 0 || b >= tree->nbuckets)
	{
		bucket->kind = BUCKET_SEGMENT;
		bucket->depth = range->from;
	}
	else if (sample_sort_bucket_is_equal(tree, b))
	{
		bucket->depth += sort->variable ? sizeof(uint64) : 1;
		if (!sort->variable)
			bucket->kind = bucket->depth == sort->squeeze.nwords ? BUCKET_FINISHED : BUCKET_BY_WORD;
		else if (sort->nrounds > 0 && longest_key(sort, number) <= bucket->depth)
			bucket->kind = BUCKET_FINISHED;
		else
			bucket->kind = BUCKET_SEGMENT;
	}
}

/* Adds up what the processes counted in this round. */
static void
describe_buckets(ParallelSort *sort)
{
	for (int r = 0; r < sort->round_ranges; r++)
	{
		const ParallelRange *range = &sort->ranges[sort->round_first + r];

		for (int b = range->first; b < range->first + range->nbuckets; b++)
		{
			describe_bucket(sort, r, b, &sort->buckets[b]);
			sort->buckets[b].nrows = 0;
			for (int p = 0; p < sort->nprocesses; p++)
				sort->buckets[b].nrows += parallel_sort_counts(sort, p)[b];
		}
	}
}

/* Makes ranges of this round's buckets that are too large, as far as there is room. */
static void
open_ranges(ParallelSort *sort)
{
	int			first = sort->ranges[sort->round_first].first;
	int			end = sort->nbuckets;

	sort->nrounds++;
	sort->round_first = sort->nranges;
	sort->round_ranges = 0;
	memset(sort->range_of, 0xff, end * sizeof(int16));
	if (sort->nrounds == SORT_PARALLEL_ROUNDS ||
		end + parallel_sort_round_buckets(sort->nrows, sort->nprocesses) > sort->max_buckets)
		return;
	for (int b = first; b < end && sort->round_ranges < sort->max_round_ranges; b++)
	{
		ParallelBucket *bucket = &sort->buckets[b];
		ParallelRange *range = &sort->ranges[sort->nranges];

		if (bucket->kind == BUCKET_FINISHED || bucket->nrows <= sort->huge_bucket)
			continue;
		range->from = range->depth = bucket->depth;
		bucket->range = sort->nranges++;
		sort->range_of[b] = sort->round_ranges++;
	}
}

/* ---------------------------------------------------------------- places */

/* Gives the buckets of a range, and of the ranges below it, their places from *next on, and each process its part. */
static void
place_range(ParallelSort *sort, const ParallelRange *range, uint64 *next)
{
	for (int b = range->first; b < range->first + range->nbuckets; b++)
	{
		ParallelBucket *bucket = &sort->buckets[b];

		if (bucket->range >= 0)
		{
			place_range(sort, &sort->ranges[bucket->range], next);
			continue;
		}
		bucket->start = *next;
		sort->order[sort->norder++] = b;
		for (int p = 0; p < sort->nprocesses; p++)
		{
			uint64	   *place = &parallel_sort_counts(sort, p)[b];
			uint64		n = *place;

			*place = *next;
			*next += n;
		}
	}
}

static int
compare_tasks(const void *a, const void *b)
{
	uint64		a_rows = ((const ParallelTask *) a)->nrows;
	uint64		b_rows = ((const ParallelTask *) b)->nrows;

	return (a_rows < b_rows) - (a_rows > b_rows);
}

/* Makes tasks of neighbouring buckets. */
static void
make_tasks(ParallelSort *sort)
{
	uint64		enough = sort->nrows / (SORT_TASKS_PER_PROCESS * sort->nprocesses);
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
			task = (ParallelTask) {0, i + 1, 0};
		}
	}
	qsort(sort->tasks, sort->ntasks, sizeof(ParallelTask), compare_tasks);
}

/* ---------------------------------------------------------------- rounds */

void
parallel_sort_plan_first_round(ParallelSort *sort)
{
	sort->nranges = 1;
	sort->round_ranges = 1;
	choose_trees(sort);
	sort->nfirst_buckets = sort->nbuckets;
}

void
parallel_sort_plan_next_round(ParallelSort *sort)
{
	uint64		end = 0;

	describe_buckets(sort);
	open_ranges(sort);
	if (sort->round_ranges > 0)
		choose_trees(sort);
	else
	{
		place_range(sort, &sort->ranges[0], &end);
		Assert(end == sort->nrows);
		make_tasks(sort);
	}
}
