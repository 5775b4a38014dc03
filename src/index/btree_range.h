/*
 * index/btree_range.h
 *		Ranges of a B-tree's leaves, filled by several processes, and joined by one.
 *
 * The leader calls btree_share_init before workers start, and btree_ranges_join when they have ended.  In
 * between each process writes only the entries of the ranges that it has taken, so there is no lock.  No
 * space for a temporary file of downlinks is PostgreSQL's error.
 */
#ifndef GPUSORT_INDEX_BTREE_RANGE_H
#define GPUSORT_INDEX_BTREE_RANGE_H

#include "postgres.h"

#include "storage/dsm.h"
#include "utils/rel.h"

#include "index/btree_levels.h"

/* What those who fill an index's leaves share, in dynamic shared memory. */
typedef struct BtreeShare BtreeShare;

/* Bytes of it, for so many ranges. */
extern Size btree_share_size(int nranges);

/* Before any process takes part; the segment is the one that it is in, and this process has attached it. */
extern void btree_share_init(BtreeShare *share, int nranges, dsm_segment *segment);

/* In every other process that takes part. */
extern void btree_share_attach(BtreeShare *share, dsm_segment *segment);

extern BlockShare *btree_share_blocks(BtreeShare *share);

/* From now on what is added to the levels are the leaves of this range. */
extern void btree_range_begin(BtreeLevels *levels, BtreeShare *share, int range);
extern void btree_range_end(BtreeLevels *levels);

/* Fills the levels with what is in all ranges. */
extern void btree_ranges_join(BtreeLevels *levels, BtreeShare *share);

#endif /* GPUSORT_INDEX_BTREE_RANGE_H */
