/*
 * files/external_sort.c
 *		The part of a sort that does not fit in memory: sorted runs, their merging, reading the result.
 *
 * README.md tells of generations and merges.  Every row is written once a generation, and the number of runs,
 * and of open files, one a generation, stays small however much is sorted in however little memory.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/limits.h"
#include "base/stopwatch.h"
#include "files/external_sort.h"
#include "files/shared_runs.h"
#include "sort/record.h"

/* MERGE_FAN_IN_MIN to this power are more runs than there can be. */
#ifndef GENERATIONS_MAX
#define GENERATIONS_MAX 16
#endif

#define MERGE_BUFFER_MAX ((Size) 1024 * 1024)
#define MERGE_FAN_IN_MIN GENERATIONS_MAX /* then too many runs mean a generation with more than one */
#ifndef MERGE_FAN_IN_MAX
#define MERGE_FAN_IN_MAX 1024
#endif

/* Where an order is verified as runs are merged, this part of the memory is for rows being verified. */
#define VERIFIED_PART 8
#define VERIFIED_MAX ((Size) 1024 * 1024) /* stays in a processor's cache, and takes a millisecond or few */

/*
 * Rows that hold their sort columns are written without their keys, and these are made again when they are
 * read; but for small keys (SMALL_KEY_PART), which are next to nothing, unless rows are index tuples, whose
 * columns are at hand; and keys of more than so many times a row, which are of columns that are compressed or
 * stored out of line.
 */
#define LARGE_KEY_TIMES 4
#define KEY_SAMPLES 64 /* rows that are looked at to know */

typedef struct RunGeneration
{
	RunFile *file; /* of all its runs; NULL: there are none */
	Run **runs;	   /* room for fan_in of them */
	int nruns;
} RunGeneration;

struct ExternalSort
{
	const SortKey *key;
	RowKeys *row_keys;		   /* NULL: rows don't hold their sort columns */
	SortKeyComparer *comparer; /* of keys that only guess at the order; else NULL */
	char *key_buffer;		   /* for one with its tail */
	Size key_buffer_size;
	Size limit;
	bool random_access;
	MemoryContext context;
	SorterStats *stats;

	FileSet *files; /* whose files are for other processes, too; NULL: this one alone */
	int process;
	int nfiles; /* made there so far */

	int fan_in; /* runs that can be merged at once */
	RunGeneration generations[GENERATIONS_MAX];
	MergedRows *result; /* once the last run is there */
};

/* Memory for rows that are verified as runs are merged. */
static Size
verified_memory(Size limit)
{
	return Min(limit / VERIFIED_PART, VERIFIED_MAX);
}

/*
 * How many runs can be merged at once, each through a buffer of the least size, beside a generation of as
 * many runs?
 */
static int
merge_fan_in(Size limit)
{
	Size for_files = 2 * BUFFILE_MEMORY;
	Size for_run = MERGE_BUFFER_MIN + RUN_READER_OVERHEAD + sizeof(Run) + 2 * sizeof(Run *);
	Size fan_in = limit > for_files ? (limit - for_files) / for_run : 0;

	return Max(MERGE_FAN_IN_MIN, Min(MERGE_FAN_IN_MAX, fan_in));
}

/* How many runs it can merge at once with so much memory. */
static int
fan_in_with(const ExternalSort *external, Size limit)
{
	return merge_fan_in(limit - (external->comparer != NULL ? verified_memory(limit) : 0));
}

ExternalSort *
external_sort_create(const SortKey *key, TupleDesc rows, Size memory_limit, bool random_access,
					 SorterStats *stats)
{
	ExternalSort *external = palloc0(sizeof(ExternalSort));

	if (key->policy.index_rows != NULL)
		rows = key->policy.index_rows;
	external->key = key;
	external->row_keys = rows != NULL ? row_keys_create(key, rows) : NULL;
	external->comparer = key->verified ? sort_key_comparer_create(key) : NULL;
	external->limit = memory_limit;
	external->fan_in = fan_in_with(external, memory_limit);
	external->random_access = random_access;
	external->context = CurrentMemoryContext;
	external->stats = stats;
	return external;
}

void
external_sort_allow(ExternalSort *external, Size memory_limit)
{
	if (memory_limit <= external->limit)
		return;
	external->limit = memory_limit;
	external->fan_in = fan_in_with(external, memory_limit);
	for (int i = 0; i < GENERATIONS_MAX; i++)
	{
		RunGeneration *generation = &external->generations[i];

		if (generation->runs != NULL)
			generation->runs = repalloc(generation->runs, sizeof(Run *) * external->fan_in);
	}
}

void
external_sort_share(ExternalSort *external, FileSet *files, int process)
{
	external->files = files;
	external->process = process;
}

/* ---------------------------------------------------------------- runs */

/* The place of a generation's next run; that there is room is the caller's concern. */
static Run **
next_place(ExternalSort *external, int generation_number)
{
	RunGeneration *generation = &external->generations[generation_number];

	if (generation->nruns >= external->fan_in)
		elog(ERROR, "gpusort: there is no room for a sorted run of generation %d", generation_number);
	if (generation->runs == NULL)
		generation->runs = palloc(sizeof(Run *) * external->fan_in);
	return &generation->runs[generation->nruns++];
}

/* A new run of a generation that has room for it. */
static Run *
add_run(ExternalSort *external, int generation_number, const RunFormat *format)
{
	RunGeneration *generation = &external->generations[generation_number];
	Run **place = next_place(external, generation_number);

	if (generation->file == NULL)
		generation->file = run_file_create(external->files, external->process, external->nfiles++);
	return *place = run_create(generation->file, format);
}

/* Takes the first nruns runs of a generation off it, to runs. */
static void
take_runs(RunGeneration *generation, int nruns, Run **runs)
{
	memcpy(runs, generation->runs, sizeof(Run *) * nruns);
	generation->nruns -= nruns;
	memmove(generation->runs, generation->runs + nruns, sizeof(Run *) * generation->nruns);
	if (generation->nruns == 0)
		generation->file = NULL; /* goes with the last of them */
}

static int
count_runs(const ExternalSort *external)
{
	int nruns = 0;

	for (int i = 0; i < GENERATIONS_MAX; i++)
		nruns += external->generations[i].nruns;
	return nruns;
}

/* The key of a record, as it is written. */
static const void *
key_to_write(ExternalSort *external, const char *record, Size *size)
{
	*size = record_key_length(record);
	if (!record_tail_is_in_row(record))
		return record_key(record);
	if (*size > external->key_buffer_size)
	{
		if (external->key_buffer != NULL)
			pfree(external->key_buffer);
		external->key_buffer_size = 2 * *size;
		external->key_buffer = MemoryContextAllocHuge(external->context, external->key_buffer_size);
	}
	return record_whole_key(record, external->key_buffer);
}

/* Is making the keys again out of rows better than having them written and read? */
static bool
keys_are_better_made(ExternalSort *external, SortedRows *sorted, const ValueRanks *ranks)
{
	uint64 step = sorted->nrows / KEY_SAMPLES + 1;
	Size keys = 0;
	Size rows = 0;

	for (uint64 i = 0; i < sorted->nrows; i += step)
	{
		Size key = sorted->squeeze.nwords * sizeof(uint64);

		if (ranks != NULL)
			(void) value_ranks_plain_key(ranks, sorted, i, &key);
		else if (sorted->variable)
			(void) key_to_write(external, sorted_rows_address(sorted, i), &key);
		keys += key;
		rows += sorted_rows_row(sorted, i)->t_len;
	}
	if (keys * SMALL_KEY_PART <= rows && external->key->policy.index_rows == NULL)
		return false;
	return keys <= rows * LARGE_KEY_TIMES;
}

/* Keys alone are written where they tell the rows, but those of ICU, which are larger than the rows. */
static RunContent
choose_content(ExternalSort *external, SortedRows *sorted, const ValueRanks *ranks)
{
	if (external->key->policy.alone && !external->key->uses_icu)
		return RUN_KEYS;
	return external->row_keys != NULL && keys_are_better_made(external, sorted, ranks) ? RUN_ROWS
																					   : RUN_KEYS_AND_ROWS;
}

static void
write_rows(ExternalSort *external, SortedRows *sorted, Run *run)
{
	for (uint64 i = 0; i < sorted->nrows; i++)
	{
		if (i % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		sorted_rows_prefetch(sorted, i, 1);
		if (sorted->variable)
		{
			const char *record = sorted_rows_address(sorted, i);
			bool keeps_row = run->format.content != RUN_KEYS || record_has_row(record);
			Size size;
			const void *key = key_to_write(external, record, &size);

			run_write_variable(run, key, size, keeps_row ? sorted_rows_row(sorted, i) : NULL);
		}
		else
			run_write_fixed(run, sorted_rows_key(sorted, i),
							sorted->rows == NULL ? (StoredRow) sorted_rows_address(sorted, i) : NULL);
	}
}

/* The same for rows whose keys have ranks. */
static void
write_ranked(SortedRows *sorted, const ValueRanks *ranks, Run *run)
{
	bool keeps_row = run->format.content != RUN_KEYS || !ranks->key->coding->plain_tells;

	for (uint64 i = 0; i < sorted->nrows; i++)
	{
		StoredRow row;
		const uint8 *key;
		Size size;

		if (i % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		sorted_rows_prefetch(sorted, i, 1);
		row = sorted_rows_row(sorted, i);
		if (run->format.content == RUN_ROWS && !run_notes_next(run))
		{
			run_write_row(run, row);
			continue;
		}
		key = value_ranks_plain_key(ranks, sorted, i, &size);
		run_write_variable(run, key, size, keeps_row ? row : NULL);
	}
}

void
external_sort_end_run(ExternalSort *external, const Run *run, double ms)
{
	external->stats->disk_bytes += run->bytes;
	external->stats->runs++;
	external->stats->spill_ms += ms;
}

void
external_sort_add_run(ExternalSort *external, SortedRows *sorted, const ValueRanks *ranks)
{
	MemoryContext old = MemoryContextSwitchTo(external->context);
	Stopwatch watch = stopwatch_start();
	RunFormat format = {.variable = external->key->variable,
						.content = choose_content(external, sorted, ranks)};
	Run *run;

	if (!format.variable)
		format.squeeze = sorted->squeeze;
	run = add_run(external, 0, &format);
	if (ranks != NULL)
		write_ranked(sorted, ranks, run);
	else
		write_rows(external, sorted, run);
	external_sort_end_run(external, run, stopwatch_ms(watch));
	MemoryContextSwitchTo(old);
}

/* A new run of a generation, not of rows whose keys have something in common that is known. */
static Run *
add_run_of_any(ExternalSort *external, int generation, RunContent content)
{
	RunFormat format = {.variable = external->key->variable, .content = content};

	if (!format.variable)
		key_squeeze_plan_identity(&format.squeeze, external->key->width / sizeof(uint64));
	return add_run(external, generation, &format);
}

Run *
external_sort_begin_run(ExternalSort *external)
{
	MemoryContext old = MemoryContextSwitchTo(external->context);
	Run *run;

	Assert(external->row_keys != NULL);
	run = add_run_of_any(external, 0, RUN_ROWS);
	MemoryContextSwitchTo(old);
	return run;
}

Size
external_sort_memory(const ExternalSort *external)
{
	Size bytes = count_runs(external) * sizeof(Run);

	for (int i = 0; i < GENERATIONS_MAX; i++)
	{
		const RunGeneration *generation = &external->generations[i];

		if (generation->nruns > 0)
			bytes += external->fan_in * sizeof(Run *) + BUFFILE_MEMORY;
		for (int j = 0; j < generation->nruns; j++)
			bytes += generation->runs[j]->room_for_milestones * sizeof(RunMilestone);
	}
	return bytes;
}

/* ---------------------------------------------------------------- merging */

/* Can these runs, whose rows fill windows, be merged by keys that guess at the order? */
static bool
can_guess(const ExternalSort *external, Run **runs, int nruns)
{
	if (external->comparer == NULL || nruns == 0)
		return false;
	for (int i = 0; i < nruns; i++)
	{
		if (runs[i]->format.content != RUN_ROWS)
			return false;
	}
	return true;
}

/*
 * A merger of these runs, with as large buffers as the limit allows beside so many bytes.  guess: by keys
 * that guess at the order, and *verified gives the rows; else that is NULL.
 */
static Merger *
begin_merge(ExternalSort *external, Run **runs, int nruns, bool guess, Size beside, VerifiedMerge **verified)
{
	Size window = guess ? verified_memory(external->limit) : 0;
	Size used = external_sort_memory(external) + window + beside;
	Size buffer;
	Merger *merger;

	for (int i = 0; i < nruns; i++)
		used += run_reader_overhead(runs[i]);
	buffer = external->limit > used ? (external->limit - used) / (nruns + 1) : 0;
	buffer = Max(MERGE_BUFFER_MIN, Min(MERGE_BUFFER_MAX, buffer));
	sorter_stats_note_memory(external->stats, used + buffer * nruns);
	external->stats->merge_passes++;
	if (external->comparer != NULL && external->row_keys != NULL)
		row_keys_make_images(external->row_keys, guess);
	merger = merger_begin(runs, nruns, buffer, external->row_keys, external->comparer, guess);
	*verified = guess ? verified_merge_create(merger, external->comparer, window, external->stats) : NULL;
	return merger;
}

static void
write_merged(Merger *merger, Run *run)
{
	const RunReader *reader;

	while ((reader = merger_next(merger)) != NULL)
	{
		if (run->rows % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (run->format.variable)
			run_write_variable(run, reader->key, reader->key_size, reader->has_row ? reader->row : NULL);
		else
			run_write_fixed(run, reader->fixed_key, reader->row);
	}
}

static void
write_verified(VerifiedMerge *merge, Run *run)
{
	StoredRow row;

	while ((row = verified_merge_next(merge)) != NULL)
	{
		if (run->rows % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		run_write_row(run, row);
	}
	verified_merge_end(merge);
}

/* Merges runs that were taken off their generations into one of this generation, which has room for it. */
static void
merge_runs(ExternalSort *external, Run **runs, int nruns, int generation)
{
	RunContent content = runs[0]->format.content;
	VerifiedMerge *verified;
	Merger *merger = begin_merge(external, runs, nruns, can_guess(external, runs, nruns), 0, &verified);
	Run *run;

	for (int i = 0; i < nruns; i++)
	{
		if (runs[i]->format.content == RUN_ROWS)
			content = RUN_ROWS;
	}
	run = add_run_of_any(external, generation, content);
	if (verified != NULL)
		write_verified(verified, run);
	else
		write_merged(merger, run);
	merger_end(merger);
	external->stats->disk_bytes += run->bytes;
}

/* Merges the first nruns runs of a generation into one of the next generation, which has room for it. */
static void
merge_up(ExternalSort *external, int generation, int nruns)
{
	Run **runs = palloc(sizeof(Run *) * nruns);

	take_runs(&external->generations[generation], nruns, runs);
	merge_runs(external, runs, nruns, generation + 1);
	pfree(runs);
}

bool
external_sort_is_full(const ExternalSort *external)
{
	return external->generations[0].nruns == external->fan_in;
}

void
external_sort_merge_full_generations(ExternalSort *external)
{
	MemoryContext old = MemoryContextSwitchTo(external->context);
	Stopwatch watch = stopwatch_start();
	int generation = 0;

	/* from the highest of the full generations down, so that there is always room above */
	while (external->generations[generation + 1].nruns == external->fan_in)
		generation++;
	for (; generation >= 0; generation--)
		merge_up(external, generation, external->fan_in);
	external->stats->merge_ms += stopwatch_ms(watch);
	MemoryContextSwitchTo(old);
}

/*
 * The lowest generation with several runs below one that has room.  There is one if there are more runs than
 * can be merged at once, for these are at least as many as there are generations.
 */
static int
generation_to_merge(const ExternalSort *external)
{
	for (int generation = 0; generation < GENERATIONS_MAX - 1; generation++)
	{
		if (external->generations[generation].nruns > 1 &&
			external->generations[generation + 1].nruns < external->fan_in)
			return generation;
	}
	elog(ERROR, "gpusort: there are %d sorted runs, and no room to merge them", count_runs(external));
}

/* Merges runs of the lowest generations until all that are left can be merged at once. */
static void
reduce_runs(ExternalSort *external)
{
	int excess;

	while ((excess = count_runs(external) - external->fan_in) > 0)
	{
		int generation = generation_to_merge(external);

		merge_up(external, generation, Min(excess + 1, external->generations[generation].nruns));
	}
}

/* Takes all runs off their generations; palloc'd. */
static Run **
take_all_runs(ExternalSort *external, int *nruns)
{
	Run **runs = palloc(sizeof(Run *) * Max(count_runs(external), 1));
	Run **end = runs;

	for (int i = 0; i < GENERATIONS_MAX; i++)
	{
		int of_generation = external->generations[i].nruns;

		if (of_generation > 0)
			take_runs(&external->generations[i], of_generation, end);
		end += of_generation;
	}
	*nruns = end - runs;
	return runs;
}

/*
 * Begins to merge all runs on the fly.  Rows that may be read again are merged in a way that has positions.
 */
static void
begin_last_merge(ExternalSort *external)
{
	int nruns;
	Run **runs = take_all_runs(external, &nruns);
	bool guess = !external->random_access && can_guess(external, runs, nruns);
	Size positions = external->random_access ? merged_rows_memory(nruns) : 0;
	VerifiedMerge *verified;
	Merger *merger = begin_merge(external, runs, nruns, guess, positions, &verified);

	external->result = merged_rows_create(merger, verified, external->key->policy.rows,
										  external->random_access, external->stats);
	pfree(runs);
}

void
external_sort_finish(ExternalSort *external)
{
	MemoryContext old = MemoryContextSwitchTo(external->context);
	Stopwatch watch = stopwatch_start();

	reduce_runs(external);
	begin_last_merge(external);
	external->stats->merge_ms += stopwatch_ms(watch);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- runs of several processes */

/*
 * Takes all runs off their generations, so many at most: the first ones, of the lowest generations, are
 * merged.
 */
static Run **
take_few_runs(ExternalSort *external, int most, int *nruns)
{
	Run **runs;
	int excess;

	reduce_runs(external);
	runs = take_all_runs(external, nruns);
	excess = *nruns - most;
	if (excess > 0)
	{
		merge_runs(external, runs, excess + 1, 0);
		take_runs(&external->generations[0], 1, &runs[excess]);
		memmove(runs, runs + excess, sizeof(Run *) * most);
		*nruns = most;
	}
	return runs;
}

void
external_sort_publish(ExternalSort *external, int most_runs)
{
	MemoryContext old = MemoryContextSwitchTo(external->context);
	Stopwatch watch = stopwatch_start();
	int nruns;
	Run **runs = take_few_runs(external, most_runs, &nruns);

	shared_runs_publish(external->files, external->process, runs, nruns);
	external->stats->merge_ms += stopwatch_ms(watch);
	external_sort_end(external);
	MemoryContextSwitchTo(old);
}

void
external_sort_adopt(ExternalSort *external, FileSet *files, int first, int nprocesses, SorterStats *stats)
{
	MemoryContext old = MemoryContextSwitchTo(external->context);
	int nruns;
	Run **runs = shared_runs_open(files, first, nprocesses, &nruns);

	for (int i = 0; i < nruns; i++)
	{
		if (external_sort_is_full(external))
			external_sort_merge_full_generations(external);
		*next_place(external, 0) = runs[i];
		runs[i]->file->stays = false; /* nobody else reads it */
		stats->rows += runs[i]->rows;
		stats->bytes += runs[i]->bytes;
		stats->disk_bytes += runs[i]->bytes;
	}
	stats->runs += nruns;
	pfree(runs);
	MemoryContextSwitchTo(old);
}

MergedRows *
external_sort_rows(const ExternalSort *external)
{
	return external->result;
}

void
external_sort_end(ExternalSort *external)
{
	if (external->result != NULL)
		merged_rows_end(external->result);
	for (int i = 0; i < GENERATIONS_MAX; i++)
	{
		for (int j = 0; j < external->generations[i].nruns; j++)
			run_drop(external->generations[i].runs[j]);
	}
	if (external->row_keys != NULL)
		row_keys_end(external->row_keys);
}
