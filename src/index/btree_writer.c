/*
 * index/btree_writer.c
 *		A B-tree out of a sorted stream of index tuples.
 *
 * Equal tuples become one with a posting list, where the index has that: in ascending order a tuple waits
 * until it is known whether the next one is equal.  What comes of it goes to the leaves (btree_levels.c).
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "utils/rel.h"

#include "base/pg_compat.h"
#include "index/btree_levels.h"
#include "index/btree_range.h"
#include "index/btree_writer.h"

StaticAssertDecl(sizeof(IndexTupleData) == sizeof(uint64), "tuples are compared by words");

/*
 * The largest tuple with a posting list, and its line pointer: a tenth of a page, as PostgreSQL builds them.
 */
#define POSTING_SIZE_MAX (MAXALIGN_DOWN(BLCKSZ * 10 / 100) - sizeof(ItemIdData))

struct BtreeWriter
{
	BtreeLevels levels;
	BtreeShare *share; /* NULL: this is the only one */
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
add_deduplicated(BtreeWriter *writer, IndexTuple tuple)
{
	BTDedupState pending = writer->pending;

	if (pending->nitems > 0)
	{
		if (is_equal(writer, pending->base, tuple) && _bt_dedup_save_htid(pending, tuple))
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
btree_writer_add(BtreeWriter *writer, IndexTuple tuple)
{
	if (writer->deduplicates)
		add_deduplicated(writer, tuple);
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

BtreeWriter *
btree_writer_join(BtreeShare *share, Relation heap, Relation index, bool is_unique)
{
	BlockWriter *blocks = block_writer_join(index, btree_share_blocks(share));
	BtreeWriter *writer = make_writer(heap, index, is_unique, blocks);

	writer->share = share;
	return writer;
}

void
btree_writer_begin_range(BtreeWriter *writer, int range)
{
	btree_range_begin(&writer->levels, writer->share, range);
}

void
btree_writer_end_range(BtreeWriter *writer)
{
	end_tuples(writer);
	btree_range_end(&writer->levels);
}

void
btree_writer_leave(BtreeWriter *writer)
{
	block_writer_finish(writer->levels.blocks);
}

void
btree_writers_finish(BtreeShare *share, Relation heap, Relation index)
{
	BtreeLevels levels;

	btree_levels_begin(&levels, heap, index, block_writer_resume(index, btree_share_blocks(share)));
	btree_ranges_join(&levels, share);
	btree_levels_finish(&levels);
}
