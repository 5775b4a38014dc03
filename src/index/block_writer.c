/*
 * index/block_writer.c
 *		Writes the blocks of a new file, past the buffer pool.
 *
 * Blocks are filled in a window, a piece of memory that stands for some consecutive blocks of the file.  When
 * a block behind the window is wanted, the window is logged, written and moved on.  Blocks that take longer
 * are filled elsewhere and put later: into the window if it hasn't passed them, else over the zeros that it
 * left there.  So all but a few blocks leave in the order of the file.
 *
 * Storage that is written past the buffer pool is known to no checkpoint.  With every block in the log, redo
 * brings all back that was written since the last checkpoint began; hence the file need only be synced at
 * once if a checkpoint began meanwhile, and else by the next one.  Without the log (wal_level = minimal, in
 * the transaction that made the file) commit syncs it; unlogged files must be on disk after a clean shutdown,
 * that is by the next checkpoint; temporary ones never.  PostgreSQL 17 and later have this in bulk_write.c,
 * which is not used here: it writes block by block, and for one process alone.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/smgr.h"
#include "utils/memutils.h"

#include "base/pg_compat.h"
#include "index/block_writer.h"

/*
 * Blocks of the window: as many as fit into one record of the log, which is small enough to stay in a cache.
 */
#define WINDOW_BLOCKS 32

/* What direct I/O wants memory aligned to. */
#define MEMORY_ALIGNMENT 4096

struct BlockWriter
{
	Relation relation;
	bool needs_wal;
	XLogRecPtr redo_at_begin; /* where the last checkpoint began when this writer did */
	BlockNumber allocated;	  /* the next block's number */
	BlockNumber written;	  /* blocks that the file has */
	BlockNumber window;		  /* the first block of the window */
	bool filled[WINDOW_BLOCKS];
	char *pages; /* of the window */
};

BlockWriter *
block_writer_begin(Relation relation)
{
	BlockWriter *writer = palloc0(sizeof(BlockWriter));
	char *memory = palloc(WINDOW_BLOCKS * BLCKSZ + MEMORY_ALIGNMENT);

	writer->relation = relation;
	writer->needs_wal = RelationNeedsWAL(relation);
	writer->redo_at_begin = GetRedoRecPtr();
	writer->pages = (char *) TYPEALIGN(MEMORY_ALIGNMENT, memory);
	return writer;
}

BlockNumber
block_writer_allocate(BlockWriter *writer)
{
	if (writer->allocated == InvalidBlockNumber)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("cannot extend relation \"%s\" beyond %u blocks",
							   RelationGetRelationName(writer->relation), InvalidBlockNumber)));
	return writer->allocated++;
}

/* ---------------------------------------------------------------- the window */

static inline Page
window_page(BlockWriter *writer, int i)
{
	return (Page) (writer->pages + (Size) i * BLCKSZ);
}

static void
log_blocks(BlockWriter *writer, BlockNumber *blocks, Page *pages, int n)
{
	if (writer->needs_wal && n > 0)
		log_newpages(&writer->relation->rd_locator, MAIN_FORKNUM, n, blocks, pages, true);
}

/* One block at its place, or behind the last one. */
static void
write_block(BlockWriter *writer, BlockNumber block, Page page)
{
	SMgrRelation file = RelationGetSmgr(writer->relation);

	if (!PageIsNew(page))
		PageSetChecksum(page, block);
	if (block < writer->written)
		smgrwrite(file, MAIN_FORKNUM, block, page, true);
	else
	{
		Assert(block == writer->written);
		smgrextend(file, MAIN_FORKNUM, block, page, true);
		writer->written++;
	}
}

/* With a cost limit, as VACUUM FULL may have one, blocks that are written count. */
static void
delay_for_cost(int nblocks)
{
	if (VacuumCostActive)
		VacuumCostBalance += nblocks * VacuumCostPageDirty;
	cost_delay_point(false);
}

/* Logs and writes the window, with zeros where nothing was filled, and moves it behind its last block. */
static void
flush_window(BlockWriter *writer)
{
	int nblocks = Min(writer->allocated - writer->window, WINDOW_BLOCKS);
	BlockNumber blocks[WINDOW_BLOCKS];
	Page pages[WINDOW_BLOCKS];
	int n = 0;

	for (int i = 0; i < nblocks; i++)
	{
		if (writer->filled[i])
		{
			blocks[n] = writer->window + i;
			pages[n++] = window_page(writer, i);
		}
		else
			memset(window_page(writer, i), 0, BLCKSZ);
	}
	log_blocks(writer, blocks, pages, n);
	for (int i = 0; i < nblocks; i++)
		write_block(writer, writer->window + i, window_page(writer, i));
	writer->window += nblocks;
	memset(writer->filled, 0, sizeof(writer->filled));
	delay_for_cost(nblocks);
}

/* Moves the window on until it has a block; returns the block's place in it. */
static int
window_at(BlockWriter *writer, BlockNumber block)
{
	while (block - writer->window >= WINDOW_BLOCKS)
		flush_window(writer);
	return block - writer->window;
}

Page
block_writer_page(BlockWriter *writer, BlockNumber block)
{
	int i = window_at(writer, block);

	writer->filled[i] = true;
	return window_page(writer, i);
}

void
block_writer_put(BlockWriter *writer, BlockNumber block, Page page)
{
	if (block < writer->window)
	{
		log_blocks(writer, &block, &page, 1);
		write_block(writer, block, page);
	}
	else
		memcpy(block_writer_page(writer, block), page, BLCKSZ);
}

/* ---------------------------------------------------------------- fsync */

/* Has the next checkpoint sync the file, or does so now if one has begun that knew nothing of it. */
static void
sync_or_register(BlockWriter *writer)
{
	SMgrRelation file = RelationGetSmgr(writer->relation);
	bool checkpoint_began;

	/* No checkpoint may begin between the question and the registration. */
	Assert((MyProc->delayChkptFlags & DELAY_CHKPT_START) == 0);
	MyProc->delayChkptFlags |= DELAY_CHKPT_START;
	checkpoint_began = writer->needs_wal && writer->redo_at_begin != GetRedoRecPtr();
	if (!checkpoint_began)
		smgrregistersync(file, MAIN_FORKNUM);
	MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
	if (checkpoint_began)
		smgrimmedsync(file, MAIN_FORKNUM);
}

void
block_writer_finish(BlockWriter *writer)
{
	while (writer->window < writer->allocated)
		flush_window(writer);
	if (!RelationUsesLocalBuffers(writer->relation))
		sync_or_register(writer);
}
