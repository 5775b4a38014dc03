/*
 * index/btree_writer.c
 *		A B-tree out of a sorted stream of index tuples.
 *
 * Equal tuples become one with a posting list, where the index has that: in ascending order a tuple waits
 * until it is known whether the next one is equal.  What comes of it goes to the leaves (btree_levels.c).
 *
 * Of several writers each fills ranges of the leaves, and knows neither what comes before a range nor after
 * it.  So its first leaf, which must be linked with the one before, and its last leaf, which has no high key
 * yet, stay in the shared memory.  All others are written at once, and their downlinks go to a temporary
 * file, one a range.  When all is done one process goes through the ranges: it links and writes the leaves
 * that were kept, and fills the levels above out of the downlinks.  Each process writes only the entries of
 * the ranges that it has taken, so there is no lock.
 */
#include "postgres.h"

#include <fcntl.h>

#include "access/nbtree.h"
#include "storage/buffile.h"
#include "storage/sharedfileset.h"
#include "utils/rel.h"

#include "base/pg_compat.h"
#include "index/btree_levels.h"
#include "index/btree_writer.h"

StaticAssertDecl(sizeof(IndexTupleData) == sizeof(uint64), "tuples are compared by words");

/*
 * The largest tuple with a posting list, and its line pointer: a tenth of a page, as PostgreSQL builds them.
 */
#define POSTING_SIZE_MAX (MAXALIGN_DOWN(BLCKSZ * 10 / 100) - sizeof(ItemIdData))

typedef struct Range
{
	uint64 leaves;
	BlockNumber first;
	BlockNumber last;
	PGAlignedBlock first_page; /* unless it is the last one, too */
	PGAlignedBlock last_page;
} Range;

struct BtreeShare
{
	BlockShare blocks;
	SharedFileSet files;
	int nranges;
	Range ranges[FLEXIBLE_ARRAY_MEMBER];
};

struct BtreeWriter
{
	BtreeLevels levels;
	BtreeShare *share;	/* NULL: this is the only one */
	int range;			/* that is being filled */
	BufFile *downlinks; /* of its second leaf and those after it; NULL: none yet */
	bool deduplicates;
	int nkeys;
	bool bytes_decide;	  /* all keys are of fixed width: equal ones are the same bytes */
	BTDedupState pending; /* the tuple that waits, with its tids; no item: there is none */
	IndexTuple base;	  /* memory for that tuple */
};

static bool
has_fixed_width(Relation index, int nkeys)
{
	for (int i = 0; i < nkeys; i++)
	{
		if (TupleDescAttr(RelationGetDescr(index), i)->attlen < 0)
			return false;
	}
	return true;
}

static BTDedupState
make_pending(void)
{
	BTDedupState pending = palloc0(sizeof(BTDedupStateData));

	pending->deduplicate = true;
	pending->maxpostingsize = POSTING_SIZE_MAX;
	pending->htids = palloc(POSTING_SIZE_MAX);
	return pending;
}

static BtreeWriter *
make_writer(Relation heap, Relation index, bool is_unique, BlockWriter *blocks)
{
	BtreeWriter *writer = palloc0(sizeof(BtreeWriter));

	btree_levels_begin(&writer->levels, heap, index, blocks);
	writer->deduplicates = writer->levels.key->allequalimage && !is_unique && BTGetDeduplicateItems(index);
	writer->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	writer->bytes_decide = has_fixed_width(index, writer->nkeys);
	if (writer->deduplicates)
	{
		writer->pending = make_pending();
		writer->base = palloc(INDEX_SIZE_MASK + 1);
	}
	return writer;
}

/* ---------------------------------------------------------------- posting lists */

/* Are two tuples the same bytes, but for their tids?  Most differ in the first words, if they do. */
static inline bool
is_same(const IndexTupleData *a, const IndexTupleData *b)
{
	const uint64 *words = (const uint64 *) a;
	const uint64 *others = (const uint64 *) b;
	int nwords = IndexTupleSize(a) / sizeof(uint64);

	if (a->t_info != b->t_info)
		return false;
	for (int i = 1; i < nwords; i++)
	{
		if (words[i] != others[i])
			return false;
	}
	return true;
}

/*
 * Are the keys of two tuples the same bytes?  As a rule the tuples are, but for their tids.  Others may
 * differ in how a value is stored.
 */
static inline bool
is_equal(const BtreeWriter *writer, IndexTuple a, IndexTuple b)
{
	if (is_same(a, b))
		return true;
	return !writer->bytes_decide && _bt_keep_natts_fast(writer->levels.index, a, b) > writer->nkeys;
}

static void
begin_pending(BtreeWriter *writer, IndexTuple tuple)
{
	btree_copy_tuple(writer->base, tuple, IndexTupleSize(tuple));
	_bt_dedup_start_pending(writer->pending, writer->base, InvalidOffsetNumber);
}

/* The tuple that waited goes to the leaves. */
static void
end_pending(BtreeWriter *writer)
{
	BTDedupState pending = writer->pending;
	IndexTuple posting;

	if (pending->nitems == 1)
		btree_levels_add(&writer->levels, pending->base);
	else
	{
		posting = _bt_form_posting(pending->base, pending->htids, pending->nhtids);
		btree_levels_add(&writer->levels, posting);
		pfree(posting);
	}
	pending->nhtids = 0;
	pending->nitems = 0;
	pending->phystupsize = 0;
}

static inline void
add_deduplicated(BtreeWriter *writer, IndexTuple tuple, bool repeats)
{
	BTDedupState pending = writer->pending;

	if (pending->nitems > 0)
	{
		if ((repeats || is_equal(writer, pending->base, tuple)) && _bt_dedup_save_htid(pending, tuple))
			return;
		end_pending(writer);
	}
	begin_pending(writer, tuple);
}

/* What waits for an equal tuple waits no longer. */
static void
end_tuples(BtreeWriter *writer)
{
	if (writer->deduplicates && writer->pending->nitems > 0)
		end_pending(writer);
}

void
btree_writer_add(BtreeWriter *writer, IndexTuple tuple, bool repeats)
{
	if (writer->deduplicates)
		add_deduplicated(writer, tuple, repeats);
	else
		btree_levels_add(&writer->levels, tuple);
}

/* ---------------------------------------------------------------- one writer */

BtreeWriter *
btree_writer_begin(Relation heap, Relation index, bool is_unique)
{
	BlockWriter *blocks = block_writer_begin(index);

	/* The metapage comes last, but stands first. */
	(void) block_writer_allocate(blocks);
	return make_writer(heap, index, is_unique, blocks);
}

void
btree_writer_finish(BtreeWriter *writer)
{
	end_tuples(writer);
	btree_levels_finish(&writer->levels);
}

/* ---------------------------------------------------------------- several writers */

Size
btree_share_size(int nranges)
{
	return add_size(offsetof(BtreeShare, ranges), mul_size(nranges, sizeof(Range)));
}

void
btree_share_init(BtreeShare *share, int nranges, dsm_segment *segment)
{
	block_share_init(&share->blocks, BTREE_METAPAGE + 1);
	SharedFileSetInit(&share->files, segment);
	share->nranges = nranges;
	for (int i = 0; i < nranges; i++)
		share->ranges[i].leaves = 0;
}

void
btree_share_attach(BtreeShare *share, dsm_segment *segment)
{
	SharedFileSetAttach(&share->files, segment);
}

static void
name_file(char *name, int range)
{
	snprintf(name, MAXPGPATH, "downlinks.%d", range);
}

static void
write_downlink(BtreeWriter *writer, IndexTuple downlink)
{
	char name[MAXPGPATH];

	if (writer->downlinks == NULL)
	{
		name_file(name, writer->range);
		writer->downlinks = BufFileCreateFileSet(&writer->share->files.fs, name);
	}
	buffile_write(writer->downlinks, downlink, IndexTupleSize(downlink));
}

static void
leaf_is_complete(BtreeLevels *levels, IndexTuple downlink)
{
	BtreeWriter *writer = levels->arg;
	Range *range = &writer->share->ranges[writer->range];
	BlockNumber block = levels->leaves->block;

	if (range->leaves++ == 0)
	{
		range->first = block;
		block_writer_take_back(levels->blocks, block, (Page) range->first_page.data);
	}
	else
		write_downlink(writer, downlink);
}

BtreeWriter *
btree_writer_join(BtreeShare *share, Relation heap, Relation index, bool is_unique)
{
	BtreeWriter *writer =
		make_writer(heap, index, is_unique, block_writer_join(index, &share->blocks, false));

	writer->share = share;
	writer->levels.leaf_is_complete = leaf_is_complete;
	writer->levels.arg = writer;
	return writer;
}

void
btree_writer_begin_range(BtreeWriter *writer, int range)
{
	Assert(range >= 0 && range < writer->share->nranges);
	writer->range = range;
	writer->downlinks = NULL;
}

/* Keeps the last leaf, as it is. */
static void
keep_last_leaf(BtreeWriter *writer)
{
	Range *range = &writer->share->ranges[writer->range];
	BtreeLevel *leaves = writer->levels.leaves;

	range->last = leaves->block;
	block_writer_take_back(writer->levels.blocks, leaves->block, (Page) range->last_page.data);
	if (range->leaves++ == 0)
		range->first = range->last;
	else
		write_downlink(writer, leaves->low_key);
	pfree(leaves->low_key);
	pfree(leaves);
	writer->levels.leaves = NULL;
}

void
btree_writer_end_range(BtreeWriter *writer)
{
	end_tuples(writer);
	if (writer->levels.leaves != NULL)
		keep_last_leaf(writer);
	if (writer->downlinks != NULL)
	{
		BufFileExportFileSet(writer->downlinks);
		BufFileClose(writer->downlinks);
	}
}

void
btree_writer_leave(BtreeWriter *writer)
{
	block_writer_finish(writer->levels.blocks);
}

/* ---------------------------------------------------------------- joining the ranges */

static void
read_bytes(BufFile *file, void *bytes, Size size)
{
	if (buffile_read(file, bytes, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not read from temporary file of downlinks: %m")));
}

static IndexTuple
read_downlink(BufFile *file, PGAlignedBlock *memory)
{
	IndexTuple downlink = (IndexTuple) memory->data;

	read_bytes(file, downlink, sizeof(IndexTupleData));
	read_bytes(file, downlink + 1, IndexTupleSize(downlink) - sizeof(IndexTupleData));
	return downlink;
}

/* A range's leaves but the first; the last one is not complete. */
static void
join_other_leaves(BtreeLevels *levels, BtreeShare *share, int number)
{
	Range *range = &share->ranges[number];
	PGAlignedBlock memory;
	char name[MAXPGPATH];
	BufFile *file;

	name_file(name, number);
	file = BufFileOpenFileSet(&share->files.fs, name, O_RDONLY, false);
	for (uint64 leaf = 2; leaf < range->leaves; leaf++)
		btree_levels_pass_leaf(levels, read_downlink(file, &memory));
	btree_levels_take_leaf(levels, (Page) range->last_page.data, range->last, read_downlink(file, &memory));
	BufFileClose(file);
}

static IndexTuple
first_tuple(Page page)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, P_FIRSTKEY));
}

static void
join_range(BtreeLevels *levels, BtreeShare *share, int number)
{
	Range *range = &share->ranges[number];
	Page page = (Page) (range->leaves == 1 ? range->last_page.data : range->first_page.data);

	if (levels->leaves != NULL)
	{
		btree_levels_end_leaf(levels, first_tuple(page), range->first);
		BTPageGetOpaque(page)->btpo_prev = levels->leaves->block;
	}
	btree_levels_take_leaf(levels, page, range->first, NULL);
	if (range->leaves > 1)
	{
		btree_levels_put_leaf(levels);
		join_other_leaves(levels, share, number);
	}
}

void
btree_writers_finish(BtreeShare *share, Relation heap, Relation index)
{
	BtreeLevels levels;

	btree_levels_begin(&levels, heap, index, block_writer_join(index, &share->blocks, true));
	for (int i = 0; i < share->nranges; i++)
	{
		if (share->ranges[i].leaves > 0)
			join_range(&levels, share, i);
	}
	btree_levels_finish(&levels);
}
