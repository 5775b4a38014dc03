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
};

/* For an empty index; the levels are the caller's memory, what they hold is in CurrentMemoryContext. */
extern void btree_levels_begin(BtreeLevels *levels, Relation heap, Relation index);

/*
 * Adds the next tuple of the leaves, copied.  One that is too large for a third of a page is PostgreSQL's
 * error.
 */
extern void btree_levels_add(BtreeLevels *levels, IndexTuple tuple);

/* Writes the last page of each level, and the metapage. */
extern void btree_levels_finish(BtreeLevels *levels);

#endif /* GPUSORT_INDEX_BTREE_LEVELS_H */
