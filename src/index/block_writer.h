/*
 * index/block_writer.h
 *		Writes the blocks of a new file, past the buffer pool, by one process or several.
 *
 * A BlockWriter belongs to one process.  In BlockShare, next is atomic, and the mutex protects the remaining
 * blocks of the writers (left).  If a block cannot be written, that is an error, and the abort removes the
 * file.
 */
#ifndef GPUSORT_INDEX_BLOCK_WRITER_H
#define GPUSORT_INDEX_BLOCK_WRITER_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "port/atomics.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#include "base/spin.h"

typedef struct BlockWriter BlockWriter;

/* The maximum number of runs of remaining blocks; more blocks than that stay unfilled. */
#define BLOCK_RUNS_MAX 128

typedef struct BlockRun
{
	BlockNumber next;
	BlockNumber end;
} BlockRun;

/* The shared memory of several writers of a file. */
typedef struct BlockShare
{
	pg_atomic_uint32 next;	  /* the first block that no writer has */
	XLogRecPtr redo_at_begin; /* start of the last checkpoint when the file was begun */
	slock_t mutex;			  /* protects the fields below */
	int nleft;
	BlockRun left[BLOCK_RUNS_MAX];
} BlockShare;

/*
 * Makes a writer for the main fork of a relation that has no block yet and that no other transaction sees, in
 * CurrentMemoryContext.  After an error the transaction's abort removes the file.
 */
extern BlockWriter *block_writer_begin(Relation relation);

/*
 * For several writers: the blocks from `next` on belong to them, and the blocks before belong to the last
 * writer.
 */
extern void block_share_init(BlockShare *share, BlockNumber next);

/*
 * Makes one of several writers, which may be in different processes.  is_last: the last writer, when all
 * others have finished.  It fills their remaining blocks, and has no memory for filling blocks in place.
 */
extern BlockWriter *block_writer_join(Relation relation, BlockShare *share, bool is_last);

/* Returns the number of the writer's next block. */
extern BlockNumber block_writer_allocate(BlockWriter *writer);

/*
 * Returns memory, not initialized, for filling the block that was allocated last.  The block must be complete
 * when the next such memory is requested.
 */
extern Page block_writer_page(BlockWriter *writer, BlockNumber block);

/* Copies the block that was last filled in place.  The caller will put it later. */
extern void block_writer_take_back(BlockWriter *writer, BlockNumber block, Page copy);

/* Writes a block that was filled elsewhere, once, and sets its LSN and its checksum. */
extern void block_writer_put(BlockWriter *writer, BlockNumber block, Page page);

/*
 * Writes the remaining blocks.  The only writer, or the last one, ensures that the file is synced by the
 * transaction's commit or the next checkpoint.  Blocks that were allocated and never filled are zero.
 */
extern void block_writer_finish(BlockWriter *writer);

#endif /* GPUSORT_INDEX_BLOCK_WRITER_H */
