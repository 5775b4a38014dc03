/*
 * index/btree_writer.h
 *		A B-tree out of a sorted stream of index tuples.
 */
#ifndef GPUSORT_INDEX_BTREE_WRITER_H
#define GPUSORT_INDEX_BTREE_WRITER_H

#include "postgres.h"

#include "access/itup.h"
#include "utils/rel.h"

typedef struct BtreeWriter BtreeWriter;

/*
 * For the empty index that an access method's build routine gets, of the table heap; in CurrentMemoryContext,
 * about 300 kB.  An error anywhere leaves the file to the transaction's abort.
 */
extern BtreeWriter *btree_writer_begin(Relation heap, Relation index);

/*
 * The next tuple in the index's order, equal keys by tid; copied.  Memory that is taken for some pages is
 * taken in CurrentMemoryContext.  A tuple larger than a third of a page is PostgreSQL's error.
 */
extern void btree_writer_add(BtreeWriter *writer, IndexTuple tuple);

/* Completes the index, and sees to it that its file will be on disk when it must be. */
extern void btree_writer_finish(BtreeWriter *writer);

#endif /* GPUSORT_INDEX_BTREE_WRITER_H */
