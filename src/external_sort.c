/*
 * external_sort.c
 *		The part of a sort that does not fit in memory: sorted runs, their merging, reading the result.
 *
 * Runs are merged as many at a time as memory has room for readers' buffers.  When no more are left than can be
 * merged at once, the last merge is done on the fly, row by row as they are asked for; or, where the
 * reader wants to go backwards, into a row store.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "external_sort.h"
#include "merge.h"
#include "row_store.h"
#include "run.h"
#include "stopwatch.h"

#define MERGE_BUFFER_MIN ((Size) 16 * 1024)
#define MERGE_BUFFER_MAX ((Size) 1024 * 1024)
#define MERGE_FAN_IN_MIN 4
#define MERGE_FAN_IN_MAX 1024

/* What an open BufFile takes. */
#define BUFFILE_MEMORY (BLCKSZ + 256)

#define INTERRUPTS_EVERY 1024	/* rows */

struct ExternalSort
{
	const SortKey *key;
	Size		limit;
	bool		random_access;
	MemoryContext context;
	SorterStats *stats;

	RunFile    *spilled;		/* the file of the runs out of memory; NULL before the first */
	Run		  **runs;
	int			nruns;
	int			runs_capacity;
	Merger	   *merger;			/* the merge on the fly */
	RowStore   *store;			/* with random access */
	RowStorePosition mark;
};

ExternalSort *
external_sort_create(const SortKey *key, Size memory_limit, bool random_access, SorterStats *stats)
{
	ExternalSort *external = palloc0(sizeof(ExternalSort));

	external->key = key;
	external->limit = memory_limit;
	external->random_access = random_access;
	external->context = CurrentMemoryContext;
	external->stats = stats;
	return external;
}

/* ---------------------------------------------------------------- runs */

static Run *
add_run(ExternalSort *external, RunFile *file, const KeySqueeze *squeeze)
{
	Run		   *run = run_create(file, squeeze);

	if (external->nruns == external->runs_capacity)
	{
		external->runs_capacity = Max(16, external->runs_capacity * 2);
		external->runs = external->runs == NULL ? palloc(sizeof(Run *) * external->runs_capacity)
			: repalloc(external->runs, sizeof(Run *) * external->runs_capacity);
	}
	return external->runs[external->nruns++] = run;
}

static void
write_rows(SortedRows *sorted, Run *run)
{
	for (uint64 i = 0; i < sorted->nrows; i++)
	{
		if (i % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		sorted_rows_prefetch(sorted, i, 1);
		if (sorted->variable)
			run_write_record(run, sorted_rows_address(sorted, i));
		else
			run_write_fixed(run, sorted_rows_key(sorted, i), sorted_rows_row(sorted, i));
	}
}

void
external_sort_add_run(ExternalSort *external, SortedRows *sorted)
{
	MemoryContext old = MemoryContextSwitchTo(external->context);
	Stopwatch	watch = stopwatch_start();
	Run		   *run;

	if (external->spilled == NULL)
		external->spilled = run_file_create();
	run = add_run(external, external->spilled, sorted->variable ? NULL : &sorted->squeeze);
	write_rows(sorted, run);
	external->stats->disk_bytes += run->bytes;
	external->stats->runs++;
	external->stats->spill_ms += stopwatch_ms(watch);
	MemoryContextSwitchTo(old);
}

Size
external_sort_memory(const ExternalSort *external)
{
	return external->runs_capacity * sizeof(Run *) + external->nruns * sizeof(Run) + BUFFILE_MEMORY;
}

/* ---------------------------------------------------------------- merging */

/* How many runs can be merged at once, each through a buffer of the least size? */
static int
merge_fan_in(const ExternalSort *external)
{
	Size		fan_in = external->limit / (MERGE_BUFFER_MIN + RUN_READER_OVERHEAD);

	return Max(MERGE_FAN_IN_MIN, Min(MERGE_FAN_IN_MAX, fan_in));
}

/* Takes the first nruns runs out of the list, into a merger. */
static Merger *
begin_merge(ExternalSort *external, int nruns)
{
	Size		share = external->limit / (nruns + 1);
	Size		buffer = share > RUN_READER_OVERHEAD ? share - RUN_READER_OVERHEAD : 0;
	Merger	   *merger;

	buffer = Max(MERGE_BUFFER_MIN, Min(MERGE_BUFFER_MAX, buffer));
	sorter_stats_note_memory(external->stats, (buffer + RUN_READER_OVERHEAD) * nruns);
	merger = merger_begin(external->runs, nruns, buffer);
	external->nruns -= nruns;
	memmove(external->runs, external->runs + nruns, sizeof(Run *) * external->nruns);
	external->stats->merge_passes++;
	return merger;
}

/* Merges the first nruns runs into a new one at the end. */
static void
merge_into_run(ExternalSort *external, int nruns)
{
	Merger	   *merger = begin_merge(external, nruns);
	bool		variable = external->key->variable;
	KeySqueeze	whole;			/* keys of several runs: nothing is known to be common */
	const RunReader *reader;
	Run		   *run;

	if (!variable)
		key_squeeze_plan_identity(&whole, external->key->width / sizeof(uint64));
	run = add_run(external, run_file_create(), variable ? NULL : &whole);
	while ((reader = merger_next(merger)) != NULL)
	{
		if (run->rows % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (variable)
			run_write_record(run, reader->record);
		else
			run_write_fixed(run, reader->key, reader->row);
	}
	external->stats->disk_bytes += run->bytes;
	merger_end(merger);
}

static void
merge_into_store(ExternalSort *external)
{
	Merger	   *merger = begin_merge(external, external->nruns);
	const RunReader *reader;
	uint64		nrows = 0;

	external->store = row_store_create();
	while ((reader = merger_next(merger)) != NULL)
	{
		if (nrows++ % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		row_store_write(external->store, reader->row);
	}
	external->stats->disk_bytes += external->store->bytes;
	merger_end(merger);
}

void
external_sort_finish(ExternalSort *external)
{
	MemoryContext old = MemoryContextSwitchTo(external->context);
	Stopwatch	watch = stopwatch_start();
	int			fan_in = merge_fan_in(external);

	while (external->nruns > fan_in)
		merge_into_run(external, Min(fan_in, external->nruns - fan_in + 1));
	if (external->random_access)
		merge_into_store(external);
	else
		external->merger = begin_merge(external, external->nruns);
	external->stats->merge_ms += stopwatch_ms(watch);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- reading */

MinimalTuple
external_sort_next(ExternalSort *external, bool forward)
{
	MemoryContext old;
	const RunReader *reader;

	if (external->store != NULL)
		return row_store_next(external->store, forward);
	Assert(forward);
	old = MemoryContextSwitchTo(external->context);
	reader = merger_next(external->merger);
	MemoryContextSwitchTo(old);
	return reader != NULL ? reader->row : NULL;
}

void
external_sort_rewind(ExternalSort *external)
{
	row_store_rewind(external->store);
}

void
external_sort_mark(ExternalSort *external)
{
	external->mark = external->store->position;
}

void
external_sort_restore(ExternalSort *external)
{
	external->store->position = external->mark;
}

void
external_sort_end(ExternalSort *external)
{
	if (external->merger != NULL)
		merger_end(external->merger);
	if (external->store != NULL)
		row_store_drop(external->store);
	for (int i = 0; i < external->nruns; i++)
		run_drop(external->runs[i]);
}
