/*
 * index/btree_writer.h
 *		Makes a B-tree from a sorted stream of index tuples.
 */
#ifndef GPUSORT_INDEX_BTREE_WRITER_H
#define GPUSORT_INDEX_BTREE_WRITER_H

#include "postgres.h"

#include "access/itup.h"
#include "storage/dsm.h"
#include "utils/rel.h"

typedef struct BtreeWriter BtreeWriter;

/*
 * Makes a writer for the empty index that an access method's build routine gets, on the table heap.  It uses
 * about 300 kB in CurrentMemoryContext.  is_unique: from the build's IndexInfo; equal tuples of unique
 * indexes get no posting lists.  After an error the transaction's abort removes the file.
 */
extern BtreeWriter *btree_writer_begin(Relation heap, Relation index, bool is_unique);

/*
 * Adds a copy of the next tuple in the index's order.  repeats: is it known that its columns are those of the
 * tuple before, byte for byte?  Equal keys come in the order of their tids.  Memory for some pages is
 * allocated in CurrentMemoryContext.  If the tuple is larger than a third of a page, PostgreSQL's error is
 * raised.
 */
extern void btree_writer_add(BtreeWriter *writer, IndexTuple tuple, bool repeats);

/* Completes the index, and ensures that its file is synced in time. */
extern void btree_writer_finish(BtreeWriter *writer);

/* ---------------------------------------------------------------- several writers */

/*
 * Several processes may write one index together.  The order is cut into ranges, and one process writes each
 * range.  The first process makes room for a BtreeShare in dynamic shared memory and calls
 * btree_share_init(); the others call btree_share_attach().  Then each process joins, writes whole ranges one
 * by one, in any order, and leaves.  After all have left, the first process finishes the index.  If there is
 * no space for a temporary file of downlinks, PostgreSQL raises its error.
 */
typedef struct BtreeShare BtreeShare;

/* Returns the bytes of a BtreeShare for nranges ranges. */
extern Size btree_share_size(int nranges);

/*
 * Call this before any process takes part. segment: the segment of the BtreeShare, which this process has
 * attached.
 */
extern void btree_share_init(BtreeShare *share, int nranges, dsm_segment *segment);

/* Call this in every other process that takes part. */
extern void btree_share_attach(BtreeShare *share, dsm_segment *segment);

/* Makes a writer of this process, about 300 kB in CurrentMemoryContext. */
extern BtreeWriter *btree_writer_join(BtreeShare *share, Relation heap, Relation index, bool is_unique);

/* Tuples that are added from now on belong to this range, counted from 0. */
extern void btree_writer_begin_range(BtreeWriter *writer, int range);
extern void btree_writer_end_range(BtreeWriter *writer);

/* Writes the remaining blocks of this writer. */
extern void btree_writer_leave(BtreeWriter *writer);

/* Completes the index as btree_writer_finish() does; ranges that no process wrote are empty. */
extern void btree_writers_finish(BtreeShare *share, Relation heap, Relation index);

#endif /* GPUSORT_INDEX_BTREE_WRITER_H */
