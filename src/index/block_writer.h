/*
 * index/block_writer.h
 *		Writes the blocks of a new file, past the buffer pool, by one process or several.
 *
 * A BlockWriter belongs to one process.  Of BlockShare, next is atomic, and what writers leave over (left) is
 * under the mutex.  A block that can't be written is an error; the abort removes the file.
 */
#ifndef GPUSORT_INDEX_BLOCK_WRITER_H
#define GPUSORT_INDEX_BLOCK_WRITER_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "port/atomics.h"
#include "storage/bufpage.h"
#include "storage/spin.h"
#include "utils/rel.h"

typedef struct BlockWriter BlockWriter;

/* Runs of blocks that writers have left over, at most; more are never filled. */
#define BLOCK_RUNS_MAX 128

typedef struct BlockRun
{
	BlockNumber next;
	BlockNumber end;
} BlockRun;

/* What several writers of a file share, in shared memory. */
typedef struct BlockShare
{
	pg_atomic_uint32 next;	  /* the first block that no writer has */
	XLogRecPtr redo_at_begin; /* where the last checkpoint began when the file did */
	slock_t mutex;			  /* of all that follows */
	int nleft;
	BlockRun left[BLOCK_RUNS_MAX];
} BlockShare;

/*
 * For the main fork of a relation that has no block yet and that nobody else sees; in CurrentMemoryContext.
 * An error leaves the file to the transaction's abort.
 */
extern BlockWriter *block_writer_begin(Relation relation);

/* For several writers: the blocks from this one on are theirs, those before it the last one's. */
extern void block_share_init(BlockShare *share, BlockNumber next);

/*
 * One of several writers, which may be in different processes; or the last one, when all others have
 * finished: it fills what they have left over, and has no memory for blocks to be filled in place.
 */
extern BlockWriter *block_writer_join(Relation relation, BlockShare *share, bool is_last);

/* The number of the writer's next block. */
extern BlockNumber block_writer_allocate(BlockWriter *writer);

/*
 * Memory for the block that was allocated last, to be filled in place: it must be complete when the next
 * block is asked for so.  Not initialized.
 */
extern Page block_writer_page(BlockWriter *writer, BlockNumber block);

/* Copies the block that was filled in place last: it will be put. */
extern void block_writer_take_back(BlockWriter *writer, BlockNumber block, Page copy);

/* Writes a block that was filled elsewhere, once; its LSN and its checksum are set. */
extern void block_writer_put(BlockWriter *writer, BlockNumber block, Page page);

/*
 * Writes what is left.  The only writer, or the last, sees to it that the file will be on disk when the
 * transaction's commit or the next checkpoint says so.  Blocks that were allocated but never filled are zero.
 */
extern void block_writer_finish(BlockWriter *writer);

#endif /* GPUSORT_INDEX_BLOCK_WRITER_H */
