/*
 * regress/fuzz/page_tree.c
 *		A B-tree's pages, read from its file: compared with another one's, and checked by themselves.
 *
 * What is checked is what amcheck looks for, of a tree in memory: each level's pages are linked in both
 * directions; their tuples are between their low key and their high key; the level above has their downlinks
 * in order, with their low keys; and the leaves hold the very tuples that were put in.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

#include "page_tree.h"

PageTree
page_tree_read(Relation index)
{
	PageTree tree = {smgrnblocks(RelationGetSmgr(index), MAIN_FORKNUM)};

	/*
	 * Servers with assertions, from 16 on, read into memory that direct I/O could use, of 4096 bytes'
	 * alignment.
	 */
	tree.blocks = (PGAlignedBlock *) TYPEALIGN(4096, palloc(tree.nblocks * BLCKSZ + 4096));
	for (BlockNumber block = 0; block < tree.nblocks; block++)
	{
		char *page = tree.blocks[block].data;
		PageHeader header = (PageHeader) page;

		smgrread(RelationGetSmgr(index), MAIN_FORKNUM, block, page);
		memset(&header->pd_lsn, 0, sizeof(header->pd_lsn));
		header->pd_checksum = 0;
		if (header->pd_lower >= SizeOfPageHeaderData && header->pd_lower < header->pd_upper &&
			header->pd_upper <= BLCKSZ)
			memset(page + header->pd_lower, 0, header->pd_upper - header->pd_lower);
	}
	return tree;
}

char *
page_tree_difference(const PageTree *a, const PageTree *b)
{
	if (a->nblocks != b->nblocks)
		return psprintf("%u and %u blocks", a->nblocks, b->nblocks);
	for (BlockNumber block = 0; block < a->nblocks; block++)
	{
		const char *left = a->blocks[block].data;
		const char *right = b->blocks[block].data;

		for (int i = 0; memcmp(left, right, BLCKSZ) != 0 && i < BLCKSZ; i++)
		{
			if (left[i] != right[i])
				return psprintf("block %u, byte %d: %02x and %02x", block, i, (uint8) left[i],
								(uint8) right[i]);
		}
	}
	return NULL;
}

/* ---- one tree ---- */

typedef struct Check
{
	const PageTree *tree;
	Relation index;
	const IndexTuple *tuples;
	int ntuples;
	int nseen; /* of these, in the leaves */
} Check;

static Page
page_at(const Check *check, BlockNumber block)
{
	return (Page) check->tree->blocks[block].data;
}

static IndexTuple
tuple_at(Page page, OffsetNumber offset)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, offset));
}

/* Line pointers, and what they point to, are within the page and don't overlap. */
static char *
find_bad_item(Page page)
{
	PageHeader header = (PageHeader) page;
	Size used = 0;

	if (header->pd_lower > header->pd_upper || header->pd_upper > header->pd_special ||
		header->pd_special != BLCKSZ - MAXALIGN(sizeof(BTPageOpaqueData)))
		return "bounds of the page";
	for (OffsetNumber offset = 1; offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		ItemId item = PageGetItemId(page, offset);

		if (!ItemIdIsNormal(item) || ItemIdGetOffset(item) < header->pd_upper ||
			ItemIdGetOffset(item) + ItemIdGetLength(item) > header->pd_special ||
			MAXALIGN(IndexTupleSize(tuple_at(page, offset))) != MAXALIGN(ItemIdGetLength(item)))
			return psprintf("item %d", offset);
		used += MAXALIGN(ItemIdGetLength(item));
	}
	return used > header->pd_special - header->pd_upper ? "items overlap" : NULL;
}

/* Key columns that are there; those that were cut off are below all values. */
static int
count_keys(const Check *check, IndexTuple tuple)
{
	return Min(BTreeTupleGetNAtts(tuple, check->index), IndexRelationGetNumberOfKeyAttributes(check->index));
}

static int
compare_column(const Check *check, int column, IndexTuple a, IndexTuple b)
{
	Relation index = check->index;
	int16 option = index->rd_indoption[column];
	bool a_isnull, b_isnull;
	Datum a_value = index_getattr(a, column + 1, RelationGetDescr(index), &a_isnull);
	Datum b_value = index_getattr(b, column + 1, RelationGetDescr(index), &b_isnull);
	int order;

	if (a_isnull || b_isnull)
		return (option & INDOPTION_NULLS_FIRST) ? b_isnull - a_isnull : a_isnull - b_isnull;
	order = DatumGetInt32(FunctionCall2Coll(index_getprocinfo(index, column + 1, BTORDER_PROC),
											index->rd_indcollation[column], a_value, b_value));
	return (option & INDOPTION_DESC) ? -order : order;
}

/* A pivot tuple against a tuple, of whose tids this one counts; NULL: it has none. */
static int
compare(const Check *check, IndexTuple pivot, IndexTuple tuple, ItemPointer tid)
{
	int npivot = count_keys(check, pivot);
	int ntuple = count_keys(check, tuple);
	ItemPointer pivot_tid = BTreeTupleGetHeapTID(pivot);

	for (int i = 0; i < Min(npivot, ntuple); i++)
	{
		int order = compare_column(check, i, pivot, tuple);

		if (order != 0)
			return order;
	}
	if (npivot != ntuple)
		return npivot - ntuple;
	if (pivot_tid == NULL || tid == NULL)
		return (pivot_tid != NULL) - (tid != NULL);
	return ItemPointerCompare(pivot_tid, tid);
}

/* The tuple that comes next, with this tid, is there. */
static bool
is_next(Check *check, IndexTuple tuple, ItemPointer tid)
{
	IndexTuple expected;

	if (check->nseen >= check->ntuples)
		return false;
	expected = check->tuples[check->nseen++];
	return ItemPointerEquals(&expected->t_tid, tid) &&
		   _bt_keep_natts_fast(check->index, expected, tuple) >
			   IndexRelationGetNumberOfKeyAttributes(check->index);
}

static char *
find_bad_leaf_tuple(Check *check, Page page)
{
	for (OffsetNumber offset = P_FIRSTDATAKEY(BTPageGetOpaque(page)); offset <= PageGetMaxOffsetNumber(page);
		 offset++)
	{
		IndexTuple tuple = tuple_at(page, offset);
		bool is_posting = BTreeTupleIsPosting(tuple);
		int ntids = is_posting ? BTreeTupleGetNPosting(tuple) : 1;

		for (int i = 0; i < ntids; i++)
		{
			if (!is_next(check, tuple, is_posting ? BTreeTupleGetPostingN(tuple, i) : &tuple->t_tid))
				return psprintf("tid %d of tuple %d is not that of tuple %d of the input", i, offset,
								check->nseen);
		}
	}
	return NULL;
}

/*
 * All tuples are above the high key of the page before, the low key, and below the page's high key: on a leaf
 * not above it, for there the high key may be the last tuple's key and tid.
 */
static char *
find_bad_bound(Check *check, Page page, IndexTuple low_key)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber first = P_FIRSTDATAKEY(opaque);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	IndexTuple first_tuple, last_tuple;
	int order;

	/* The first downlink of a page has no key. */
	if (!P_ISLEAF(opaque))
		first++;
	if (first > last)
		return P_ISLEAF(opaque) ? "an empty leaf" : NULL;
	first_tuple = tuple_at(page, first);
	last_tuple = tuple_at(page, last);
	if (low_key != NULL && compare(check, low_key, first_tuple, BTreeTupleGetHeapTID(first_tuple)) >= 0)
		return "the first tuple is not above the page's low key";
	if (P_RIGHTMOST(opaque))
		return NULL;
	order =
		compare(check, tuple_at(page, P_HIKEY), last_tuple,
				P_ISLEAF(opaque) ? BTreeTupleGetMaxHeapTID(last_tuple) : BTreeTupleGetHeapTID(last_tuple));
	return order < (P_ISLEAF(opaque) ? 0 : 1) ? "the last tuple is above the high key" : NULL;
}

/* The next downlink of the level above is this page's, with its low key. */
static char *
find_bad_downlink(Check *check, BlockNumber *parent, OffsetNumber *offset, BlockNumber block,
				  IndexTuple low_key)
{
	Page page;
	IndexTuple downlink;

	if (*parent == P_NONE)
		return "a page without a downlink";
	page = page_at(check, *parent);
	if (*offset == 0)
		*offset = P_FIRSTDATAKEY(BTPageGetOpaque(page));
	downlink = tuple_at(page, *offset);
	if (BTreeTupleGetDownLink(downlink) != block)
		return psprintf("downlink %d of block %u leads to block %u", *offset, *parent,
						BTreeTupleGetDownLink(downlink));
	if (*offset > P_FIRSTDATAKEY(BTPageGetOpaque(page)) &&
		(low_key == NULL || IndexTupleSize(low_key) != IndexTupleSize(downlink) ||
		 memcmp(low_key + 1, downlink + 1, IndexTupleSize(downlink) - sizeof(IndexTupleData)) != 0))
		return psprintf("downlink %d of block %u is not its page's low key", *offset, *parent);
	if (++*offset > PageGetMaxOffsetNumber(page))
	{
		*parent = BTPageGetOpaque(page)->btpo_next;
		*offset = 0;
	}
	return NULL;
}

/* A level from its leftmost page; parent: that of the level above, P_NONE: there is none. */
static char *
find_bad_page(Check *check, BlockNumber block, uint32 number, BlockNumber parent)
{
	bool has_parent = parent != P_NONE;
	BlockNumber before = P_NONE;
	IndexTuple low_key = NULL;
	OffsetNumber offset = 0;

	while (block != P_NONE)
	{
		Page page;
		BTPageOpaque opaque;
		char *fault;

		if (block >= check->tree->nblocks)
			return psprintf("a link to block %u of %u", block, check->tree->nblocks);
		page = page_at(check, block);
		opaque = BTPageGetOpaque(page);
		fault = find_bad_item(page);
		if (fault == NULL && (opaque->btpo_prev != before || opaque->btpo_level != number ||
							  P_ISLEAF(opaque) != (number == 0) || P_ISROOT(opaque) == has_parent))
			fault = "links, level or flags";
		if (fault == NULL)
			fault = find_bad_bound(check, page, low_key);
		if (fault == NULL && has_parent)
			fault = find_bad_downlink(check, &parent, &offset, block, low_key);
		if (fault == NULL && number == 0)
			fault = find_bad_leaf_tuple(check, page);
		if (fault != NULL)
			return psprintf("block %u of level %u: %s", block, number, fault);
		low_key = P_RIGHTMOST(opaque) ? NULL : tuple_at(page, P_HIKEY);
		before = block;
		block = opaque->btpo_next;
	}
	return has_parent && parent != P_NONE ? psprintf("more downlinks than pages of level %u", number) : NULL;
}

char *
page_tree_fault(const PageTree *tree, Relation index, const IndexTuple *tuples, int ntuples)
{
	Check check = {tree, index, tuples, ntuples};
	BTMetaPageData *meta = BTPageGetMeta((Page) tree->blocks[BTREE_METAPAGE].data);
	BlockNumber block = meta->btm_root;
	BlockNumber parent = P_NONE;
	char *fault = NULL;

	for (int level = meta->btm_level; level >= 0 && block != P_NONE && fault == NULL; level--)
	{
		Page page;

		fault = find_bad_page(&check, block, level, parent);
		if (fault != NULL || level == 0)
			break;
		parent = block;
		page = page_at(&check, block);
		block = BTreeTupleGetDownLink(tuple_at(page, P_FIRSTDATAKEY(BTPageGetOpaque(page))));
	}
	if (fault == NULL && check.nseen != ntuples)
		fault = psprintf("%d of %d tuples", check.nseen, ntuples);
	return fault;
}
