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
#include "index/btree_writer.h"

/*
 * The largest tuple with a posting list, and its line pointer: a tenth of a page, as PostgreSQL builds them.
 */
#define POSTING_SIZE_MAX (MAXALIGN_DOWN(BLCKSZ * 10 / 100) - sizeof(ItemIdData))

struct BtreeWriter
{
	BtreeLevels levels;
	bool deduplicates;
	int nkeys;
	BTDedupState pending; /* the tuple that waits, with its tids; no item: there is none */
	IndexTuple base;	  /* memory for that tuple */
};

static BTDedupState
make_pending(void)
{
	BTDedupState pending = palloc0(sizeof(BTDedupStateData));

	pending->deduplicate = true;
	pending->maxpostingsize = POSTING_SIZE_MAX;
	pending->htids = palloc(POSTING_SIZE_MAX);
	return pending;
}

BtreeWriter *
btree_writer_begin(Relation heap, Relation index)
{
	BtreeWriter *writer = palloc0(sizeof(BtreeWriter));

	btree_levels_begin(&writer->levels, heap, index);
	writer->deduplicates =
		writer->levels.key->allequalimage && !index->rd_index->indisunique && BTGetDeduplicateItems(index);
	writer->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	if (writer->deduplicates)
	{
		writer->pending = make_pending();
		writer->base = palloc(INDEX_SIZE_MASK + 1);
	}
	return writer;
}

/* ---------------------------------------------------------------- posting lists */

/*
 * Are the keys of two tuples the same bytes?  As a rule the tuples are, but for their tids.  Others may
 * differ in how a value is stored.
 */
static inline bool
is_equal(const BtreeWriter *writer, IndexTuple a, IndexTuple b)
{
	if (a->t_info == b->t_info && memcmp(a + 1, b + 1, IndexTupleSize(a) - sizeof(IndexTupleData)) == 0)
		return true;
	return _bt_keep_natts_fast(writer->levels.index, a, b) > writer->nkeys;
}

static void
begin_pending(BtreeWriter *writer, IndexTuple tuple)
{
	memcpy(writer->base, tuple, IndexTupleSize(tuple));
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

/* ---------------------------------------------------------------- the stream */

void
btree_writer_add(BtreeWriter *writer, IndexTuple tuple)
{
	if (writer->deduplicates)
		add_deduplicated(writer, tuple);
	else
		btree_levels_add(&writer->levels, tuple);
}

void
btree_writer_finish(BtreeWriter *writer)
{
	if (writer->deduplicates && writer->pending->nitems > 0)
		end_pending(writer);
	btree_levels_finish(&writer->levels);
}
