/*
 * index/heap_scan.c
 *		A scan of a heap for a build, a page at a time, by one process or several.
 *
 * PostgreSQL's own scan for builds looks at one tuple at a time, locking its page for each of them.  Nearly
 * all pages need no such care: all of their tuples are alive, or this transaction's own, or dead to
 * everybody.  Such a plain page is locked once, to find its tuples, which are then read under the pin alone,
 * as PostgreSQL does it: who builds an index has locked out those that write, and nobody removes tuples from
 * a pinned page.
 *
 * All other pages, with tuples that were deleted lately, or by transactions in progress, are left to
 * PostgreSQL's scan, which knows what to do about each of them.
 *
 * The blocks are shared out in stretches, which are still read in sequence.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/backend_progress.h"

#include "base/pg_compat.h"
#include "index/heap_scan.h"

/* Blocks that a process takes at a time. */
#define STRETCH 64

/*
 * With so many columns a tuple is taken apart from its start, else each column is looked up by itself.
 */
#define MANY_COLUMNS 3

typedef struct HeapScan
{
	Relation heap;
	Relation index;
	IndexInfo *info;
	IndexBuildCallback callback;
	void *callback_state;
	TransactionId oldest_xmin;
	BufferAccessStrategy strategy;
	bool looks_up; /* are values looked up, without a slot? */
	EState *estate;
	ExprContext *econtext;
	TupleTableSlot *slot;
	ExprState *predicate;
	double heap_tuples;

	/* Of the page at hand. */
	int nread; /* of whatever state */
	int ntuples;
	HeapTupleData tuples[MaxHeapTuplesPerPage];
	bool has_heap_only;
	OffsetNumber root_offsets[MaxHeapTuplesPerPage];
} HeapScan;

void
heap_scan_share_init(HeapScanShare *share, Relation heap)
{
	share->nblocks = RelationGetNumberOfBlocks(heap);
	pg_atomic_init_u64(&share->next, 0);
	pg_atomic_init_u64(&share->done, 0);
}

void
heap_scan_report(HeapScanShare *share)
{
	const int params[] = {PROGRESS_SCAN_BLOCKS_TOTAL, PROGRESS_SCAN_BLOCKS_DONE};
	const int64 values[] = {share->nblocks, pg_atomic_read_u64(&share->done)};

	pgstat_progress_update_multi_param(lengthof(params), params, values);
}

static void
begin_scan(HeapScan *scan, Relation heap, Relation index, IndexInfo *info, const HeapScanShare *share)
{
	scan->heap = heap;
	scan->index = index;
	scan->info = info;
	scan->oldest_xmin = GetOldestNonRemovableTransactionId(heap);
	if (share->nblocks > (BlockNumber) NBuffers / 4)
		scan->strategy = GetAccessStrategy(BAS_BULKREAD);
	scan->looks_up =
		info->ii_NumIndexAttrs < MANY_COLUMNS && info->ii_Expressions == NIL && info->ii_Predicate == NIL;
	scan->estate = CreateExecutorState();
	scan->econtext = GetPerTupleExprContext(scan->estate);
	scan->slot = table_slot_create(heap, NULL);
	scan->econtext->ecxt_scantuple = scan->slot;
	scan->predicate = ExecPrepareQual(info->ii_Predicate, scan->estate);
	pgstat_count_heap_scan(heap);
}

static void
end_scan(HeapScan *scan)
{
	ExecDropSingleTupleTableSlot(scan->slot);
	FreeExecutorState(scan->estate);
	scan->info->ii_ExpressionsState = NIL;
	scan->info->ii_PredicateState = NULL;
}

/* ---------------------------------------------------------------- plain pages */

/* Was this tuple, the insertion of which is in progress, inserted by this transaction? */
static inline bool
is_own(HeapTuple tuple)
{
	return TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
}

/*
 * Notes the tuples that are alive; false: there is one that it is not that simple for.  The page is locked.
 */
static bool
find_tuples(HeapScan *scan, BlockNumber block, Buffer buffer)
{
	Page page = BufferGetPage(buffer);
	bool all_alive = PageIsAllVisible(page);
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	scan->nread = 0;
	scan->ntuples = 0;
	scan->has_heap_only = false;
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		ItemId item = PageGetItemId(page, offset);
		HeapTuple tuple = &scan->tuples[scan->ntuples];

		if (!ItemIdIsNormal(item))
			continue;
		scan->nread++;
		tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple->t_len = ItemIdGetLength(item);
		tuple->t_tableOid = RelationGetRelid(scan->heap);
		ItemPointerSet(&tuple->t_self, block, offset);
		if (!all_alive)
		{
			HTSV_Result state = HeapTupleSatisfiesVacuum(tuple, scan->oldest_xmin, buffer);

			if (state == HEAPTUPLE_DEAD)
				continue;
			if (state != HEAPTUPLE_LIVE && !(state == HEAPTUPLE_INSERT_IN_PROGRESS && is_own(tuple)))
				return false;
		}
		scan->has_heap_only |= HeapTupleIsHeapOnly(tuple);
		scan->ntuples++;
	}
	if (scan->has_heap_only)
		heap_get_root_tuples(page, scan->root_offsets);
	return true;
}

/* The tid that the index has for a tuple: that of the root of its chain of updates, if it has one. */
static inline ItemPointerData
indexed_tid(const HeapScan *scan, const HeapTupleData *tuple)
{
	ItemPointerData tid = tuple->t_self;
	OffsetNumber root;

	if (!HeapTupleIsHeapOnly(tuple))
		return tid;
	root = scan->root_offsets[ItemPointerGetOffsetNumber(&tid) - 1];
	if (!OffsetNumberIsValid(root))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_internal("failed to find parent tuple for heap-only tuple at (%u,%u) in table \"%s\"",
								 ItemPointerGetBlockNumber(&tid), ItemPointerGetOffsetNumber(&tid),
								 RelationGetRelationName(scan->heap))));
	ItemPointerSetOffsetNumber(&tid, root);
	return tid;
}

/* The tuple's values that are indexed; false: it isn't. */
static inline bool
form_values(HeapScan *scan, HeapTuple tuple, Buffer buffer, Datum *values, bool *isnull)
{
	if (scan->looks_up)
	{
		for (int i = 0; i < scan->info->ii_NumIndexAttrs; i++)
			values[i] = heap_getattr(tuple, scan->info->ii_IndexAttrNumbers[i], RelationGetDescr(scan->heap),
									 &isnull[i]);
		return true;
	}
	MemoryContextReset(scan->econtext->ecxt_per_tuple_memory);
	ExecStoreBufferHeapTuple(tuple, scan->slot, buffer);
	if (scan->predicate != NULL && !ExecQual(scan->predicate, scan->econtext))
		return false;
	FormIndexDatum(scan->info, scan->slot, scan->estate, values, isnull);
	return true;
}

/* Has the callback take the tuples that were found; the page is pinned. */
static void
index_tuples(HeapScan *scan, Buffer buffer)
{
	Datum values[INDEX_MAX_KEYS];
	bool isnull[INDEX_MAX_KEYS];

	for (int i = 0; i < scan->ntuples; i++)
	{
		HeapTuple tuple = &scan->tuples[i];
		ItemPointerData tid = indexed_tid(scan, tuple);

		scan->heap_tuples += 1;
		if (form_values(scan, tuple, buffer, values, isnull))
			scan->callback(scan->index, &tid, values, isnull, true, scan->callback_state);
	}
	if (!scan->looks_up)
		ExecClearTuple(scan->slot);
}

/* Indexes the tuples of a block, if its page is a plain one. */
static bool
scan_plain_page(HeapScan *scan, BlockNumber block)
{
	Buffer buffer = ReadBufferExtended(scan->heap, MAIN_FORKNUM, block, RBM_NORMAL, scan->strategy);
	bool is_plain;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	is_plain = find_tuples(scan, block, buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (is_plain)
	{
		/* as PostgreSQL's scan counts: dead tuples have been read as well */
		for (int i = 0; i < scan->nread; i++)
			pgstat_count_heap_getnext(scan->heap);
		index_tuples(scan, buffer);
	}
	ReleaseBuffer(buffer);
	return is_plain;
}

/* ---------------------------------------------------------------- other pages */

/* Leaves some blocks to PostgreSQL's scan, which does not count as one: all of a process's part is one. */
static void
scan_other_pages(HeapScan *scan, BlockNumber first, BlockNumber nblocks)
{
	IndexInfo info = *scan->info;

	if (nblocks == 0)
		return;
	info.ii_ExpressionsState = NIL;
	info.ii_PredicateState = NULL;
	scan->heap_tuples +=
		table_index_build_range_scan(scan->heap, scan->index, &info, false, false, false, first, nblocks,
									 scan->callback, scan->callback_state, NULL);
	if (pgstat_should_count_relation(scan->heap))
		pgstat_scans(scan->heap)--;
	scan->info->ii_BrokenHotChain |= info.ii_BrokenHotChain;
}

static void
scan_stretch(HeapScan *scan, BlockNumber first, BlockNumber end)
{
	BlockNumber others = first; /* blocks from there on are left to PostgreSQL */

	for (BlockNumber block = first; block < end; block++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!scan_plain_page(scan, block))
			continue;
		scan_other_pages(scan, others, block - others);
		others = block + 1;
	}
	scan_other_pages(scan, others, end - others);
}

double
heap_scan_part(Relation heap, Relation index, IndexInfo *info, HeapScanShare *share, bool progress,
			   IndexBuildCallback callback, void *callback_state)
{
	HeapScan *scan = palloc0(sizeof(HeapScan));
	double heap_tuples;
	uint64 first;

	begin_scan(scan, heap, index, info, share);
	scan->callback = callback;
	scan->callback_state = callback_state;
	if (progress)
		heap_scan_report(share);
	while ((first = pg_atomic_fetch_add_u64(&share->next, STRETCH)) < share->nblocks)
	{
		uint64 end = Min(first + STRETCH, share->nblocks);

		scan_stretch(scan, first, end);
		pg_atomic_fetch_add_u64(&share->done, end - first);
		if (progress)
			heap_scan_report(share);
	}
	end_scan(scan);
	heap_tuples = scan->heap_tuples;
	pfree(scan);
	return heap_tuples;
}
