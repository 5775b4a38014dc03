/*
 * index/load.c
 *		Sorted tuples into pages: by one process, or ranges of them by all that have sorted them.
 *
 * Several processes load where the device lets each of them read the sorted rows.  The order is cut into
 * ranges of the same number of tuples, some for each process, which are shared out by the team (exec/team.h).
 * The leader decides whether several load, by the size of the index; it sets ntuples before it shares ranges
 * out.  loaded is an atomic counter.
 *
 * If the sorter fails while tuples are loaded, or two tuples break a unique index, it is an error, and the
 * abort removes the index's file.  So it is if the number of tuples loaded is not that of those sorted.
 */
#include "postgres.h"

#include "commands/progress.h"
#include "access/nbtree.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "utils/backend_progress.h"

#include "index/btree_levels.h"
#include "index/index_key.h"
#include "index/load.h"
#include "index/unique.h"
#include "key/key_row_coded.h"

/* Ranges for each process, so that none waits long for another. */
#define RANGES_PER_PROCESS 4

/*
 * A process more for each so many bytes of the index: each leaves some of the file's blocks unused at its
 * end, 256 kB at most, which is to be less than one part in a hundred of what it fills.
 */
#ifndef BYTES_PER_LOADER
#define BYTES_PER_LOADER (32 * 1024 * 1024)
#endif

/* Places where tuples are looked at to know how large an index will be, and how many there. */
#define SIZE_SAMPLES 4
#define SAMPLED_TUPLES 32

/* Tuples loaded between two reports of progress. */
#define REPORT_EVERY 1024

struct LoadShare
{
	int max_loaders;
	uint64 ntuples;
	pg_atomic_uint64 loaded; /* tuples, by all */
							 /* a BtreeShare behind it, aligned */
};

/* ---------------------------------------------------------------- tuples */

/* What a process needs to load tuples. */
typedef struct Loader
{
	const Load *load;
	BtreeWriter *writer;
	UniqueCheck *check; /* NULL: the index is not unique */
	KeyRow *rows;		/* makes tuples of keys with ranks; NULL: none */
	IndexTuple copy;	/* room for any */
	bool has_copy;		/* is it of the tuple before, of the same range? */
	LoadShare *share;	/* NULL: this process loads alone */
	uint64 loaded;		/* by this process */
	uint64 noted;		/* of these, those that the share knows of */
} Loader;

IndexTuple
load_next_tuple(Sorter *sorter)
{
	StoredRow row = sorter_next(sorter, true);

	return row != NULL ? &((IndexRow *) row)->tuple : NULL;
}

static void
init_loader(Loader *loader, const Load *load, BtreeWriter *writer)
{
	memset(loader, 0, sizeof(*loader));
	loader->load = load;
	loader->writer = writer;
	if (load->info->ii_Unique)
		loader->check = unique_check_create(load->heap, load->index, !load->info->ii_NullsNotDistinct);
	if (load->sorter->coded != NULL)
		loader->rows = load->sorter->coded->policy.rows;
	loader->copy = palloc(INDEX_SIZE_MASK + 1);
}

void
load_report_total(uint64 ntuples)
{
	const int params[] = {PROGRESS_CREATEIDX_TUPLES_TOTAL, PROGRESS_SCAN_BLOCKS_TOTAL,
						  PROGRESS_SCAN_BLOCKS_DONE};
	const int64 values[] = {ntuples, 0, 0};

	pgstat_progress_update_multi_param(lengthof(params), params, values);
}

static void
report_loaded(Progress *progress, uint64 loaded)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, loaded);
	progress_note_returned(progress, loaded);
}

static void
note_loaded(Loader *loader)
{
	uint64 all = loader->loaded;

	if (loader->share != NULL)
		all = pg_atomic_add_fetch_u64(&loader->share->loaded, loader->loaded - loader->noted);
	loader->noted = loader->loaded;
	if (loader->load->progress != NULL)
		report_loaded(loader->load->progress, all);
}

/*
 * A tuple may stand in memory that is shared with others: what is added is a copy, with the heap's tid.  The
 * copy is there already if the tuple repeats the one before.
 */
static inline void
load_tuple(Loader *loader, IndexTuple tuple)
{
	bool repeats = loader->has_copy && loader->rows != NULL && key_row_repeats(loader->rows, tuple);

	CHECK_FOR_INTERRUPTS();
	if (loader->check != NULL && tid_is_alive(tuple->t_tid))
		unique_check_next(loader->check, tuple);
	if (!repeats)
		btree_copy_tuple(loader->copy, tuple, IndexTupleSize(tuple));
	loader->has_copy = true;
	loader->copy->t_tid = tid_unmark(tuple->t_tid);
	btree_writer_add(loader->writer, loader->copy, repeats);
	if (++loader->loaded % REPORT_EVERY == 0)
		note_loaded(loader);
}

static void
report_phase(void)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_BTREE_PHASE_LEAF_LOAD);
}

static void
check_failure(const Load *load)
{
	if (load->sorter->failure == NULL)
		return;
	ereport(ERROR, (errcode(ERRCODE_SYSTEM_ERROR),
					errmsg("the sort for index \"%s\" on device \"%s\" could not be completed",
						   RelationGetRelationName(load->index), device_names[load->sorter->device->kind]),
					errdetail("Reason: %s.", load->sorter->failure),
					errhint("Build the index again, or set gpusort.backend to \"cpu\".")));
}

/* So many tuples were loaded. */
static void
check_number(const Load *load, uint64 loaded, double expected)
{
	if (loaded != (uint64) expected)
		elog(ERROR, "gpusort: index \"%s\" has got " UINT64_FORMAT " of %.0f tuples",
			 RelationGetRelationName(load->index), loaded, expected);
}

void
load_alone(const Load *load, IndexTuple first, double ntuples)
{
	Loader loader;

	init_loader(&loader, load, btree_writer_begin(load->heap, load->index, load->info->ii_Unique));
	report_phase();
	for (IndexTuple tuple = first; tuple != NULL; tuple = load_next_tuple(load->sorter))
		load_tuple(&loader, tuple);
	check_failure(load);
	btree_writer_finish(loader.writer);
	note_loaded(&loader);
	check_number(load, loader.loaded, ntuples);
}

/* ---------------------------------------------------------------- several processes */

static BtreeShare *
btree_share_of(LoadShare *share)
{
	return (BtreeShare *) ((char *) share + MAXALIGN(sizeof(LoadShare)));
}

Size
load_share_size(int nprocesses)
{
	return MAXALIGN(sizeof(LoadShare)) + btree_share_size(nprocesses * RANGES_PER_PROCESS);
}

void
load_share_init(LoadShare *share, int nprocesses, dsm_segment *segment)
{
	share->max_loaders = nprocesses;
	share->ntuples = 0;
	pg_atomic_init_u64(&share->loaded, 0);
	btree_share_init(btree_share_of(share), nprocesses * RANGES_PER_PROCESS, segment);
}

/* Adds the bytes that the next tuples will take behind the one before; returns how many these are. */
static int
sample_tuples(Sorter *sorter, IndexTuple before, double *bytes)
{
	for (int n = 0; n <= SAMPLED_TUPLES; n++)
	{
		IndexTuple tuple = load_next_tuple(sorter);
		Size size;

		if (tuple == NULL)
			return Max(n - 1, 0);
		size = IndexTupleSize(tuple);
		if (n > 0 && IndexTupleSize(before) == size &&
			memcmp(before + 1, tuple + 1, size - sizeof(IndexTupleData)) == 0)
			*bytes += sizeof(ItemPointerData);
		else if (n > 0)
			*bytes += size + sizeof(ItemIdData);
		memcpy(before, tuple, size);
	}
	return SAMPLED_TUPLES;
}

/*
 * The bytes that the index will take, about: of tuples with the key of the one before, only the tids are
 * kept.
 */
static double
estimate_bytes(Sorter *sorter, uint64 ntuples)
{
	IndexTuple before = palloc(INDEX_SIZE_MASK + 1);
	double bytes = 0;
	int nsamples = 0;

	for (int i = 0; i < SIZE_SAMPLES; i++)
	{
		sorter->device->seek_range(sorter, i, SIZE_SAMPLES);
		nsamples += sample_tuples(sorter, before, &bytes);
	}
	pfree(before);
	return bytes / Max(nsamples, 1) * ntuples;
}

/* In the first process: do several processes load?  Then it reports that. */
static bool
share_out(LoadShare *share, TeamShare *team, const Load *load)
{
	Sorter *sorter = load->sorter;
	int nloaders = 0;

	if (team_sort_together(team, sorter))
	{
		share->ntuples = sorter->nrows;
		nloaders = Min(share->max_loaders, estimate_bytes(sorter, share->ntuples) / BYTES_PER_LOADER);
	}
	if (!team_share_out(team, sorter, nloaders, nloaders * RANGES_PER_PROCESS))
		return false;
	load_report_total(share->ntuples);
	report_phase();
	progress_enter(sorter, PROGRESS_RETURNING);
	return true;
}

void
load_report(LoadShare *share, Progress *progress)
{
	report_loaded(progress, pg_atomic_read_u64(&share->loaded));
}

/* The first alive tuple behind a range may equal the last one in it. */
static void
check_behind(Loader *loader)
{
	Sorter *sorter = loader->load->sorter;
	IndexTuple tuple;

	sorter->device->pass_range_end(sorter);
	while ((tuple = load_next_tuple(sorter)) != NULL && !tid_is_alive(tuple->t_tid))
		CHECK_FOR_INTERRUPTS();
	check_failure(loader->load);
	if (tuple != NULL)
		unique_check_next(loader->check, tuple);
}

static void
load_range(Loader *loader, int range)
{
	Sorter *sorter = loader->load->sorter;
	IndexTuple tuple;

	if (loader->check != NULL)
		unique_check_forget(loader->check);
	loader->has_copy = false;
	btree_writer_begin_range(loader->writer, range);
	while ((tuple = load_next_tuple(sorter)) != NULL)
		load_tuple(loader, tuple);
	check_failure(loader->load);
	btree_writer_end_range(loader->writer);
	if (loader->check != NULL)
		check_behind(loader);
}

bool
load_together(LoadShare *share, TeamShare *team, dsm_segment *segment, const Load *load)
{
	Loader loader;
	int range;

	if (IsParallelWorker() ? !team_await_ranges(team, load->sorter) : !share_out(share, team, load))
		return false;
	if (IsParallelWorker())
		btree_share_attach(btree_share_of(share), segment);
	init_loader(&loader, load,
				btree_writer_join(btree_share_of(share), load->heap, load->index, load->info->ii_Unique));
	loader.share = share;
	while ((range = team_next_range(team, load->sorter)) >= 0)
		load_range(&loader, range);
	btree_writer_leave(loader.writer);
	note_loaded(&loader);
	return true;
}

void
load_finish(LoadShare *share, const Load *load, double ntuples)
{
	uint64 loaded = pg_atomic_read_u64(&share->loaded);

	check_number(load, loaded, share->ntuples);
	check_number(load, loaded, ntuples);
	btree_writers_finish(btree_share_of(share), load->heap, load->index);
	load_report(share, load->progress);
}
