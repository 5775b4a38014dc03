/*
 * index/btree_writer.h
 *		A B-tree out of a sorted stream of index tuples.
 */
#ifndef GPUSORT_INDEX_BTREE_WRITER_H
#define GPUSORT_INDEX_BTREE_WRITER_H

#include "postgres.h"

#include "access/itup.h"
#include "storage/dsm.h"
#include "utils/rel.h"

typedef struct BtreeWriter BtreeWriter;

/*
 * For the empty index that an access method's build routine gets, of the table heap; in CurrentMemoryContext,
 * about 300 kB.  is_unique: as the build's IndexInfo says; equal tuples of unique indexes get no posting
 * lists.  An error anywhere leaves the file to the transaction's abort.
 */
extern BtreeWriter *btree_writer_begin(Relation heap, Relation index, bool is_unique);

/*
 * The next tuple in the index's order, equal keys by tid; copied.  Memory that is taken for some pages is
 * taken in CurrentMemoryContext.  A tuple larger than a third of a page is PostgreSQL's error.
 */
extern void btree_writer_add(BtreeWriter *writer, IndexTuple tuple);

/* Completes the index, and sees to it that its file will be on disk when it must be. */
extern void btree_writer_finish(BtreeWriter *writer);

/* ---------------------------------------------------------------- several writers */

/*
 * Several processes may write one index together: the order is cut into ranges, each of which is written by
 * one of them.  The first process makes room for a BtreeShare in dynamic shared memory and calls
 * btree_share_init(), the others call btree_share_attach(); then each one joins, writes whole ranges one by
 * one, in any order, and leaves.  After all have left the first process finishes the index.  No space for a
 * temporary file of downlinks is PostgreSQL's error.
 */
typedef struct BtreeShare BtreeShare;

/* Bytes of it, for so many ranges. */
extern Size btree_share_size(int nranges);

/* Before any process takes part; the segment is the one that it is in, and this process has attached it. */
extern void btree_share_init(BtreeShare *share, int nranges, dsm_segment *segment);

/* In every other process that takes part. */
extern void btree_share_attach(BtreeShare *share, dsm_segment *segment);

/* In CurrentMemoryContext, about 300 kB. */
extern BtreeWriter *btree_writer_join(BtreeShare *share, Relation heap, Relation index, bool is_unique);

/* What is added from now on is this range, from 0. */
extern void btree_writer_begin_range(BtreeWriter *writer, int range);
extern void btree_writer_end_range(BtreeWriter *writer);

/* Writes what is left of this writer's. */
extern void btree_writer_leave(BtreeWriter *writer);

/* As btree_writer_finish(); ranges that nobody wrote are empty. */
extern void btree_writers_finish(BtreeShare *share, Relation heap, Relation index);

#endif /* GPUSORT_INDEX_BTREE_WRITER_H */
