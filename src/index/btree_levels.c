/*
 * index/btree_levels.c
 *		The levels of a B-tree, each filled from the left to the right.
 *
 * Only the last page of each level is in the making.  When a leaf is full, its last tuple moves to a new
 * leaf, and a pivot tuple that tells the two apart, with as few columns as that takes (_bt_truncate()),
 * becomes the high key of the old one: it is the low key of the new one, too, and with the new one's block
 * number its downlink, which the level above gets when the new one is full in its turn.  Pages of that level
 * are filled likewise, but the tuple that moves is the high key as it is, and a page's first downlink needs
 * no key.  A level begins when the one below has its second page.  The last page of a level has no high key.
 *
 * When a page is full, and what it holds then, is decided as PostgreSQL decides it in nbtsort.c, and blocks
 * are numbered in the same order.  So an index has the size, the pages and the free space that PostgreSQL
 * would have given it, and tests can compare them.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "base/pg_compat.h"
#include "index/btree_levels.h"

void
btree_levels_begin(BtreeLevels *levels, Relation heap, Relation index, BlockWriter *blocks)
{
	memset(levels, 0, sizeof(*levels));
	levels->heap = heap;
	levels->index = index;
	levels->blocks = blocks;
	levels->key = _bt_mkscankey(index, NULL);
	levels->key->allequalimage = _bt_allequalimage(index, true);
}

/* ---------------------------------------------------------------- pages */

/* The line pointers of a page: its tuples, and the high key's, which is there from the beginning. */
static inline int
page_items(Page page)
{
	return PageGetMaxOffsetNumber(page);
}

static inline IndexTuple
page_tuple(Page page, OffsetNumber offset)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, offset));
}

/* Bytes that are free when one more line pointer is counted as taken. */
static inline Size
page_free_space(Page page)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	return Max((int) header->pd_upper - (int) header->pd_lower - (int) sizeof(ItemIdData), 0);
}

/* Takes space for a tuple off the page's end, and has the line pointer stand for it. */
static inline void
page_store(Page page, ItemId item, const IndexTupleData *tuple, Size size)
{
	PageHeader header = (PageHeader) page;

	if (unlikely(header->pd_upper < header->pd_lower + size))
		elog(ERROR, "failed to add item to the index page");
	header->pd_upper -= size;
	ItemIdSetNormal(item, header->pd_upper, size);
	btree_copy_tuple((char *) page + header->pd_upper, tuple, size);
}

/* PageAddItem() for what is known here: there is room, and the tuple goes behind all others. */
static inline void
page_append(Page page, const IndexTupleData *tuple, Size size)
{
	PageHeader header = (PageHeader) page;
	ItemId item = (ItemId) ((char *) page + header->pd_lower);

	header->pd_lower += sizeof(ItemIdData);
	page_store(page, item, tuple, size);
}

/* Gives the page's last tuple back, which was stored last; returns its size. */
static Size
page_take_last(Page page, void *tuple)
{
	PageHeader header = (PageHeader) page;
	ItemId item = PageGetItemId(page, page_items(page));
	Size size = ItemIdGetLength(item);

	Assert(ItemIdGetOffset(item) == header->pd_upper);
	memcpy(tuple, PageGetItem(page, item), size);
	header->pd_upper += size;
	header->pd_lower -= sizeof(ItemIdData);
	return size;
}

/* A level's last page has no high key: its tuples' line pointers move to the front. */
static void
page_remove_high_key(Page page)
{
	PageHeader header = (PageHeader) page;

	memmove(PageGetItemId(page, P_HIKEY), PageGetItemId(page, P_FIRSTKEY),
			(page_items(page) - P_HIKEY) * sizeof(ItemIdData));
	header->pd_lower -= sizeof(ItemIdData);
}

/* ---------------------------------------------------------------- levels */

/* Has a tuple hold no key, only a downlink: below everything else on its level. */
static void
remove_key(IndexTuple tuple)
{
	tuple->t_info = sizeof(IndexTupleData);
	BTreeTupleSetNAtts(tuple, 0, false);
}

/* Leaves are filled where they are written from; pages above are not complete as soon as that takes. */
static void
begin_page(BtreeLevels *levels, BtreeLevel *level, BlockNumber block, BlockNumber previous)
{
	BTPageOpaque opaque;

	if (level->in_place)
		level->page = block_writer_page(levels->blocks, block);
	level->block = block;
	_bt_pageinit(level->page, BLCKSZ);
	((PageHeader) level->page)->pd_lower += sizeof(ItemIdData); /* the high key's */
	opaque = BTPageGetOpaque(level->page);
	opaque->btpo_prev = previous;
	opaque->btpo_next = P_NONE;
	opaque->btpo_level = level->number;
	opaque->btpo_flags = level->number == 0 ? BTP_LEAF : 0;
	opaque->btpo_cycleid = 0;
}

static void
end_page(BtreeLevels *levels, BtreeLevel *level)
{
	if (!level->in_place)
		block_writer_put(levels->blocks, level->block, level->page);
}

static BtreeLevel *
make_level(BtreeLevels *levels, uint32 number, bool in_place)
{
	BtreeLevel *level = palloc0(sizeof(BtreeLevel));

	level->number = number;
	level->in_place = in_place;
	level->spared = number == 0 ? BTGetTargetPageFreeSpace(levels->index)
								: BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	if (!in_place)
		level->page = palloc(BLCKSZ);
	level->low_key = palloc0(sizeof(IndexTupleData));
	remove_key(level->low_key);
	return level;
}

static BtreeLevel *
begin_level(BtreeLevels *levels, uint32 number)
{
	BtreeLevel *level = make_level(levels, number, number == 0);

	begin_page(levels, level, block_writer_allocate(levels->blocks), P_NONE);
	return level;
}

/* Appends a tuple for which there is room; the first one above the leaves loses its key. */
static inline void
append_tuple(BtreeLevel *level, IndexTuple tuple, Size size)
{
	IndexTupleData downlink;

	if (level->number > 0 && page_items(level->page) == P_HIKEY)
	{
		downlink = *tuple;
		remove_key(&downlink);
		tuple = &downlink;
		size = sizeof(downlink);
	}
	page_append(level->page, tuple, size);
}

static void add_tuple(BtreeLevels *levels, BtreeLevel *level, IndexTuple tuple);

/* The level above gets a downlink to a page. */
static void
add_downlink(BtreeLevels *levels, BtreeLevel *level, IndexTuple downlink)
{
	if (level->parent == NULL)
		level->parent = begin_level(levels, level->number + 1);
	add_tuple(levels, level->parent, downlink);
}

/* A page is complete: writes it, and has a downlink of its low key. */
static void
link_page(BtreeLevels *levels, BtreeLevel *level)
{
	IndexTuple downlink = level->low_key;

	BTreeTupleSetDownLink(downlink, level->block);
	if (levels->leaf_is_complete != NULL)
		levels->leaf_is_complete(levels, downlink);
	else
	{
		end_page(levels, level);
		add_downlink(levels, level, downlink);
	}
	level->low_key = NULL;
	pfree(downlink);
}

/* What tells the page's tuples from those of the next one; palloc'ed. */
static IndexTuple
make_high_key(const BtreeLevels *levels, const BtreeLevel *level, IndexTuple first_right)
{
	IndexTuple last_left = page_tuple(level->page, page_items(level->page));

	if (level->number > 0)
		return CopyIndexTuple(first_right);
	return _bt_truncate(levels->index, last_left, first_right, levels->key);
}

/* Completes a page, of which the next one is known: its first tuple, and its place. */
static void
complete_page(BtreeLevels *levels, BtreeLevel *level, IndexTuple first_right, BlockNumber next)
{
	IndexTuple high_key = make_high_key(levels, level, first_right);

	page_store(level->page, PageGetItemId(level->page, P_HIKEY), high_key, IndexTupleSize(high_key));
	BTPageGetOpaque(level->page)->btpo_next = next;
	link_page(levels, level);
	level->low_key = high_key;
}

/* The page is full: completes it, and begins the next one with its last tuple. */
static void
turn_page(BtreeLevels *levels, BtreeLevel *level)
{
	PGAlignedBlock moving;
	Size moving_size = page_take_last(level->page, moving.data);
	BlockNumber block = level->block;
	BlockNumber next = block_writer_allocate(levels->blocks);

	CHECK_FOR_INTERRUPTS();
	complete_page(levels, level, (IndexTuple) moving.data, next);
	begin_page(levels, level, next, block);
	append_tuple(level, (IndexTuple) moving.data, moving_size);
}

/*
 * Must the page be turned before this tuple?  A leaf keeps room for the tid that its high key may need.  The
 * space that shall be spared counts from the second tuple on, and a posting list in the last one would not be
 * in the high key.
 */
static inline bool
is_full(const BtreeLevel *level, Size size)
{
	Size space = page_free_space(level->page);

	if (space < size + (level->number == 0 ? MAXALIGN(sizeof(ItemPointerData)) : 0))
		return true;
	return space + level->last_posting < level->spared && page_items(level->page) > P_FIRSTKEY;
}

static inline void
add_tuple(BtreeLevels *levels, BtreeLevel *level, IndexTuple tuple)
{
	Size size = MAXALIGN(IndexTupleSize(tuple));

	if (unlikely(size > bt_max_item_size(level->page)))
		_bt_check_third_page(levels->index, levels->heap, level->number == 0, level->page, tuple);
	if (is_full(level, size))
		turn_page(levels, level);
	level->last_posting =
		BTreeTupleIsPosting(tuple) ? IndexTupleSize(tuple) - BTreeTupleGetPostingOffset(tuple) : 0;
	append_tuple(level, tuple, size);
}

void
btree_levels_add(BtreeLevels *levels, IndexTuple tuple)
{
	if (unlikely(levels->leaves == NULL))
		levels->leaves = begin_level(levels, 0);
	add_tuple(levels, levels->leaves, tuple);
}

/* Completes the last page of a level, which is the root if it is its level's only one. */
static void
finish_level(BtreeLevels *levels, BtreeLevel *level)
{
	page_remove_high_key(level->page);
	if (level->parent != NULL)
		link_page(levels, level);
	else
	{
		BTPageGetOpaque(level->page)->btpo_flags |= BTP_ROOT;
		end_page(levels, level);
	}
}

void
btree_levels_finish(BtreeLevels *levels)
{
	PGAlignedBlock metapage;
	BlockNumber root = P_NONE;
	uint32 height = 0;

	for (BtreeLevel *level = levels->leaves; level != NULL; level = level->parent)
	{
		finish_level(levels, level);
		root = level->block;
		height = level->number;
	}
	_bt_initmetapage((Page) metapage.data, root, height, levels->key->allequalimage);
	block_writer_put(levels->blocks, BTREE_METAPAGE, (Page) metapage.data);
	block_writer_finish(levels->blocks);
}

/* ---------------------------------------------------------------- leaves that others have filled */

void
btree_levels_take_leaf(BtreeLevels *levels, Page page, BlockNumber block, IndexTuple low_key)
{
	if (levels->leaves == NULL)
		levels->leaves = make_level(levels, 0, false);
	memcpy(levels->leaves->page, page, BLCKSZ);
	levels->leaves->block = block;
	if (low_key != NULL)
		levels->leaves->low_key = CopyIndexTuple(low_key);
}

void
btree_levels_put_leaf(BtreeLevels *levels)
{
	link_page(levels, levels->leaves);
}

void
btree_levels_end_leaf(BtreeLevels *levels, IndexTuple first_right, BlockNumber next)
{
	/* Without room for the largest high key that this can give the last tuple gets a leaf of its own. */
	if (page_free_space(levels->leaves->page) <
		MAXALIGN(IndexTupleSize(first_right)) + MAXALIGN(sizeof(ItemPointerData)))
		turn_page(levels, levels->leaves);
	complete_page(levels, levels->leaves, first_right, next);
}

void
btree_levels_pass_leaf(BtreeLevels *levels, IndexTuple downlink)
{
	add_downlink(levels, levels->leaves, downlink);
}
