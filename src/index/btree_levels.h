/*
 * index/btree_levels.h
 *		The levels of a B-tree, each filled from the left to the right.
 */
#ifndef GPUSORT_INDEX_BTREE_LEVELS_H
#define GPUSORT_INDEX_BTREE_LEVELS_H

#include "postgres.h"

#include "access/itup.h"
#include "access/nbtree.h"
#include "utils/rel.h"

#include "index/block_writer.h"

typedef struct BtreeLevels BtreeLevels;

/* A level; its pages are full when less space than the index's fillfactor leaves is free. */
typedef struct BtreeLevel
{
	struct BtreeLevel *parent; /* NULL: there is none yet */
	uint32 number;			   /* 0: leaves */
	bool in_place;			   /* are its pages filled where they are written from? */
	Size spared;			   /* bytes that a page shall keep free */
	Page page;				   /* the one that is being filled */
	BlockNumber block;		   /* where it belongs */
	IndexTuple low_key;		   /* below all that is on it; becomes its downlink */
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
	 * For a part of the leaves alone: told of each leaf that is complete, but was not written yet, and of its
	 * downlink.  NULL: the levels above get that.
	 */
	void (*leaf_is_complete)(BtreeLevels *levels, IndexTuple downlink);
	void *arg;
};

/* For an empty index; the levels are the caller's memory, what they hold is in CurrentMemoryContext. */
extern void btree_levels_begin(BtreeLevels *levels, Relation heap, Relation index, BlockWriter *blocks);

/*
 * Adds the next tuple of the leaves, copied.  One that is too large for a third of a page is PostgreSQL's
 * error.
 */
extern void btree_levels_add(BtreeLevels *levels, IndexTuple tuple);

/* Writes the last page of each level, and the metapage. */
extern void btree_levels_finish(BtreeLevels *levels);

/* memcpy(), with those sizes known to the compiler that most tuples have. */
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

/* Has this be the last leaf, whose place is block; copied.  low_key: as a page's, NULL: as it stands. */
extern void btree_levels_take_leaf(BtreeLevels *levels, Page page, BlockNumber block, IndexTuple low_key);

/* Writes the last leaf, which is complete. */
extern void btree_levels_put_leaf(BtreeLevels *levels);

/* The same, but it lacks the high key: the next leaf has this first tuple and this place. */
extern void btree_levels_end_leaf(BtreeLevels *levels, IndexTuple first_right, BlockNumber next);

/* The next leaf is complete and written, and has this downlink. */
extern void btree_levels_pass_leaf(BtreeLevels *levels, IndexTuple downlink);

#endif /* GPUSORT_INDEX_BTREE_LEVELS_H */
