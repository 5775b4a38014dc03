/*
 * sort/parallel_sort.c
 *		Several processes sort the rows of chunks together: the phases, and what every process does in them.
 *
 *	  sample			all: some rows at random
 *	  plan				the first process chooses splitters
 *	  classify			all: slices of the chunks are taken from a shared counter; each row's bucket, and how many of a process's
 *						rows a bucket gets
 *	  sample, plan, refine	again while there is a bucket too large to be one process's work: splitters of its own, and its rows
 *						are classified by them, wherever they are; no row has moved yet
 *	  place				the first process adds up: where each process's rows of each bucket go
 *	  scatter			all: each process's slices, to the items
 *	  sort the buckets	all: taken from a shared counter, large ones first
 *
 * and between any two of them all processes wait for each other.  On demand, the reader does the last two for
 * the bucket of a row that it asks for.  Each phase's own work is that of the serial sorts.
 *
 * A bucket is too large with one part in 2 * nprocesses of the rows.  That takes a frequent value, in one of
 * several words or in 8 bytes of strings, so its rows have equal words, and the next word decides; see
 * parallel_sort_splitters.c.
 *
 * Nobody owns anything here but its private memory: a process that is interrupted leaves, and the memory
 * context that was current releases that.  What is shared belongs to whoever gave it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sort/parallel_sort_state.h"
#include "sort/sample_sort_packed.h"
#include "sort/string_sort.h"

/* ---------------------------------------------------------------- the shared memory */

/* Hands out parts of the shared memory, or only adds up their sizes if there is none. */
typedef struct Layout
{
	char *memory;
	Size used;
} Layout;

static void *
layout_take(Layout *layout, Size size)
{
	void *part = layout->memory != NULL ? layout->memory + layout->used : NULL;

	layout->used += TYPEALIGN(SORT_CACHE_LINE, size);
	return part;
}

/* Rows of a slice: so many that there are some slices for each process. */
static uint64
slice_rows(uint64 nrows, int nprocesses)
{
	return Min(nrows / (SORT_SLICES_PER_PROCESS * nprocesses) + 1, SORT_SLICE_ROWS);
}

static uint64
max_slices(uint64 nrows, uint64 nchunks, int nprocesses)
{
	return nrows / slice_rows(nrows, nprocesses) + nchunks;
}

static int
max_buckets(uint64 nrows, int nprocesses)
{
	return Max(SORT_FULL_ROUNDS * parallel_sort_round_buckets(nrows, nprocesses),
			   Min(nrows / SORT_ROWS_PER_BUCKET, SORT_PARALLEL_BUCKETS));
}

/* Gives everything in a sort of these facts its place. */
static void
lay_out(ParallelSort *sort, Layout *layout, uint64 nchunks)
{
	Size nbuckets = max_buckets(sort->nrows, sort->nprocesses);
	Size nround = PARALLEL_ROUND_SPLITS(sort->nprocesses);

	sort->max_buckets = nbuckets;
	sort->max_round_splits = nround;
	sort->max_splits = nround * SORT_PARALLEL_ROUNDS;
	layout_take(layout, sizeof(ParallelSort));
	sort->items = layout_take(layout, sort->nrows * sort_item_size(sort->item));
	sort->bucket_of = layout_take(layout, sort->nrows * sizeof(uint16));
	sort->slices =
		layout_take(layout, max_slices(sort->nrows, nchunks, sort->nprocesses) * sizeof(ParallelSlice));
	sort->samples =
		layout_take(layout, parallel_sort_samples(sort->nrows, sort->nprocesses) * sizeof(ParallelSample));
	sort->buckets = layout_take(layout, nbuckets * sizeof(ParallelBucket));
	sort->splits = layout_take(layout, sort->max_splits * sizeof(ParallelSplit));
	sort->trees = layout_take(layout, nround * sizeof(SplitterTree));
	sort->split_of = layout_take(layout, nbuckets * sizeof(int16));
	sort->counts = layout_take(layout, sort->nprocesses * nbuckets * sizeof(uint64));
	sort->longest = layout_take(layout, sort->nprocesses * nround * sizeof(uint64));
	sort->order = layout_take(layout, nbuckets * sizeof(uint16));
	sort->tasks = layout_take(layout, nbuckets * sizeof(ParallelTask));
}

Size
parallel_sort_shared_size(bool variable, SortItemKind item, uint64 nrows, uint64 nchunks, int nprocesses)
{
	ParallelSort sort = {.nprocesses = nprocesses, .variable = variable, .item = item, .nrows = nrows};
	Layout layout = {NULL, 0};

	lay_out(&sort, &layout, nchunks);
	return layout.used;
}

/* Cuts the chunks into slices. */
static void
make_slices(ParallelSort *sort)
{
	uint64 step = slice_rows(sort->nrows, sort->nprocesses);
	uint64 position = 0;

	for (const Chunk *chunk = sort->chunks; chunk != NULL; chunk = chunk->next)
		for (uint64 first = 0; first < chunk->nrows; first += step)
		{
			ParallelSlice *slice = &sort->slices[sort->nslices++];

			slice->chunk = chunk;
			slice->first = first;
			slice->position = position;
			slice->nrows = Min(chunk->nrows - first, step);
			position += slice->nrows;
		}
	Assert(position == sort->nrows);
}

ParallelSort *
parallel_sort_init(void *memory, const ParallelSortInput *input)
{
	ParallelSort *sort = memory;
	Layout layout = {memory, 0};
	uint64 nchunks = 0;

	for (const Chunk *chunk = input->chunks; chunk != NULL; chunk = chunk->next)
		nchunks++;
	memset(sort, 0, sizeof(ParallelSort));
	sort->nprocesses = input->nprocesses;
	sort->variable = input->variable;
	sort->ends = input->ends;
	sort->chunks = input->chunks;
	sort->nrows = input->nrows;
	if (sort->variable)
		key_squeeze_plan_identity(&sort->squeeze, 1);
	else
		sort->squeeze = input->squeeze;
	sort->item = parallel_sort_item(input);
	sort->alone = sort->nprocesses == 1 || sort->nrows < SORT_PARALLEL_MIN_ROWS;
	sort->on_demand = input->on_demand && !sort->alone;
	sort->huge_bucket = sort->nrows / PARALLEL_ROUND_SPLITS(sort->nprocesses);
	sort->nsamples = parallel_sort_samples(sort->nrows, sort->nprocesses);
	sort->nsplits = 1;
	sort->round_splits = 1;
	pg_atomic_init_u64(&sort->next_slice, 0);
	pg_atomic_init_u64(&sort->next_task, 0);
	lay_out(sort, &layout, nchunks);
	memset(sort->splits, 0, sort->max_splits * sizeof(ParallelSplit));
	if (!sort->alone)
		make_slices(sort);
	return sort;
}

void *
parallel_sort_items(const ParallelSort *sort)
{
	return sort->items;
}

/* ---------------------------------------------------------------- private memory */

static Size
bucket_sorter_size(bool variable, SortItemKind item, uint64 nrows)
{
	return variable ? string_sort_scratch_size(nrows) : sample_sort_scratch_size(nrows, item);
}

/*
 * A process has one sorter, made for the rows of its first task; those of all processes are nrows at most.
 * What a sorter takes grows less than its rows do, so sorters for equal shares take the most, but for
 * scratch_capacity's share of the rows, which `alone` has too.  Of up to PACKED_MAX rows it takes no levels:
 * with so many more each has its levels counted.
 */
Size
parallel_sort_private_size(bool variable, SortItemKind item, uint64 nrows, int nprocesses)
{
	Size alone = bucket_sorter_size(variable, item, nrows);

	if (nprocesses == 1 || nrows < SORT_PARALLEL_MIN_ROWS)
		return alone;
	return alone + parallel_sort_plan_size(nrows, nprocesses) +
		   nprocesses * (parallel_refiner_size(PARALLEL_ROUND_SPLITS(nprocesses)) +
						 bucket_sorter_size(variable, item, nrows / nprocesses + PACKED_MAX));
}

/* ---------------------------------------------------------------- all rows */

/*
 * Takes slices and classifies their rows by the first word.  As this process has to refine and scatter them
 * as well, it takes not many more than its share, even if it is the first one here.
 */
static void
classify_slices(ParallelSort *sort, int process)
{
	uint64 *counts = parallel_sort_counts(sort, process);
	int share = sort->nslices / sort->nprocesses;

	memset(counts, 0, sort->nbuckets * sizeof(uint64));
	for (int n = 0; n <= share + share / SORT_EXTRA_SLICES; n++)
	{
		uint64 i = pg_atomic_fetch_add_u64(&sort->next_slice, 1);
		ParallelSlice *slice;

		if (i >= sort->nslices)
			break;
		slice = &sort->slices[i];
		slice->process = process;
		sample_sort_classify_entries(&sort->trees[0], slice->chunk, slice->first, slice->nrows,
									 &sort->squeeze, sort->bucket_of + slice->position, counts);
	}
}

/* Classifies the rows of this process's slices that are in buckets to be distributed further. */
static void
refine_slices(ParallelSort *sort, int process)
{
	ParallelRefiner *refiner = parallel_refiner_create(sort, process);

	for (int i = 0; i < sort->nslices; i++)
	{
		if (sort->slices[i].process == process)
			parallel_refiner_classify(refiner, &sort->slices[i]);
	}
	pfree(refiner);
}

/* Puts this process's rows where their buckets' parts are. */
static void
scatter_slices(ParallelSort *sort, int process)
{
	uint64 *ends = parallel_sort_counts(sort, process);

	for (int i = 0; i < sort->nslices; i++)
	{
		const ParallelSlice *slice = &sort->slices[i];

		if (slice->process == process)
			sample_sort_scatter_entries(ends, slice->chunk, slice->first, slice->nrows, &sort->squeeze,
										sort->bucket_of + slice->position, sort->items);
	}
}

/* ---------------------------------------------------------------- buckets */

/* A process's sorter of buckets of either kind of keys. */
typedef struct BucketSorter
{
	SampleSorter *fixed;
	StringSorter *strings;
} BucketSorter;

static void
bucket_sorter_create(BucketSorter *sorter, const ParallelSort *sort, uint64 max_items)
{
	sorter->fixed = sort->variable ? NULL : sample_sorter_create(max_items, sort->item);
	sorter->strings = sort->variable ? string_sorter_create(max_items, sort->ends) : NULL;
}

static void
bucket_sorter_free(BucketSorter *sorter)
{
	if (sorter->fixed != NULL)
		sample_sorter_free(sorter->fixed);
	if (sorter->strings != NULL)
		string_sorter_free(sorter->strings);
}

static void
sort_bucket(const ParallelSort *sort, BucketSorter *sorter, const ParallelBucket *bucket)
{
	char *items = sort->items + bucket->start * sort_item_size(sort->item);

	if (bucket->nrows <= 1 || bucket->kind == BUCKET_FINISHED)
		return;
	if (sort->variable)
		string_sorter_sort(sorter->strings, (StringSortItem *) items, bucket->nrows, bucket->depth,
						   bucket->kind == BUCKET_BY_WORD);
	else
		sample_sorter_sort(sorter->fixed, items, bucket->nrows, bucket->depth);
}

/* Takes tasks and sorts their buckets.  The first one that a process takes is its largest. */
static void
sort_buckets(ParallelSort *sort)
{
	BucketSorter sorter = {NULL, NULL};
	uint64 i;

	while ((i = pg_atomic_fetch_add_u64(&sort->next_task, 1)) < sort->ntasks)
	{
		const ParallelTask *task = &sort->tasks[i];

		if (sorter.fixed == NULL && sorter.strings == NULL)
			bucket_sorter_create(&sorter, sort, task->nrows);
		for (int b = 0; b < task->nbuckets; b++)
		{
			sort_bucket(sort, &sorter, &sort->buckets[sort->order[task->first + b]]);
			CHECK_FOR_INTERRUPTS();
		}
	}
	bucket_sorter_free(&sorter);
}

/* ---------------------------------------------------------------- buckets on demand */

/* The last bucket that begins at the item or before it: empty ones are before the one that has it. */
static int
bucket_with(const ParallelSort *sort, uint64 number)
{
	int first = 0;
	int end = sort->norder;

	while (end - first > 1)
	{
		int middle = first + (end - first) / 2;

		if (sort->buckets[sort->order[middle]].start <= number)
			first = middle;
		else
			end = middle;
	}
	return sort->order[first];
}

/*
 * Puts the rows of a bucket where its items are, behind each other: the first process's part is the first
 * one.
 */
static void
gather_bucket(const ParallelSort *sort, int bucket)
{
	uint64 *ends = parallel_sort_counts(sort, 0);

	for (int i = 0; i < sort->nslices; i++)
	{
		const ParallelSlice *slice = &sort->slices[i];
		const uint16 *bucket_of = sort->bucket_of + slice->position;

		for (int row = 0, end; row < slice->nrows; row = end + 1)
		{
			/* rows of a frequent value follow each other */
			for (end = row; end < slice->nrows && bucket_of[end] == bucket; end++)
				;
			if (end > row)
				sample_sort_scatter_entries(ends, slice->chunk, slice->first + row, end - row, &sort->squeeze,
											bucket_of + row, sort->items);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

static void
settle_bucket(const ParallelSort *sort, int number)
{
	ParallelBucket *bucket = &sort->buckets[number];
	BucketSorter sorter;

	if (bucket->nrows == 0 || bucket->settled)
		return;
	gather_bucket(sort, number);
	bucket->settled = true;
	if (bucket->kind == BUCKET_FINISHED)
		return;
	bucket_sorter_create(&sorter, sort, bucket->nrows);
	sort_bucket(sort, &sorter, bucket);
	bucket_sorter_free(&sorter);
}

bool
parallel_sort_is_on_demand(const ParallelSort *sort)
{
	return sort->on_demand;
}

void
parallel_sort_settle(ParallelSort *sort, uint64 number)
{
	settle_bucket(sort, bucket_with(sort, number));
}

void
parallel_sort_settle_all(ParallelSort *sort)
{
	for (int process = 0; process < sort->nprocesses; process++)
		scatter_slices(sort, process);
	sort_buckets(sort);
}

/* ---------------------------------------------------------------- the sort */

static void
sort_alone(ParallelSort *sort)
{
	if (sort->variable)
		string_sort_chunks(sort->chunks, sort->nrows, sort->ends, (StringSortItem *) sort->items);
	else
		sample_sort_chunks(sort->chunks, sort->nrows, &sort->squeeze, sort->items);
}

/* All processes find each row's bucket. */
static void
classify(ParallelSort *sort, int process, const ParallelSortSync *sync)
{
	for (;;)
	{
		parallel_sort_draw_samples(sort, process);
		sync->wait(sync->arg);
		if (process == 0)
			parallel_sort_choose_splitters(sort);
		sync->wait(sync->arg);
		if (sort->nrounds == 0)
			classify_slices(sort, process);
		else
			refine_slices(sort, process);
		sync->wait(sync->arg);
		if (process == 0)
			parallel_sort_end_round(sort);
		sync->wait(sync->arg);
		if (sort->round_splits == 0)
			break;
	}
}

void
parallel_sort_run(ParallelSort *sort, int process, const ParallelSortSync *sync)
{
	if (sort->alone)
	{
		if (process == 0)
			sort_alone(sort);
	}
	else
	{
		classify(sort, process, sync);
		if (!sort->on_demand)
		{
			scatter_slices(sort, process);
			sync->wait(sync->arg);
			sort_buckets(sort);
		}
	}
	sync->wait(sync->arg);
}
