/*
 * index/block_writer.h
 *		Writes the blocks of a new file, past the buffer pool.
 */
#ifndef GPUSORT_INDEX_BLOCK_WRITER_H
#define GPUSORT_INDEX_BLOCK_WRITER_H

#include "postgres.h"

#include "storage/bufpage.h"
#include "utils/rel.h"

typedef struct BlockWriter BlockWriter;

/*
 * For the main fork of a relation that has no block yet and that nobody else sees; in CurrentMemoryContext.
 * An error leaves the file to the transaction's abort.
 */
extern BlockWriter *block_writer_begin(Relation relation);

/* The number of the next block. */
extern BlockNumber block_writer_allocate(BlockWriter *writer);

/*
 * Memory for the block that was allocated last, to be filled in place: it must be complete when the next
 * block is asked for so.  Not initialized.
 */
extern Page block_writer_page(BlockWriter *writer, BlockNumber block);

/* Writes a block that was filled elsewhere, once; its LSN and its checksum are set. */
extern void block_writer_put(BlockWriter *writer, BlockNumber block, Page page);

/*
 * Writes what is left, and sees to it that the file will be on disk when the transaction's commit or the next
 * checkpoint says so.  Blocks that were allocated but never filled are zero.
 */
extern void block_writer_finish(BlockWriter *writer);

#endif /* GPUSORT_INDEX_BLOCK_WRITER_H */
