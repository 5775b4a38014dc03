/*
 * device/cuda/waiting.h
 *		Rows that wait until the GPU has room for them, in chunks: in host memory, and past that in temporary
 *		files.
 *
 * They wait in parts, by number.  Several processes may bring rows; the first one reads them, a part at a
 * time, when all others are through.
 */
#ifndef GPUSORT_DEVICE_CUDA_WAITING_H
#define GPUSORT_DEVICE_CUDA_WAITING_H

#include "postgres.h"

#include "storage/fd.h"
#include "storage/fileset.h"
#include "storage/spin.h"

#include "device/participants.h"
#include "device/sorter.h"

/* The first process writes to the first of its files, those that joined to the others. */
#define WAITING_WRITERS (SORT_SHARE_MAX_PROCESSES + 1)

/* What waits of a part. */
typedef struct WaitingPart
{
	uint64 rows;
	uint64 key_bytes; /* of these, with what an entry has besides */
	uint64 row_bytes;
	uint64 file_bytes; /* written to files, of all this */
	Chunk *chunks;	   /* in memory */
	bool has_file[WAITING_WRITERS];
} WaitingPart;

/* What all processes know; where there are several, in the memory that they share. */
typedef struct WaitingShare
{
	slock_t mutex;
	FileSet files;
	Size chunk_bytes; /* of a chunk, if no row is longer */
	Size room;		  /* bytes of memory that chunks may yet take */
	Size most_held;	  /* that they have taken */
	int nparts;
	WaitingPart parts[SPLIT_PARTS_MAX];
} WaitingShare;

/* One process's way to it. */
typedef struct Waiting
{
	WaitingShare *share;
	SortShare *memory; /* where chunks are taken from; NULL: from this process's own memory */
	const SortKey *key;
	int writer; /* number of this process among those that write */
	MemoryContext context;
	double write_ms;
	Size buffered; /* bytes of the buffers below */
	Size most_buffered;
	struct
	{
		Chunk *buffer; /* filled, then written */
		File file;	   /* 0: none yet */
		off_t end;
	} parts[SPLIT_PARTS_MAX];
} Waiting;

/*
 * Nothing waits yet.  chunk_bytes: of a chunk, and of the buffer for each part that a process may have; room:
 * bytes of memory for chunks that stay there.  In the first process, which also has the files removed with
 * CurrentMemoryContext.
 */
extern void waiting_create(WaitingShare *share, int nparts, Size chunk_bytes, Size room);

/* In every process that brings rows, and in the first one; all it allocates is in CurrentMemoryContext. */
extern void waiting_open(Waiting *waiting, WaitingShare *share, SortShare *memory, const SortKey *key,
						 int writer);

/* Chunks are to have no more memory than that, those that have it included. */
extern void waiting_limit_room(Waiting *waiting, Size most);

/* A chunk for rows of this part, with room for one of so many bytes; one at a time for each part. */
extern Chunk *waiting_get_chunk(Waiting *waiting, int part, Size at_least);
extern void waiting_put_chunk(Waiting *waiting, int part, Chunk *chunk);

/* Has a filled chunk that stands elsewhere wait, too: it is copied. */
extern void waiting_add_copy(Waiting *waiting, int part, const Chunk *chunk);

/* This process brings no more. */
extern void waiting_finish(Waiting *waiting);

/*
 * In the first process, when all others are through: puts all that waits of a part to a sorter.  False: that
 * one has failed; what waits still does.
 */
extern bool waiting_feed(Waiting *waiting, int part, Sorter *to);

/* Nobody wants the rows of this part any more: their memory and files are given back. */
extern void waiting_drop(Waiting *waiting, int part);

#endif /* GPUSORT_DEVICE_CUDA_WAITING_H */
