/*
 * files/run_ranges.c
 *		The rows of several processes' runs in order, a range of the order at a time.
 *
 * Ranges are cut by splitters, taken from the milestones that the runs have noted, each of which stands for
 * the bytes up to the next one.  A splitter is the beginning of a key: rows whose keys begin so belong behind
 * it.  A range begins in each run at the last milestone that is before its splitter, and what is read before
 * that is left out.
 */
#include "postgres.h"

#include "base/limits.h"
#include "files/merge.h"
#include "files/run_ranges.h"
#include "files/shared_runs.h"

#define BUFFER_MIN ((Size) 16 * 1024)
#define BUFFER_MAX ((Size) 1024 * 1024)

struct RunRanges
{
	KeyRow *key_row;
	RowKeys *row_keys;
	Run **runs;
	int nruns;
	MemoryContext context;
	Size memory;
	Merger *merger;
	RunPosition *positions; /* where a range begins, one for each run */

	int nranges;		 /* that there are splitters for */
	KeyStart *splitters; /* with which they begin but for the first one; NULL: none yet */

	KeyStart end; /* of the range, if it has one */
	bool has_end;
	const RunReader *behind; /* the first row behind the range, which has been read; NULL: it has not */
};

/* Bytes of memory of a run's milestones, so many, and of reading there. */
static Size
milestones_memory(int nmilestones)
{
	/* the second time while splitters are taken */
	return sizeof(RunPosition) + 2 * sizeof(RunMilestone) * nmilestones;
}

int
run_ranges_runs_each(int nprocesses, Size memory_limit)
{
	Size for_files = nprocesses * BUFFILE_MEMORY;
	Size for_run = BUFFER_MIN + RUN_READER_OVERHEAD + milestones_memory(RUN_MILESTONES_MAX);
	Size nruns = memory_limit > for_files ? (memory_limit - for_files) / for_run : 0;

	return Max(nruns / nprocesses, 1);
}

/* Bytes of memory of the runs, and of reading them but for the buffers. */
static Size
memory_without_buffers(const RunRanges *ranges)
{
	Size bytes = 0;

	for (int i = 0; i < ranges->nruns; i++)
		bytes += run_reader_overhead(ranges->runs[i]) + milestones_memory(ranges->runs[i]->nmilestones);
	return bytes;
}

RunRanges *
run_ranges_open(FileSet *files, int nprocesses, const SortKey *key, TupleDesc rows, Size memory_limit)
{
	RunRanges *ranges = palloc0(sizeof(RunRanges));
	Size used;
	Size buffer;

	ranges->context = CurrentMemoryContext;
	ranges->key_row = key->policy.rows;
	if (key->policy.index_rows != NULL)
		rows = key->policy.index_rows;
	ranges->row_keys = rows != NULL ? row_keys_create(key, rows) : NULL;
	ranges->runs = shared_runs_open(files, 0, nprocesses, &ranges->nruns);
	used = memory_without_buffers(ranges) + nprocesses * BUFFILE_MEMORY;
	buffer = memory_limit > used ? (memory_limit - used) / (ranges->nruns + 1) : 0;
	buffer = Max(BUFFER_MIN, Min(BUFFER_MAX, buffer));
	ranges->memory = used + buffer * ranges->nruns;
	ranges->merger = merger_begin(ranges->runs, ranges->nruns, buffer, ranges->row_keys, NULL, false);
	ranges->positions = palloc0(sizeof(RunPosition) * ranges->nruns);
	return ranges;
}

Size
run_ranges_memory(const RunRanges *ranges)
{
	return ranges->memory;
}

void
run_ranges_end(RunRanges *ranges)
{
	merger_end(ranges->merger);
	if (ranges->row_keys != NULL)
		row_keys_end(ranges->row_keys);
	pfree(ranges->runs);
	pfree(ranges->positions);
	if (ranges->splitters != NULL)
		pfree(ranges->splitters);
	pfree(ranges);
}

/* ---------------------------------------------------------------- splitters */

/* A milestone, and the bytes that it stands for. */
typedef struct WeighedMilestone
{
	const RunMilestone *milestone;
	uint64 bytes;
} WeighedMilestone;

static int
compare_milestones(const void *a, const void *b)
{
	return key_start_compare(&((const WeighedMilestone *) a)->milestone->key,
							 &((const WeighedMilestone *) b)->milestone->key);
}

/* The milestones of all runs in order; palloc'd. */
static WeighedMilestone *
weigh_milestones(const RunRanges *ranges, int *nmilestones, uint64 *bytes)
{
	int n = 0;
	WeighedMilestone *milestones;

	*bytes = 0;
	for (int i = 0; i < ranges->nruns; i++)
		n += ranges->runs[i]->nmilestones;
	milestones = palloc(sizeof(WeighedMilestone) * Max(n, 1));
	n = 0;
	for (int i = 0; i < ranges->nruns; i++)
	{
		const Run *run = ranges->runs[i];

		for (int j = 0; j < run->nmilestones; j++)
		{
			uint64 next = j + 1 < run->nmilestones ? run->milestones[j + 1].position.at : run->bytes;

			milestones[n++] = (WeighedMilestone){&run->milestones[j], next - run->milestones[j].position.at};
		}
		*bytes += run->bytes;
	}
	qsort(milestones, n, sizeof(WeighedMilestone), compare_milestones);
	*nmilestones = n;
	return milestones;
}

static void
choose_splitters(RunRanges *ranges, int nranges)
{
	int nmilestones;
	uint64 all;
	uint64 before = 0;
	WeighedMilestone *milestones = weigh_milestones(ranges, &nmilestones, &all);
	int at = 0;

	if (ranges->splitters != NULL)
		pfree(ranges->splitters);
	ranges->splitters = palloc0(sizeof(KeyStart) * nranges);
	ranges->nranges = nranges;
	for (int range = 1; range < nranges && nmilestones > 0; range++)
	{
		while (at < nmilestones - 1 && before + milestones[at].bytes <= all / nranges * range)
			before += milestones[at++].bytes;
		ranges->splitters[range] = milestones[at].milestone->key;
	}
	pfree(milestones);
}

/* ---------------------------------------------------------------- reading */

/* The last milestone of the run before this beginning of a key, or its first one. */
static RunPosition
position_before(const Run *run, const KeyStart *start)
{
	int milestone = 0;
	int end = run->nmilestones;

	while (end - milestone > 1)
	{
		int middle = (milestone + end) / 2;

		if (key_start_compare(&run->milestones[middle].key, start) < 0)
			milestone = middle;
		else
			end = middle;
	}
	return run->milestones[milestone].position;
}

void
run_ranges_seek(RunRanges *ranges, int range, int nranges)
{
	MemoryContext old = MemoryContextSwitchTo(ranges->context);

	if (ranges->nranges != nranges)
		choose_splitters(ranges, nranges);
	for (int i = 0; i < ranges->nruns; i++)
		ranges->positions[i] = position_before(ranges->runs[i], &ranges->splitters[range]);
	merger_seek(ranges->merger, ranges->positions);
	if (range > 0)
		merger_skip(ranges->merger, &ranges->splitters[range]);
	ranges->behind = NULL;
	ranges->has_end = range + 1 < nranges;
	if (ranges->has_end)
		ranges->end = ranges->splitters[range + 1];
	MemoryContextSwitchTo(old);
}

static const RunReader *
next_record(RunRanges *ranges)
{
	MemoryContext old = MemoryContextSwitchTo(ranges->context);
	const RunReader *reader = merger_next(ranges->merger);

	MemoryContextSwitchTo(old);
	return reader;
}

StoredRow
run_ranges_next(RunRanges *ranges)
{
	const RunReader *reader = ranges->behind;

	if (likely(reader == NULL))
		reader = next_record(ranges);
	if (reader == NULL)
		return NULL;
	if (ranges->has_end && !run_reader_is_before(reader, &ranges->end))
	{
		ranges->behind = reader;
		return NULL;
	}
	ranges->behind = NULL;
	return run_reader_row(reader, ranges->key_row);
}

void
run_ranges_pass_end(RunRanges *ranges)
{
	ranges->has_end = false;
}
