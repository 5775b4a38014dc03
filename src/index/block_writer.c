/*
 * index/block_writer.c
 *		Writes the blocks of a new file, past the buffer pool, by one process or several.
 *
 * A writer takes an extent, some consecutive blocks of the file, and fills it in a buffer, a piece of memory
 * of that size; when a block of its next extent is wanted, the buffer is logged, written and moved there.
 * Blocks that take longer are filled elsewhere and put later: into the buffer if it hasn't passed them, else
 * over the zeros that it left there.  So all but a few blocks leave in large writes, and those of one writer
 * in the order of the file.  A writer among several writes what is left of its last extent as zeros and
 * leaves it to the last one, which puts all its blocks one by one.
 *
 * Storage that is written past the buffer pool is known to no checkpoint.  With every block in the log, redo
 * brings all back that was written since the last checkpoint began; hence the file need only be synced at
 * once if a checkpoint began meanwhile, and else by the next one.  Without the log (wal_level = minimal, in
 * the transaction that made the file) commit syncs it; unlogged files must be on disk after a clean shutdown,
 * that is by the next checkpoint; temporary ones never.  PostgreSQL 17 and later have this in bulk_write.c,
 * which is not used here: it writes block by block, and for one process alone.
 *
 * The storage manager extends files by one block a call before version 17, and from then on leaves the choice
 * between that and writing everything twice.  A call costs the kernel two or three times what it takes to
 * copy a block: writing 32 at a time took 1.5 instead of 3.8 us a block (ext4, Linux 6.18, 22 November 2026,
 * noise 10 %).  So this goes to the files themselves.  It can, as nobody else has to do with them: until
 * commit no backend sees the relation, the pool has none of its blocks, and no checkpoint writes them.  A
 * file has segments, which must be made in order: whoever removes the relation, at abort too, stops at the
 * first that is missing.
 */
#include "postgres.h"

#include <fcntl.h>

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "common/relpath.h"
#include "storage/fd.h"
#include "storage/proc.h"
#include "storage/smgr.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "base/pg_compat.h"
#include "index/block_writer.h"

/*
 * Blocks of an extent: as many as fit into one record of the log, which is small enough to stay in a cache.
 */
#define EXTENT_BLOCKS 32

/* What direct I/O wants memory aligned to. */
#define MEMORY_ALIGNMENT 4096

typedef enum Role
{
	THE_ONLY_ONE,
	ONE_OF_SEVERAL,
	THE_LAST
} Role;

struct BlockWriter
{
	Relation relation;
	char *path; /* of the file's first segment */
	File *segments;
	int nsegments;					/* that are open */
	MemoryContextCallback callback; /* closes them, for errors */
	Role role;
	BlockShare *share;
	bool needs_wal;
	BlockNumber extent;	  /* where the writer's last extent begins */
	BlockRun run;		  /* what of it was not allocated yet */
	BlockNumber buffered; /* the extent whose blocks are in the buffer; InvalidBlockNumber: none */
	bool filled[EXTENT_BLOCKS];
	char *pages; /* the buffer */
};

void
block_share_init(BlockShare *share, BlockNumber next)
{
	pg_atomic_init_u32(&share->next, next);
	share->redo_at_begin = GetRedoRecPtr();
	SpinLockInit(&share->mutex);
	share->nleft = 0;
}

static void
close_segments(void *arg)
{
	BlockWriter *writer = arg;

	while (writer->nsegments > 0)
		FileClose(writer->segments[--writer->nsegments]);
}

static BlockWriter *
make_writer(Relation relation, BlockShare *share, Role role)
{
	BlockWriter *writer = palloc0(sizeof(BlockWriter));
	char *memory;

	writer->relation = relation;
	writer->path = relation_path(relation, MAIN_FORKNUM);
	writer->segments = palloc(sizeof(File));
	writer->callback.func = close_segments;
	writer->callback.arg = writer;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &writer->callback);
	writer->role = role;
	writer->share = share;
	writer->needs_wal = RelationNeedsWAL(relation);
	writer->buffered = InvalidBlockNumber;
	if (role != THE_LAST)
	{
		memory = palloc(EXTENT_BLOCKS * BLCKSZ + MEMORY_ALIGNMENT);
		writer->pages = (char *) TYPEALIGN(MEMORY_ALIGNMENT, memory);
	}
	return writer;
}

BlockWriter *
block_writer_begin(Relation relation)
{
	BlockShare *share = palloc(sizeof(BlockShare));

	block_share_init(share, 0);
	return make_writer(relation, share, THE_ONLY_ONE);
}

BlockWriter *
block_writer_join(Relation relation, BlockShare *share, bool is_last)
{
	return make_writer(relation, share, is_last ? THE_LAST : ONE_OF_SEVERAL);
}

/* ---------------------------------------------------------------- extents */

/* New blocks at the end of the file. */
static void
take_extent(BlockWriter *writer, int nblocks)
{
	BlockNumber first = pg_atomic_fetch_add_u32(&writer->share->next, nblocks);

	if (first > MaxBlockNumber - EXTENT_BLOCKS)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("cannot extend relation \"%s\" beyond %u blocks",
							   RelationGetRelationName(writer->relation), InvalidBlockNumber)));
	writer->run.next = writer->extent = first;
	writer->run.end = first + nblocks;
}

BlockNumber
block_writer_allocate(BlockWriter *writer)
{
	BlockShare *share = writer->share;

	if (writer->run.next == writer->run.end)
	{
		if (writer->role != THE_LAST)
			take_extent(writer, EXTENT_BLOCKS);
		else if (share->nleft > 0)
			writer->run = share->left[--share->nleft];
		else
			take_extent(writer, 1);
	}
	return writer->run.next++;
}

/* Leaves the rest of the extent to the last writer. */
static void
give_rest(BlockWriter *writer)
{
	BlockShare *share = writer->share;

	if (writer->run.next == writer->run.end)
		return;
	SpinLockAcquire(&share->mutex);
	if (share->nleft < BLOCK_RUNS_MAX)
		share->left[share->nleft++] = writer->run;
	SpinLockRelease(&share->mutex);
}

/* ---------------------------------------------------------------- the file */

static void
open_next_segment(BlockWriter *writer)
{
	char *path =
		writer->nsegments == 0 ? pstrdup(writer->path) : psprintf("%s.%d", writer->path, writer->nsegments);
	int create = writer->nsegments == 0 ? 0 : O_CREAT;
	File segment;

	writer->segments = repalloc(writer->segments, (writer->nsegments + 1) * sizeof(File));
	segment = PathNameOpenFile(path, O_RDWR | PG_BINARY | create);
	if (segment < 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not open file \"%s\": %m", path)));
	writer->segments[writer->nsegments++] = segment;
	pfree(path);
}

/* Writes all of it, within a segment. */
static void
write_bytes(File segment, const char *bytes, int size, off_t offset)
{
	while (size > 0)
	{
		int written =
			FileWrite(segment, unconstify(char *, bytes), size, offset, WAIT_EVENT_DATA_FILE_EXTEND);

		if (written <= 0)
			ereport(ERROR, (errcode_for_file_access(),
							errmsg("could not extend file \"%s\": %m", FilePathName(segment)),
							errhint("Check free disk space.")));
		bytes += written;
		offset += written;
		size -= written;
	}
}

/*
 * Writes consecutive blocks, of which the file may have some, or none and none before them either; what is
 * skipped so is zero until it is written.
 */
static void
write_file(BlockWriter *writer, BlockNumber first, const char *pages, int n)
{
	while (n > 0)
	{
		BlockNumber segment = first / RELSEG_SIZE;
		BlockNumber place = first % RELSEG_SIZE;
		int here = Min(n, RELSEG_SIZE - place);

		while (writer->nsegments <= segment)
			open_next_segment(writer);
		write_bytes(writer->segments[segment], pages, here * BLCKSZ, (off_t) place * BLCKSZ);
		first += here;
		pages += here * BLCKSZ;
		n -= here;
	}
}

/* ---------------------------------------------------------------- the buffer */

static inline bool
is_buffered(const BlockWriter *writer, BlockNumber block)
{
	return writer->buffered != InvalidBlockNumber && block >= writer->buffered &&
		   block < writer->buffered + EXTENT_BLOCKS;
}

static inline Page
buffer_page(const BlockWriter *writer, int i)
{
	return (Page) (writer->pages + (Size) i * BLCKSZ);
}

static void
log_blocks(BlockWriter *writer, BlockNumber *blocks, Page *pages, int n)
{
	if (writer->needs_wal && n > 0)
		log_newpages(&writer->relation->rd_locator, MAIN_FORKNUM, n, blocks, pages, true);
}

/* Writes consecutive blocks; those that nothing was filled into are zero, and have no checksum. */
static void
write_blocks(BlockWriter *writer, BlockNumber first, char *pages, int n)
{
	for (int i = 0; i < n; i++)
	{
		Page page = (Page) (pages + (Size) i * BLCKSZ);

		if (!PageIsNew(page))
			PageSetChecksum(page, first + i);
	}
	write_file(writer, first, pages, n);
}

/* Blocks of the buffer that the file will have: all, but those that a file's only writer did not need. */
static int
buffered_blocks(const BlockWriter *writer)
{
	if (writer->role == THE_ONLY_ONE && writer->buffered == writer->extent)
		return writer->run.next - writer->buffered;
	return EXTENT_BLOCKS;
}

/* Logs and writes the buffer, with zeros where nothing was filled. */
static void
flush_buffer(BlockWriter *writer)
{
	BlockNumber blocks[EXTENT_BLOCKS];
	Page pages[EXTENT_BLOCKS];
	int nblocks = buffered_blocks(writer);
	int n = 0;

	if (writer->buffered == InvalidBlockNumber)
		return;
	for (int i = 0; i < nblocks; i++)
	{
		if (writer->filled[i])
		{
			blocks[n] = writer->buffered + i;
			pages[n++] = buffer_page(writer, i);
		}
		else
			memset(buffer_page(writer, i), 0, BLCKSZ);
	}
	log_blocks(writer, blocks, pages, n);
	write_blocks(writer, writer->buffered, writer->pages, nblocks);
	memset(writer->filled, 0, sizeof(writer->filled));
}

Page
block_writer_page(BlockWriter *writer, BlockNumber block)
{
	if (!is_buffered(writer, block))
	{
		flush_buffer(writer);
		writer->buffered = writer->extent;
	}
	Assert(is_buffered(writer, block));
	writer->filled[block - writer->buffered] = true;
	return buffer_page(writer, block - writer->buffered);
}

void
block_writer_take_back(BlockWriter *writer, BlockNumber block, Page copy)
{
	Assert(is_buffered(writer, block));
	memcpy(copy, buffer_page(writer, block - writer->buffered), BLCKSZ);
	writer->filled[block - writer->buffered] = false;
}

void
block_writer_put(BlockWriter *writer, BlockNumber block, Page page)
{
	if (is_buffered(writer, block))
		memcpy(block_writer_page(writer, block), page, BLCKSZ);
	else
	{
		log_blocks(writer, &block, &page, 1);
		write_blocks(writer, block, (char *) page, 1);
	}
}

/* ---------------------------------------------------------------- the end */

/* Has the next checkpoint sync the file, or does so now if one has begun that knew nothing of it. */
static void
sync_or_register(BlockWriter *writer)
{
	SMgrRelation file = RelationGetSmgr(writer->relation);
	bool checkpoint_began;

	/* No checkpoint may begin between the question and the registration. */
	Assert((MyProc->delayChkptFlags & DELAY_CHKPT_START) == 0);
	MyProc->delayChkptFlags |= DELAY_CHKPT_START;
	checkpoint_began = writer->needs_wal && writer->share->redo_at_begin != GetRedoRecPtr();
	if (!checkpoint_began)
		smgrregistersync(file, MAIN_FORKNUM);
	MyProc->delayChkptFlags &= ~DELAY_CHKPT_START;
	if (checkpoint_began)
		smgrimmedsync(file, MAIN_FORKNUM);
}

void
block_writer_finish(BlockWriter *writer)
{
	flush_buffer(writer);
	close_segments(writer);
	if (writer->role == ONE_OF_SEVERAL)
		give_rest(writer);
	else if (!RelationUsesLocalBuffers(writer->relation))
		sync_or_register(writer);
}
