/*
 * index/btree_levels.h
 *		The levels of a B-tree.  Each is filled from left to right.
 */
#ifndef GPUSORT_INDEX_BTREE_LEVELS_H
#define GPUSORT_INDEX_BTREE_LEVELS_H

#include "postgres.h"

#include "access/itup.h"
#include "access/nbtree.h"
#include "utils/rel.h"

#include "index/block_writer.h"

typedef struct BtreeLevels BtreeLevels;

/* A level.  A page is full when its free space is less than the index's fillfactor leaves. */
typedef struct BtreeLevel
{
	struct BtreeLevel *parent; /* NULL: not made yet */
	uint32 number;			   /* 0: leaves */
	bool in_place;			   /* are pages filled in the memory from which they are written? */
	Size spared;			   /* bytes that a page keeps free */
	Page page;				   /* the page that is being filled */
	BlockNumber block;		   /* its block number */
	IndexTuple low_key;		   /* lower bound of the page's tuples; becomes its downlink */
	Size last_posting;		   /* bytes of the posting list in the last tuple */
} BtreeLevel;

struct BtreeLevels
{
	Relation heap;
	Relation index;
	BTScanInsert key; /* for comparisons, with allequalimage */
	BlockWriter *blocks;
	BtreeLevel *leaves; /* NULL: no tuple yet */

	/*
	 * For writing only a part of the leaves: called for each leaf that is complete and not yet written, with
	 * its downlink.  NULL: the level above gets the downlink.
	 */
	void (*leaf_is_complete)(BtreeLevels *levels, IndexTuple downlink);
	void *arg;
};

/*
 * Begins an empty index.  The caller has the memory of *levels; further memory is in CurrentMemoryContext.
 */
extern void btree_levels_begin(BtreeLevels *levels, Relation heap, Relation index, BlockWriter *blocks);

/*
 * Adds a copy of the next tuple of the leaves.  If it is larger than a third of a page, PostgreSQL's error is
 * raised.
 */
extern void btree_levels_add(BtreeLevels *levels, IndexTuple tuple);

/* Writes the last page of each level, and the metapage. */
extern void btree_levels_finish(BtreeLevels *levels);

/* memcpy() with the sizes of most tuples as compile-time constants. */
static inline void
btree_copy_tuple(void *dst, const IndexTupleData *tuple, Size size)
{
	switch (size)
	{
		case 16:
			memcpy(dst, tuple, 16);
			break;
		case 24:
			memcpy(dst, tuple, 24);
			break;
		case 32:
			memcpy(dst, tuple, 32);
			break;
		default:
			memcpy(dst, tuple, size);
			break;
	}
}

/* ---------------------------------------------------------------- leaves that others have filled */

/*
 * Makes a copy of this page the last leaf, at this block.  low_key: the page's low key; NULL: keep the
 * present one.
 */
extern void btree_levels_take_leaf(BtreeLevels *levels, Page page, BlockNumber block, IndexTuple low_key);

/* Writes the last leaf, which is complete. */
extern void btree_levels_put_leaf(BtreeLevels *levels);

/*
 * Writes the last leaf, which lacks the high key.  first_right: the first tuple of the next leaf. next: the
 * block of the next leaf.
 */
extern void btree_levels_end_leaf(BtreeLevels *levels, IndexTuple first_right, BlockNumber next);

/* Adds the downlink of the next leaf, which is complete and written. */
extern void btree_levels_pass_leaf(BtreeLevels *levels, IndexTuple downlink);

#endif /* GPUSORT_INDEX_BTREE_LEVELS_H */
