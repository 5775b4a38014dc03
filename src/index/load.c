/*
 * index/load.c
 *		Sorted tuples into pages: by one process, or ranges of them by all that have sorted them.
 *
 * Several processes load where the device lets each of them read the sorted rows.  The order is cut into
 * ranges of the same number of tuples, some for each process, which takes one after the other.  The first
 * process decides whether that is done at all, and the others wait for its word.
 */
#include "postgres.h"

#include "commands/progress.h"
#include "access/nbtree.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "utils/backend_progress.h"

#include "base/wait_events.h"
#include "index/btree_levels.h"
#include "index/index_key.h"
#include "index/load.h"
#include "index/unique.h"
#include "key/key_row.h"

/* Ranges for each process, so that none waits long for another. */
#define RANGES_PER_PROCESS 4

/*
 * A process more for each so many bytes of the index: each leaves some of the file's blocks unused at its
 * end, 256 kB at most, which is to be less than one part in a hundred of what it fills.
 */
#ifndef BYTES_PER_LOADER
#define BYTES_PER_LOADER (32 * 1024 * 1024)
#endif

/* Pairs of neighbours that are looked at to know how large an index will be. */
#define SIZE_SAMPLES 64

/* Tuples loaded between two reports of progress. */
#define REPORT_EVERY 1024

typedef enum LoadDecision
{
	LOAD_UNDECIDED,
	LOAD_TOGETHER,
	LOAD_ALONE
} LoadDecision;

struct LoadShare
{
	ConditionVariable decided;
	pg_atomic_uint32 decision; /* a LoadDecision */
	int max_loaders;
	uint32 nloaders;
	int nranges;
	uint64 ntuples;
	pg_atomic_uint32 joined; /* processes, of which the first nloaders load */
	pg_atomic_uint32 next_range;
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
	IndexTuple copy;	/* room for any */
	LoadShare *share;	/* NULL: this process loads alone */
	bool reports;		/* does it report progress? */
	uint64 loaded;		/* by this process */
	uint64 noted;		/* of these, those that the share knows of */
} Loader;

IndexTuple
load_next_tuple(Sorter *sorter)
{
	MinimalTuple row = sorter->device->next(sorter, true);

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
	loader->copy = palloc(INDEX_SIZE_MASK + 1);
}

static void
note_loaded(Loader *loader)
{
	uint64 all = loader->loaded;

	if (loader->share != NULL)
		all = pg_atomic_add_fetch_u64(&loader->share->loaded, loader->loaded - loader->noted);
	loader->noted = loader->loaded;
	if (loader->reports)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, all);
}

/* A tuple may stand in memory that is shared with others: what is added is a copy, with the heap's tid. */
static inline void
load_tuple(Loader *loader, IndexTuple tuple)
{
	CHECK_FOR_INTERRUPTS();
	if (loader->check != NULL && tid_is_alive(tuple->t_tid))
		unique_check_next(loader->check, tuple);
	btree_copy_tuple(loader->copy, tuple, IndexTupleSize(tuple));
	loader->copy->t_tid = tid_unmark(tuple->t_tid);
	btree_writer_add(loader->writer, loader->copy);
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
						   RelationGetRelationName(load->index), load->sorter->device->name),
					errdetail("Reason: %s.", load->sorter->failure),
					errhint("Build the index again, or set gpusort.backend to \"cpu\".")));
}

uint64
load_alone(const Load *load, IndexTuple first)
{
	Loader loader;

	init_loader(&loader, load, btree_writer_begin(load->heap, load->index));
	loader.reports = true;
	report_phase();
	for (IndexTuple tuple = first; tuple != NULL; tuple = load_next_tuple(load->sorter))
		load_tuple(&loader, tuple);
	check_failure(load);
	btree_writer_finish(loader.writer);
	note_loaded(&loader);
	return loader.loaded;
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
	ConditionVariableInit(&share->decided);
	pg_atomic_init_u32(&share->decision, LOAD_UNDECIDED);
	share->max_loaders = nprocesses;
	share->nloaders = 0;
	share->nranges = 0;
	share->ntuples = 0;
	pg_atomic_init_u32(&share->joined, 0);
	pg_atomic_init_u32(&share->next_range, 0);
	pg_atomic_init_u64(&share->loaded, 0);
	btree_share_init(btree_share_of(share), nprocesses * RANGES_PER_PROCESS, segment);
}

/*
 * The bytes that the index will take, about: of tuples with the key of the one before, only the tids are
 * kept.
 */
static double
estimate_bytes(Sorter *sorter, uint64 ntuples)
{
	IndexTuple first = palloc(INDEX_SIZE_MASK + 1);
	uint64 step = ntuples / SIZE_SAMPLES + 1;
	double bytes = 0;
	int nsamples = 0;

	for (uint64 i = 0; i + 1 < ntuples; i += step, nsamples++)
	{
		IndexTuple tuple;
		Size size;

		sorter->device->seek(sorter, i);
		tuple = load_next_tuple(sorter);
		size = IndexTupleSize(tuple);
		memcpy(first, tuple, size);
		tuple = load_next_tuple(sorter);
		if (IndexTupleSize(tuple) == size && memcmp(first + 1, tuple + 1, size - sizeof(IndexTupleData)) == 0)
			bytes += sizeof(ItemPointerData);
		else
			bytes += size + sizeof(ItemIdData);
	}
	pfree(first);
	return bytes / Max(nsamples, 1) * ntuples;
}

/* Decides for all, and is the first to join. */
static void
decide(LoadShare *share, Sorter *sorter, bool may_load, uint64 ntuples)
{
	share->ntuples = ntuples;
	if (may_load)
		share->nloaders = Min(share->max_loaders, estimate_bytes(sorter, ntuples) / BYTES_PER_LOADER);
	share->nranges = share->nloaders * RANGES_PER_PROCESS;
	pg_atomic_write_u32(&share->joined, 1);
	pg_write_barrier();
	pg_atomic_write_u32(&share->decision, may_load && share->nloaders > 1 ? LOAD_TOGETHER : LOAD_ALONE);
	ConditionVariableBroadcast(&share->decided);
}

static bool
is_decided_together(LoadShare *share)
{
	while (pg_atomic_read_u32(&share->decision) == LOAD_UNDECIDED)
		ConditionVariableSleep(&share->decided, gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
	ConditionVariableCancelSleep();
	pg_read_barrier();
	return pg_atomic_read_u32(&share->decision) == LOAD_TOGETHER;
}

/* The first tuple of a range may equal the last alive one before it. */
static void
check_before(Loader *loader, uint64 first)
{
	Sorter *sorter = loader->load->sorter;

	for (uint64 i = first; i-- > 0;)
	{
		IndexTuple tuple;

		sorter->device->seek(sorter, i);
		tuple = load_next_tuple(sorter);
		if (tid_is_alive(tuple->t_tid))
		{
			unique_check_next(loader->check, tuple);
			break;
		}
	}
}

static void
load_range(Loader *loader, int range)
{
	const LoadShare *share = loader->share;
	Sorter *sorter = loader->load->sorter;
	uint64 first = share->ntuples * range / share->nranges;
	uint64 end = share->ntuples * (range + 1) / share->nranges;

	if (loader->check != NULL)
	{
		unique_check_forget(loader->check);
		check_before(loader, first);
	}
	sorter->device->seek(sorter, first);
	btree_writer_begin_range(loader->writer, range);
	for (uint64 i = first; i < end; i++)
		load_tuple(loader, load_next_tuple(sorter));
	btree_writer_end_range(loader->writer);
}

bool
load_together(LoadShare *share, dsm_segment *segment, const Load *load, bool is_first, bool may_load)
{
	const SortDevice *device = load->sorter->device;
	uint64 ntuples = 0;
	bool can_read = device->read_together != NULL && device->read_together(load->sorter, &ntuples);
	Loader loader;
	uint32 range;

	if (is_first)
		decide(share, load->sorter, may_load && can_read, ntuples);
	if (!can_read || !is_decided_together(share))
		return false;
	if (is_first)
		report_phase();
	else if (pg_atomic_fetch_add_u32(&share->joined, 1) >= share->nloaders)
		return true;
	else
		btree_share_attach(btree_share_of(share), segment);
	init_loader(&loader, load, btree_writer_join(btree_share_of(share), load->heap, load->index));
	loader.share = share;
	loader.reports = is_first;
	while ((range = pg_atomic_fetch_add_u32(&share->next_range, 1)) < (uint32) share->nranges)
		load_range(&loader, range);
	btree_writer_leave(loader.writer);
	note_loaded(&loader);
	return true;
}

uint64
load_finish(LoadShare *share, const Load *load)
{
	uint64 loaded = pg_atomic_read_u64(&share->loaded);

	if (loaded != share->ntuples)
		elog(ERROR, "gpusort: index \"%s\" has got " UINT64_FORMAT " of " UINT64_FORMAT " tuples",
			 RelationGetRelationName(load->index), loaded, share->ntuples);
	btree_writers_finish(btree_share_of(share), load->heap, load->index);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, loaded);
	return loaded;
}
