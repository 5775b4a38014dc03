/*
 * device/cuda/waiting.h
 *		Rows that wait until the GPU has room for them, in chunks: in host memory, and beyond that in
 *		temporary files.
 *
 * Rows wait in parts, which have numbers.  Several processes may bring rows.  When all have read all of their
 * input, the leader has the rows sent, one part at a time, by itself or together with helpers (turns.c).
 *
 * WaitingShare.mutex protects all fields of WaitingShare that change, except has_file.  The process that
 * writes the file sets has_file before it notes the end of its input.  A Waiting, with its buffers and open
 * files, belongs to one process.  Only the filler uses a chunk in memory until the chunk is put.  The process
 * that takes the chunk from the part's list sends it.
 *
 * Rows stay until waiting_drop.  Therefore a part can be sent once more, to the cpu device, when the GPU has
 * failed.  If there is no space for a file, PostgreSQL raises its error, which ends the statement.
 */
#ifndef GPUSORT_DEVICE_CUDA_WAITING_H
#define GPUSORT_DEVICE_CUDA_WAITING_H

#include "postgres.h"

#include "storage/fd.h"
#include "storage/fileset.h"

#include "base/spin.h"
#include "device/cuda/on_card.h"
#include "memory/arena.h"
#include "sort/splitters.h"

/* The first process writes to the first of its files, the processes that joined to the others. */
#define WAITING_WRITERS (SORT_SHARE_MAX_PROCESSES + 1)

/*
 * The number of no part: it stands for rows that a card has no room for in their turn, while several
 * processes send.
 */
#define WAITING_AGAIN SPLIT_PARTS_MAX

/* The waiting rows of a part. */
typedef struct WaitingPart
{
	uint64 rows;
	uint64 key_bytes; /* bytes of the keys, with the other data of an entry */
	uint64 row_bytes;
	uint64 file_bytes; /* bytes of the keys and rows that are written to files */
	Chunk *chunks;	   /* the chunks in memory */
	bool has_file[WAITING_WRITERS];

	/* Chunks and files that no process has taken yet, to send them. */
	Chunk *next_chunk;
	off_t left[WAITING_WRITERS]; /* of each file: the offset of the rest; -1: nothing is left */
} WaitingPart;

/* Data of all processes; if there are several, in the memory that they share. */
typedef struct WaitingShare
{
	slock_t mutex;
	FileSet files;
	Size chunk_bytes; /* bytes of a chunk, if no row is longer */
	Size room;		  /* bytes of memory that chunks may still take */
	Size most_held;	  /* the most bytes that chunks have taken */
	bool dismissed;	  /* processes that send together must take no more chunks or files */
	WaitingPart parts[SPLIT_PARTS_MAX + 1];
} WaitingShare;

/*
 * One process's access to the waiting rows.  Its places are places of a sorter; the second one is asked if
 * the first is full.
 */
typedef struct Waiting
{
	Place held;	 /* the place in memory */
	Place filed; /* the place in files */
	bool is_fed; /* rows that come now wait as WAITING_AGAIN */
	WaitingShare *share;
	Arena *memory; /* the memory that chunks are taken from; NULL: this process's own memory */
	const struct SortKey *key;
	int writer; /* number of this process among the processes that write */
	MemoryContext context;
	double write_ms;
	Size buffered; /* bytes of the buffers below */
	Size most_buffered;
	struct
	{
		Chunk *buffer; /* a buffer that is filled, then written */
		File file;	   /* 0: none yet */
		off_t end;
	} parts[SPLIT_PARTS_MAX + 1];
} Waiting;

/*
 * Makes a WaitingShare in which nothing waits yet.  chunk_bytes: of a chunk, and of the buffer for each part
 * that a process may have; room: bytes of memory for chunks that stay there.  Called by the first process,
 * which also has the files removed with CurrentMemoryContext.
 */
extern void waiting_create(WaitingShare *share, Size chunk_bytes, Size room);

/*
 * Called by every process that brings rows, and by the first one.  All memory that it allocates is in
 * CurrentMemoryContext.
 */
extern void waiting_open(Waiting *waiting, WaitingShare *share, Arena *memory, const struct SortKey *key,
						 int writer);

/* Limits the memory of chunks to `most` bytes, with the chunks that have memory already. */
extern void waiting_limit_room(Waiting *waiting, Size most);

/*
 * waiting_finish: this process brings no more rows for now.  waiting_end_feed: it is at the end of the input.
 */
extern void waiting_finish(Waiting *waiting);
extern void waiting_end_feed(Waiting *waiting);

/* Sending a part starts again from its beginning.  Called by the first process, while no process sends. */
extern void waiting_rewind(Waiting *waiting, int part);

/*
 * Puts the waiting rows of a part that no process has taken yet to a sorter.  False: the sorter has failed;
 * all rows of the part still wait, after a waiting_rewind.  Checks for interrupts.
 */
extern bool waiting_send(Waiting *waiting, int part, Sorter *to);

/*
 * waiting_send by several processes at a time, each with a CudaCard of its own, whose next place is
 * Waiting.held.  It ends for a process that has left the job because there is no more room.
 */
extern bool waiting_send_beside(Waiting *waiting, int part, CudaCard *to);

/*
 * Makes waiting_send_beside end soon.  Chunks and files that no process has taken by then are left to the
 * first process.
 */
extern void waiting_dismiss(Waiting *waiting);

/* Is there anything of a part that no process has taken? */
extern bool waiting_has_more(const Waiting *waiting, int part);

/*
 * Removes the files of a part whose rows no process needs any more, and frees memory of this process's own.
 */
extern void waiting_drop(Waiting *waiting, int part);

#endif /* GPUSORT_DEVICE_CUDA_WAITING_H */
