/*
 * device/cuda/waiting.h
 *		Rows that wait until the GPU has room for them, in chunks: in host memory, and past that in temporary
 *		files.
 *
 * They wait in parts, by number.  Several processes may bring rows; when all are through, the leader has them
 * sent, a part at a time, by itself or beside helpers (turns.c).
 *
 * WaitingShare.mutex keeps all of WaitingShare that changes, but has_file: the process that writes the file
 * sets that before it is through.  A Waiting, with its buffers and open files, is one process's.  A chunk in
 * memory is its filler's until it is put, and whoever has taken it from the part's list sends it.
 *
 * Rows stay until waiting_drop, so a part can be sent once more, to the cpu device, when the GPU has failed.
 * No space for a file is PostgreSQL's error, and ends the statement.
 */
#ifndef GPUSORT_DEVICE_CUDA_WAITING_H
#define GPUSORT_DEVICE_CUDA_WAITING_H

#include "postgres.h"

#include "storage/fd.h"
#include "storage/fileset.h"
#include "storage/spin.h"

#include "device/cuda/on_card.h"
#include "memory/arena.h"
#include "sort/splitters.h"

/* The first process writes to the first of its files, those that joined to the others. */
#define WAITING_WRITERS (SORT_SHARE_MAX_PROCESSES + 1)

/* No part: rows that a card has no room for in their turn, while several processes send. */
#define WAITING_AGAIN SPLIT_PARTS_MAX

/* What waits of a part. */
typedef struct WaitingPart
{
	uint64 rows;
	uint64 key_bytes; /* of these, with what an entry has besides */
	uint64 row_bytes;
	uint64 file_bytes; /* written to files, of all this */
	Chunk *chunks;	   /* in memory */
	bool has_file[WAITING_WRITERS];

	/* What nobody has taken yet, to send it. */
	Chunk *next_chunk;
	off_t left[WAITING_WRITERS]; /* of each file: from there on; -1: nothing */
} WaitingPart;

/* What all processes know; where there are several, in the memory that they share. */
typedef struct WaitingShare
{
	slock_t mutex;
	FileSet files;
	Size chunk_bytes; /* of a chunk, if no row is longer */
	Size room;		  /* bytes of memory that chunks may yet take */
	Size most_held;	  /* that they have taken */
	bool dismissed;	  /* who sends with others is to take no more */
	WaitingPart parts[SPLIT_PARTS_MAX + 1];
} WaitingShare;

/*
 * One process's way to it.  Its places are those of a sorter; the second one is asked if the first is full.
 */
typedef struct Waiting
{
	Place held;	 /* in memory */
	Place filed; /* in files */
	bool is_fed; /* what comes now waits as WAITING_AGAIN */
	WaitingShare *share;
	Arena *memory; /* where chunks are taken from; NULL: from this process's own memory */
	const struct SortKey *key;
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
	} parts[SPLIT_PARTS_MAX + 1];
} Waiting;

/*
 * Nothing waits yet.  chunk_bytes: of a chunk, and of the buffer for each part that a process may have; room:
 * bytes of memory for chunks that stay there.  In the first process, which also has the files removed with
 * CurrentMemoryContext.
 */
extern void waiting_create(WaitingShare *share, Size chunk_bytes, Size room);

/* In every process that brings rows, and in the first one; all it allocates is in CurrentMemoryContext. */
extern void waiting_open(Waiting *waiting, WaitingShare *share, Arena *memory, const struct SortKey *key,
						 int writer);

/* Chunks are to have no more memory than that, those that have it included. */
extern void waiting_limit_room(Waiting *waiting, Size most);

/* This process brings no more, for now; at the end of the input. */
extern void waiting_finish(Waiting *waiting);
extern void waiting_end_feed(Waiting *waiting);

/* All that waits of a part is to be sent, from the beginning.  In the first process, while nobody sends. */
extern void waiting_rewind(Waiting *waiting, int part);

/*
 * Puts what waits of a part, and nobody has taken yet, to a sorter.  False: the sorter has failed; all of it
 * still waits, after a waiting_rewind.  Checks for interrupts.
 */
extern bool waiting_send(Waiting *waiting, int part, Sorter *to);

/*
 * The same by several processes at a time, each with a CudaCard of its own, whose next place is Waiting.held,
 * until the process has left the job as there is no more room.
 */
extern bool waiting_send_beside(Waiting *waiting, int part, CudaCard *to);

/* waiting_send_beside ends soon; what nobody has taken by then is left to the first process. */
extern void waiting_dismiss(Waiting *waiting);

/* Is there anything of a part that nobody has taken? */
extern bool waiting_has_more(const Waiting *waiting, int part);

/* Nobody wants the rows of this part any more: their files are removed, and memory of this process's own. */
extern void waiting_drop(Waiting *waiting, int part);

#endif /* GPUSORT_DEVICE_CUDA_WAITING_H */
