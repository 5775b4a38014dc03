/*
 * regress/fuzz/pages.c
 *		Tuples of any size and any order of sizes, as pages of a B-tree: are they PostgreSQL's?
 *
 * A case says which index of those that setup.sql makes, its fillfactor, and runs of tuples: how many, their
 * keys and the lengths of their strings.  The same tuples go to PostgreSQL's build, to one writer, and in
 * ranges to several writers.  What must hold:
 *
 *	- The pages of one writer are PostgreSQL's, byte by byte.
 *	- The pages of several writers are a B-tree of the same tuples (page_tree.c).
 *
 * The indexes are temporary ones, so nothing is logged, and no buffer stands between their files and this.
 * The table is empty: its access method is exchanged for one whose scan returns the case's tuples.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "catalog/storage.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"

#include "base/pg_compat.h"
#include "index/btree_writer.h"

#include "fuzz.h"
#include "page_tree.h"

/* Of one case; so it takes some milliseconds at most. */
#define MOST_TUPLES 4000
#define MOST_STRING_BYTES (1 << 20)
#define MOST_RANGES 16

/* Longer ones would be PostgreSQL's error. */
#define MOST_STRING 2600

/* ---- the case ---- */

/* A row (number int, string text), which columns are those that the index has is its own affair. */
typedef struct CaseTuple
{
	int32 number;
	uint16 length; /* of the string */
	bool number_is_null;
	bool string_is_null;
} CaseTuple;

static Relation heap;
static Oid *indexes;
static int nindexes;

static CaseTuple *tuples;
static int ntuples;

static void
prepare(void)
{
	Oid heap_id = RangeVarGetRelid(makeRangeVar(NULL, "fuzz_pages", -1), ShareLock, false);
	List *list;
	ListCell *cell;

	heap = table_open(heap_id, NoLock);
	list = RelationGetIndexList(heap);
	list_sort(list, list_oid_cmp);
	indexes = palloc(sizeof(Oid) * list_length(list));
	nindexes = 0;
	foreach(cell, list)
		indexes[nindexes++] = lfirst_oid(cell);
	tuples = palloc(sizeof(CaseTuple) * MOST_TUPLES);
}

/* A run of tuples: their keys are equal or go up or down, their strings are of one length or grow. */
static Size
read_run(FuzzInput *input, CaseTuple *last, Size string_bytes)
{
	uint8 form = fuzz_byte(input);
	int count = 1 + (form & 0x80 ? fuzz_number(input, 2) % 2000 : fuzz_byte(input) % 32);
	int step = (int8) fuzz_byte(input);
	int growth = form & 0x01 ? (int8) fuzz_byte(input) : 0;

	if (form & 0x02)
		last->length = fuzz_number(input, 2) % MOST_STRING;
	if (form & 0x04)
		last->number = fuzz_number(input, 4);
	last->number_is_null = (form & 0x18) == 0x18;
	last->string_is_null = (form & 0x60) == 0x60;
	while (count-- > 0 && ntuples < MOST_TUPLES && string_bytes < MOST_STRING_BYTES)
	{
		tuples[ntuples++] = *last;
		string_bytes += last->length;
		last->number = (int32) ((uint32) last->number + step);
		last->length = Max(0, Min(last->length + growth, MOST_STRING - 1));
	}
	return string_bytes;
}

static void
read_tuples(FuzzInput *input)
{
	CaseTuple last = {0};
	Size string_bytes = 0;

	ntuples = 0;
	while (fuzz_left(input) > 0 && ntuples < MOST_TUPLES && string_bytes < MOST_STRING_BYTES)
		string_bytes = read_run(input, &last, string_bytes);
}

/* The string has the number in front, in two digits that order, and so shares what is behind with others. */
static Datum
make_string(const CaseTuple *tuple)
{
	text *string = palloc(VARHDRSZ + tuple->length);
	char *bytes = VARDATA(string);

	SET_VARSIZE(string, VARHDRSZ + tuple->length);
	memset(bytes, 'x', tuple->length);
	if (tuple->length > 0)
		bytes[0] = '0' + (tuple->number >> 4 & 0x3F);
	if (tuple->length > 1)
		bytes[tuple->length - 1] = '0' + (tuple->number & 0x0F);
	return PointerGetDatum(string);
}

/* ---- a table that has the case's tuples ---- */

static double
scan_tuples(Relation table, Relation index, IndexInfo *info, bool allow_sync, bool anyvisible, bool progress,
			BlockNumber start, BlockNumber number, IndexBuildCallback callback, void *state,
			TableScanDesc scan)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "row", ALLOCSET_DEFAULT_SIZES);

	for (int i = 0; i < ntuples; i++)
	{
		MemoryContext caller = MemoryContextSwitchTo(context);
		Datum row[2] = {Int32GetDatum(tuples[i].number), make_string(&tuples[i])};
		bool row_isnull[2] = {tuples[i].number_is_null, tuples[i].string_is_null};
		Datum values[INDEX_MAX_KEYS];
		bool isnull[INDEX_MAX_KEYS];
		ItemPointerData tid;

		for (int column = 0; column < info->ii_NumIndexAttrs; column++)
		{
			values[column] = row[info->ii_IndexAttrNumbers[column] - 1];
			isnull[column] = row_isnull[info->ii_IndexAttrNumbers[column] - 1];
		}
		ItemPointerSet(&tid, i / 100, 1 + i % 100);
		MemoryContextSwitchTo(caller);
		callback(index, &tid, values, isnull, true, state);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	return ntuples;
}

/* ---- builds ---- */

typedef struct Sorting
{
	Tuplesortstate *sort;
	IndexTuple *in_order; /* copies, when they are sorted */
} Sorting;

static void
sort_tuple(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool is_alive, void *state)
{
	tuplesort_putindextuplevalues(((Sorting *) state)->sort, index, tid, values, isnull);
}

static void
sort_tuples(Relation index, IndexInfo *info, Sorting *sorting)
{
	IndexTuple tuple;
	int n = 0;

	sorting->sort =
		tuplesort_begin_index_btree(heap, index, false, false, maintenance_work_mem, NULL, TUPLESORT_NONE);
	scan_tuples(heap, index, info, true, false, false, 0, InvalidBlockNumber, sort_tuple, sorting, NULL);
	tuplesort_performsort(sorting->sort);
	sorting->in_order = palloc(sizeof(IndexTuple) * (ntuples + 1));
	while ((tuple = tuplesort_getindextuple(sorting->sort, true)) != NULL)
		sorting->in_order[n++] = CopyIndexTuple(tuple);
	tuplesort_end(sorting->sort);
}

static void
write_alone(Relation index, const Sorting *sorting)
{
	BtreeWriter *writer = btree_writer_begin(heap, index, false);

	for (int i = 0; i < ntuples; i++)
		btree_writer_add(writer, sorting->in_order[i], false);
	btree_writer_finish(writer);
}

/* So many ranges, each of as many tuples as the next byte says, the last of what is left. */
static void
write_ranges(Relation index, const Sorting *sorting, int nranges, FuzzInput *input)
{
	BtreeShare *share = palloc0(btree_share_size(nranges));
	BtreeWriter *writer;
	int next = 0;

	btree_share_init(share, nranges, NULL);
	writer = btree_writer_join(share, heap, index, false);
	for (int range = 0; range < nranges; range++)
	{
		int length = fuzz_byte(input) * 4;
		int end = range == nranges - 1 ? ntuples : Min(ntuples, next + length);

		btree_writer_begin_range(writer, range);
		while (next < end)
			btree_writer_add(writer, sorting->in_order[next++], false);
		btree_writer_end_range(writer);
	}
	btree_writer_leave(writer);
	btree_writers_finish(share, heap, index);
}

static void
build_by_postgres(Relation index, IndexInfo *info)
{
	const TableAmRoutine *original = heap->rd_tableam;
	TableAmRoutine routine = *original;

	routine.index_build_range_scan = scan_tuples;
	heap->rd_tableam = &routine;
	PG_TRY();
	{
		index->rd_indam->ambuild(heap, index, info);
	}
	PG_FINALLY();
	{
		heap->rd_tableam = original;
	}
	PG_END_TRY();
}

static void
check_builds(Relation index, FuzzInput *ranges, int nranges)
{
	IndexInfo *info = BuildIndexInfo(index);
	PageTree expected, found;
	Sorting sorting;
	char *fault;

	RelationTruncate(index, 0);
	build_by_postgres(index, info);
	expected = page_tree_read(index);
	RelationTruncate(index, 0);
	sort_tuples(index, info, &sorting);
	write_alone(index, &sorting);
	found = page_tree_read(index);
	fault = page_tree_difference(&expected, &found);
	if (fault != NULL)
		fuzz_fail("%s, %d tuples: %s", RelationGetRelationName(index), ntuples, fault);
	fault = page_tree_fault(&found, index, sorting.in_order, ntuples);
	if (fault != NULL)
		fuzz_fail("%s, %d tuples, in PostgreSQL's pages, too: %s", RelationGetRelationName(index), ntuples,
				  fault);
	RelationTruncate(index, 0);
	write_ranges(index, &sorting, nranges, ranges);
	found = page_tree_read(index);
	fault = page_tree_fault(&found, index, sorting.in_order, ntuples);
	if (fault != NULL)
		fuzz_fail("%s, %d tuples, %d ranges: %s", RelationGetRelationName(index), ntuples, nranges, fault);
}

static void
run(FuzzInput *input)
{
	Relation index = index_open(indexes[fuzz_byte(input) % nindexes], AccessExclusiveLock);
	int fillfactor = BTREE_MIN_FILLFACTOR + fuzz_byte(input) % (101 - BTREE_MIN_FILLFACTOR);
	int nranges = 1 + fuzz_byte(input) % MOST_RANGES;
	FuzzInput ranges = *input;

	input->at += Min(nranges, fuzz_left(input));
	read_tuples(input);
	/* All of these indexes have options, in memory of the relation cache. */
	((BTOptions *) index->rd_options)->fillfactor = fillfactor;
	check_builds(index, &ranges, nranges);
	index_close(index, NoLock);
}

const FuzzTarget fuzz_pages = {"pages", prepare, run};
