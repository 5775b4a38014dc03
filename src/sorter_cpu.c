/*
 * sorter_cpu.c
 *		The cpu device: sorts in the backend's own memory, past its limit in temporary files.
 *
 * Filled chunks are kept.  As long as chunks and the arrays that sorting them takes stay within the limit, all is
 * in memory: perform sorts, next walks over the sorted items.  When the next chunk would
 * not fit, what is there is sorted and written out as a run, and the chunks are
 * filled again.  Runs are merged as many at a time as memory has room for readers'
 * buffers, the last time on the fly, or into a row store where the reader wants to go backwards.
 *
 * Chunks are counted as they are allocated; a chunk's max_rows keeps room for the arrays.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"

#include "huge_memory.h"
#include "merge.h"
#include "row_store.h"
#include "run.h"
#include "sorted_items.h"
#include "sorter.h"

/* The first chunk is small, for the sake of small sorts; each next one is twice as large, up to the largest. */
#define CHUNK_SIZE_MIN ((Size) 64 * 1024)
#define CHUNK_SIZE_MAX ((Size) 32 * 1024 * 1024)

/* At so many chunks of equal size does the limit shrink them, so that the last one wastes little. */
#define CHUNKS_PER_LIMIT 16

/* Less memory than this is not worth having; a smaller limit is taken as this one. */
#define MEMORY_LIMIT_MIN ((Size) 512 * 1024)

/* A chunk that could take fewer rows than this is not begun. */
#define CHUNK_ROWS_MIN 32

#define MERGE_BUFFER_MIN ((Size) 16 * 1024)
#define MERGE_BUFFER_MAX ((Size) 1024 * 1024)
#define MERGE_FAN_IN_MIN 4
#define MERGE_FAN_IN_MAX 1024

#define INTERRUPTS_EVERY 1024	/* rows */

typedef enum CpuSorterState
{
	CPU_FEEDING,
	CPU_IN_MEMORY,				/* rows come from the sorted items */
	CPU_MERGING,				/* rows come from the merge of the runs */
	CPU_STORED					/* rows come from the row store */
} CpuSorterState;

typedef struct CpuSorter
{
	Sorter		base;
	const SortKey *key;
	Size		limit;
	bool		random_access;
	MemoryContext context;		/* all that the sorter holds */
	CpuSorterState state;

	Chunk	   *chunks;			/* filled, in feed order */
	Chunk	  **chunks_end;
	Chunk	   *empty_chunks;	/* from an earlier run */
	Size		chunk_memory;	/* bytes of all chunks */
	Size		next_chunk_size;
	uint64		nrows;			/* in the filled chunks */

	SortedItems sorted;
	int64		position;		/* in sorted: the row last returned, -1 before the first, nrows after the last */
	int64		mark_position;

	Run		  **runs;
	int			nruns;
	int			runs_capacity;
	Merger	   *merger;
	RowStore   *store;
	RowStorePosition store_mark;

	SorterStats stats;
} CpuSorter;

/* ---------------------------------------------------------------- memory */

static void
note_memory(CpuSorter *sorter, Size bytes)
{
	sorter->stats.peak_memory = Max(sorter->stats.peak_memory, bytes);
}

static double
milliseconds_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* How many rows could be sorted with the chunks there are and one more of so many bytes? */
static uint64
rows_within_limit(const CpuSorter *sorter, Size more_chunk)
{
	Size		chunks = sorter->chunk_memory + more_chunk;
	Size		left = sorter->limit > chunks ? sorter->limit - chunks : 0;
	uint64		rows = left / (sorted_items_memory(sorter->key, 1 << 20) >> 20);

	while (rows > 0 && sorted_items_memory(sorter->key, rows) > left)
		rows -= rows / 64 + 1;
	return rows;
}

static Chunk *
chunk_create(CpuSorter *sorter, Size size)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	Chunk	   *chunk = palloc0(sizeof(Chunk));

	chunk->size = TYPEALIGN_DOWN(8, size);
	chunk->base = huge_alloc(chunk->size);
	sorter->chunk_memory += chunk->size;
	MemoryContextSwitchTo(old);
	return chunk;
}

static void
chunk_free(CpuSorter *sorter, Chunk *chunk)
{
	sorter->chunk_memory -= chunk->size;
	pfree(chunk->base);
	pfree(chunk);
}

static void
free_chunk_list(CpuSorter *sorter, Chunk **list)
{
	while (*list != NULL)
	{
		Chunk	   *chunk = *list;

		*list = chunk->next;
		chunk_free(sorter, chunk);
	}
}

/* An empty chunk left over from an earlier run that is large enough, or NULL. */
static Chunk *
take_empty_chunk(CpuSorter *sorter, Size at_least)
{
	for (Chunk **link = &sorter->empty_chunks; *link != NULL; link = &(*link)->next)
	{
		Chunk	   *chunk = *link;

		if (chunk->size >= at_least)
		{
			*link = chunk->next;
			return chunk;
		}
	}
	return NULL;
}

/* Size of the next chunk to allocate. */
static Size
chunk_size(const CpuSorter *sorter, Size at_least)
{
	return Max(sorter->next_chunk_size, TYPEALIGN(8, at_least));
}

static void
grow_chunk_size(CpuSorter *sorter)
{
	Size		largest = Max(CHUNK_SIZE_MIN, Min(CHUNK_SIZE_MAX, sorter->limit / CHUNKS_PER_LIMIT));

	sorter->next_chunk_size = Min(sorter->next_chunk_size * 2, largest);
}

/* ---------------------------------------------------------------- sorting and spilling */

static void
sort_chunks(CpuSorter *sorter)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	note_memory(sorter, sorter->chunk_memory + sorted_items_memory(sorter->key, sorter->nrows));
	sorted_items_make(&sorter->sorted, sorter->key, sorter->chunks, sorter->nrows);
	sorter->stats.sort_ms += milliseconds_since(start);
}

static void
add_run(CpuSorter *sorter, Run *run)
{
	if (sorter->nruns == sorter->runs_capacity)
	{
		sorter->runs_capacity = Max(16, sorter->runs_capacity * 2);
		sorter->runs = sorter->runs == NULL ? palloc(sizeof(Run *) * sorter->runs_capacity)
			: repalloc(sorter->runs, sizeof(Run *) * sorter->runs_capacity);
	}
	sorter->runs[sorter->nruns++] = run;
}

static void
write_sorted_items(const SortedItems *sorted, Run *run)
{
	for (uint64 i = 0; i < sorted->nrows; i++)
	{
		if (i % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		sorted_items_prefetch(sorted, i, 1);
		if (sorted->variable)
			run_write_record(run, sorted_items_record(sorted, i));
		else
			run_write_fixed(run, sorted_items_key(sorted, i), sorted_items_row(sorted, i));
	}
}

/* Sorts the filled chunks into a run; they become empty ones. */
static void
spill(CpuSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	instr_time	start;
	Run		   *run;

	sort_chunks(sorter);
	INSTR_TIME_SET_CURRENT(start);
	run = run_create(sorter->key->variable ? NULL : &sorter->sorted.squeeze);
	add_run(sorter, run);
	write_sorted_items(&sorter->sorted, run);
	sorted_items_free(&sorter->sorted);
	sorter->stats.disk_bytes += run->bytes;
	sorter->stats.runs++;
	sorter->stats.spill_ms += milliseconds_since(start);

	*sorter->chunks_end = sorter->empty_chunks;
	sorter->empty_chunks = sorter->chunks;
	sorter->chunks = NULL;
	sorter->chunks_end = &sorter->chunks;
	sorter->nrows = 0;
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- merging */

/* How many runs can be merged at once, each through a buffer of the least size? */
static int
merge_fan_in(const CpuSorter *sorter)
{
	Size		fan_in = sorter->limit / (MERGE_BUFFER_MIN + RUN_READER_OVERHEAD);

	return Max(MERGE_FAN_IN_MIN, Min(MERGE_FAN_IN_MAX, fan_in));
}

static Merger *
begin_merge(CpuSorter *sorter, int nruns)
{
	Size		share = sorter->limit / (nruns + 1);
	Size		buffer = share > RUN_READER_OVERHEAD ? share - RUN_READER_OVERHEAD : 0;
	Merger	   *merger;

	buffer = Max(MERGE_BUFFER_MIN, Min(MERGE_BUFFER_MAX, buffer));
	note_memory(sorter, (buffer + RUN_READER_OVERHEAD) * nruns);
	merger = merger_begin(sorter->runs, nruns, buffer);
	sorter->nruns -= nruns;
	memmove(sorter->runs, sorter->runs + nruns, sizeof(Run *) * sorter->nruns);
	sorter->stats.merge_passes++;
	return merger;
}

/* Merges the first nruns runs into a new one at the end. */
static void
merge_into_run(CpuSorter *sorter, int nruns)
{
	Merger	   *merger = begin_merge(sorter, nruns);
	bool		variable = sorter->key->variable;
	KeySqueeze	whole;			/* keys of several runs: nothing is known to be common */
	const RunReader *reader;
	Run		   *run;

	if (!variable)
		key_squeeze_plan_identity(&whole, sorter->key->width / sizeof(uint64));
	run = run_create(variable ? NULL : &whole);

	while ((reader = merger_next(merger)) != NULL)
	{
		if (run->rows % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (variable)
			run_write_record(run, reader->record);
		else
			run_write_fixed(run, reader->key, reader->row);
	}
	sorter->stats.disk_bytes += run->bytes;
	merger_end(merger);
	add_run(sorter, run);
}

static void
merge_into_store(CpuSorter *sorter)
{
	Merger	   *merger = begin_merge(sorter, sorter->nruns);
	const RunReader *reader;
	uint64		nrows = 0;

	sorter->store = row_store_create();
	while ((reader = merger_next(merger)) != NULL)
	{
		if (nrows++ % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		row_store_write(sorter->store, reader->row);
	}
	sorter->stats.disk_bytes += sorter->store->bytes;
	merger_end(merger);
}

static void
merge_runs(CpuSorter *sorter)
{
	int			fan_in = merge_fan_in(sorter);
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	while (sorter->nruns > fan_in)
		merge_into_run(sorter, Min(fan_in, sorter->nruns - fan_in + 1));
	if (sorter->random_access)
	{
		merge_into_store(sorter);
		sorter->state = CPU_STORED;
	}
	else
	{
		sorter->merger = begin_merge(sorter, sorter->nruns);
		sorter->state = CPU_MERGING;
	}
	sorter->stats.merge_ms += milliseconds_since(start);
}

/* ---------------------------------------------------------------- the device */

static Sorter *
cpu_begin(const SortKey *key, Size memory_limit, bool random_access)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "GpuSort cpu device", ALLOCSET_DEFAULT_SIZES);
	CpuSorter  *sorter = MemoryContextAllocZero(context, sizeof(CpuSorter));

	sorter->base.device = &sort_device_cpu;
	sorter->key = key;
	sorter->limit = Max(memory_limit, MEMORY_LIMIT_MIN);
	sorter->random_access = random_access;
	sorter->context = context;
	sorter->state = CPU_FEEDING;
	sorter->chunks_end = &sorter->chunks;
	sorter->next_chunk_size = CHUNK_SIZE_MIN;
	return &sorter->base;
}

static Chunk *
cpu_get_chunk(Sorter *base, Size at_least)
{
	CpuSorter  *sorter = (CpuSorter *) base;
	Chunk	   *chunk = take_empty_chunk(sorter, at_least);
	Size		size = chunk_size(sorter, at_least);
	uint64		rows;

	if (sorter->nrows > 0 &&
		rows_within_limit(sorter, chunk != NULL ? 0 : size) < sorter->nrows + CHUNK_ROWS_MIN)
	{
		if (chunk != NULL)
		{
			chunk->next = sorter->empty_chunks;
			sorter->empty_chunks = chunk;
		}
		spill(sorter);
		chunk = take_empty_chunk(sorter, at_least);
	}
	if (chunk == NULL)
	{
		/* a row wider than any chunk so far: its chunk may take the place of the others */
		if (sorter->chunk_memory + size > sorter->limit)
			free_chunk_list(sorter, &sorter->empty_chunks);
		chunk = chunk_create(sorter, size);
		grow_chunk_size(sorter);
		note_memory(sorter, sorter->chunk_memory);
	}
	rows = rows_within_limit(sorter, 0);
	chunk->max_rows = rows > sorter->nrows ? rows - sorter->nrows : 1;
	chunk->next = NULL;
	chunk_reset(chunk);
	return chunk;
}

static void
cpu_put_chunk(Sorter *base, Chunk *chunk)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	*sorter->chunks_end = chunk;
	sorter->chunks_end = &chunk->next;
	sorter->nrows += chunk->nrows;
	sorter->stats.rows += chunk->nrows;
}

static void
cpu_perform(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	if (sorter->nruns == 0)
	{
		free_chunk_list(sorter, &sorter->empty_chunks);
		sort_chunks(sorter);
		sorter->state = CPU_IN_MEMORY;
		sorter->position = -1;
		sorter->stats.method = sorter->sorted.method;
	}
	else
	{
		if (sorter->nrows > 0)
			spill(sorter);
		free_chunk_list(sorter, &sorter->empty_chunks);
		sorter->stats.method = "external merge";
		merge_runs(sorter);
	}
	MemoryContextSwitchTo(old);
}

static inline MinimalTuple
next_in_memory(CpuSorter *sorter, bool forward)
{
	int64		end = sorter->sorted.nrows;
	int64		position = sorter->position + (forward ? 1 : -1);

	sorter->position = Max(-1, Min(end, position));
	if (position < 0 || position >= end)
		return NULL;
	sorted_items_prefetch(&sorter->sorted, position, forward ? 1 : -1);
	return sorted_items_row(&sorter->sorted, position);
}

static MinimalTuple
next_merged(CpuSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	const RunReader *reader = merger_next(sorter->merger);

	MemoryContextSwitchTo(old);
	return reader != NULL ? reader->row : NULL;
}

static MinimalTuple
cpu_next(Sorter *base, bool forward)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	switch (sorter->state)
	{
		case CPU_IN_MEMORY:
			return next_in_memory(sorter, forward);
		case CPU_MERGING:
			Assert(forward);
			return next_merged(sorter);
		case CPU_STORED:
			return row_store_next(sorter->store, forward);
		case CPU_FEEDING:
			break;
	}
	elog(ERROR, "gpusort: rows asked for before the sort was performed");
}

static void
cpu_rewind(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	Assert(sorter->state != CPU_MERGING);
	sorter->position = -1;
	if (sorter->store != NULL)
		row_store_rewind(sorter->store);
}

static void
cpu_mark(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	sorter->mark_position = sorter->position;
	if (sorter->store != NULL)
		sorter->store_mark = sorter->store->position;
}

static void
cpu_restore(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	sorter->position = sorter->mark_position;
	if (sorter->store != NULL)
		sorter->store->position = sorter->store_mark;
}

static bool
cpu_has_random_access(const Sorter *base)
{
	return ((const CpuSorter *) base)->state != CPU_MERGING;
}

static void
cpu_get_stats(const Sorter *base, SorterStats *stats)
{
	*stats = ((const CpuSorter *) base)->stats;
}

static void
cpu_end(Sorter *base)
{
	CpuSorter  *sorter = (CpuSorter *) base;

	if (sorter->merger != NULL)
		merger_end(sorter->merger);
	if (sorter->store != NULL)
		row_store_drop(sorter->store);
	for (int i = 0; i < sorter->nruns; i++)
		run_drop(sorter->runs[i]);
	MemoryContextDelete(sorter->context);
}

const SortDevice sort_device_cpu = {
	.name = "cpu",
	.begin = cpu_begin,
	.get_chunk = cpu_get_chunk,
	.put_chunk = cpu_put_chunk,
	.perform = cpu_perform,
	.next = cpu_next,
	.rewind = cpu_rewind,
	.mark = cpu_mark,
	.restore = cpu_restore,
	.has_random_access = cpu_has_random_access,
	.get_stats = cpu_get_stats,
	.end = cpu_end,
};
