/*
 * index/block_file.h
 *		The file of a relation that is being built, written many blocks at a time.
 */
#ifndef GPUSORT_INDEX_BLOCK_FILE_H
#define GPUSORT_INDEX_BLOCK_FILE_H

#include "postgres.h"

#include "storage/block.h"
#include "utils/rel.h"

typedef struct BlockFile BlockFile;

/* The main fork, which PostgreSQL has made; in CurrentMemoryContext, with which it is closed. */
extern BlockFile *block_file_open(Relation relation);

/*
 * Writes consecutive blocks, of which the file may have some, or none and none before them either; what is
 * skipped so is zero until it is written.  Nobody is told that they are to be synced.
 */
extern void block_file_write(BlockFile *file, BlockNumber first, const char *pages, int n);

extern void block_file_close(BlockFile *file);

#endif /* GPUSORT_INDEX_BLOCK_FILE_H */
