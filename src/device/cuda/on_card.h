/*
 * device/cuda/on_card.h
 *		What the files of this folder know of the rows of a sort that are on one GPU: a CudaCard.
 *
 * Private to these files, which are named here from the lowest to the highest: none calls one above it.
 * Functions that return a bool return false when the card has failed.  The device's sorter is the whole
 * (turns.h), which has a CudaCard for the part that is on a GPU.
 *
 * A CudaCard belongs to one process, as do its connection and its chunks.  CudaShare is what the processes of
 * a sort share.  The leader sets a job's number and token before others may join it, and files, memory and
 * read_jointly before others have the handle.  nfeeding, napart and bytes_in are under the mutex of base.  A
 * process sets incomplete before it notes that it is through, and it is read when all are.  is_sorted and
 * nrows are the leader's, and read after a meeting (participants.h).
 *
 * A CudaCard fails (cuda_fail) when gpusortd, the connection or the wait for a GPU does.  If others feed its
 * job they are told (sort_share_fail), and no function but cuda_end may be called.  What becomes of the whole
 * parts.c says.
 */
#ifndef GPUSORT_DEVICE_CUDA_ON_CARD_H
#define GPUSORT_DEVICE_CUDA_ON_CARD_H

#include "postgres.h"

#include "device/participants.h"
#include "device/sorter.h"
#include "files/external_sort.h"
#include "service/connection.h"

/* What processes share of a sort. */
typedef struct CudaShare
{
	SortShare base; /* overflowed: each process leaves the job at its next chunk */
	uint64 number;	/* of the job that all of them feed */
	uint64 token;
	int nfeeding;	   /* processes that feed it, besides the first one */
	int napart;		   /* processes that write runs of what found no room */
	uint64 bytes_in;   /* that other processes than the first moved */
	bool read_jointly; /* are all of them to read the result? */
	bool incomplete;   /* then not: one of them has rows that are not on the device */
	FileSet files;	   /* for runs of those who find no room there */
	Size memory;	   /* bytes for each of them */
	bool is_sorted;	   /* by the first process, for all */
	uint64 nrows;	   /* of the result */
} CudaShare;

/*
 * How far this process is with a job, and who else has to do with it.  One state follows the other; some are
 * passed over.
 */
typedef enum CudaStage
{
	CUDA_FEEDING,
	CUDA_LEFT,	  /* this process feeds the job no more */
	CUDA_ALONE,	  /* nor do the others, of which this one is the first */
	CUDA_SETTLED, /* all rows are there, to be sorted */
	CUDA_SORTED	  /* already, for others as well */
} CudaStage;

typedef struct CudaCard
{
	Sorter *whole;	  /* the sort whose part this is */
	CudaShare *share; /* with others that feed the job; NULL: they can't, or all are through with it */
	CudaStage stage;
	const char *failure; /* why it can't go on, a sentence; NULL: it can */
	SortFailureReason failure_reason;

	/* The row last returned, -1 before the first, nrows after the last. */
	int64 position;
	const char *at;		/* where the next one stands, if it is before the end */
	const char *at_end; /* of the window, or the range; not greater: it must be looked for */

	const SortKey *key;
	SortRequest request; /* zeros where another process has begun the job */
	Size limit;
	MemoryContext context; /* all that the card holds */
	SorterStats stats;
	bool further; /* another part is on the GPU already: it waits for no other sort, and counts for none */

	/* The connection, and the job there. */
	GpusortdClient client;
	GpuClientWait wait;
	GpusortdBegin estimate;
	Chunk chunks[GPUSORTD_MAX_CHUNKS]; /* those being filled, by their number */

	/* What found no room on the device; the chunks are copies in the backend's own memory. */
	Chunk *refused;
	ExternalSort *external; /* NULL: all rows are on the device, or will be */
	Chunk *lone;			/* a chunk in the backend's memory for a row that fits no other */
	Sorter *apart; /* in another process than the first: takes what finds no room; NULL: nothing did so far */

	/* The result: a window of it is here. */
	int64 nrows;
	int64 range_end; /* rows from there on are not to be read for now */
	int64 mark;
	char *window;		/* NULL: none */
	int64 window_first; /* so many rows are before it */
	int64 window_rows;
	Size window_bytes;
	uint32 *offsets; /* of its rows, in units of 8 bytes, once somebody asked for them */
	int64 noffsets;	 /* 0: nobody has */
	int64 offsets_capacity;
} CudaCard;

/* Has another process begun the job? */
static inline bool
cuda_helps(const CudaCard *card)
{
	return card->share != NULL && sort_share_is_joined(&card->share->base);
}

/* Is it a chunk of the service? */
static inline bool
cuda_owns_chunk(const CudaCard *card, const Chunk *chunk)
{
	return chunk >= card->chunks && chunk < card->chunks + GPUSORTD_MAX_CHUNKS;
}

/* ---- feed.c: connection, job, chunks ---- */

/*
 * A part of the whole, in CurrentMemoryContext, that is not connected yet; its connection is closed with its
 * memory context.
 */
extern CudaCard *cuda_card_create(Sorter *whole, const SortKey *key);

/* The card fails; for the latter, as a call of the client has.  False. */
extern bool cuda_fail(CudaCard *card, SortFailureReason reason, const char *message);
extern bool cuda_client_failed(CudaCard *card);

/*
 * This process feeds the job no more, whatever is under way; who has joined it closes its connection, too,
 * but where it is to read the result.
 */
extern void cuda_leave(CudaCard *card);

/* The position was changed; the window is gone. */
static inline void
cuda_forget_place(CudaCard *card)
{
	card->at = card->at_end = NULL;
}

static inline void
cuda_forget_window(CudaCard *card)
{
	cuda_forget_place(card);
	card->window = NULL;
	card->window_rows = 0;
}

extern bool cuda_connect(CudaCard *card);

/* Begins a job, in the place of the last one if there is one, which is sorted. */
extern bool cuda_begin_job(CudaCard *card);

/*
 * The number of a chunk to fill; -1: the card has failed, or, with *is_full, the device's memory is full.
 */
extern int cuda_take_chunk(CudaCard *card, bool *is_full);
extern Chunk *cuda_open_chunk(CudaCard *card, int number);
extern bool cuda_submit_chunk(CudaCard *card, Chunk *chunk);

/* Waits until the service has looked at all chunks, and copies those that were refused to card->refused. */
extern bool cuda_flush(CudaCard *card);

/* Submits the refused chunks again, up to the first that finds no room. */
extern bool cuda_submit_refused(CudaCard *card);

/* Frees the first of these chunks. */
extern void cuda_free_first(Chunk **chunks);

/* ---- rows.c: the result ---- */

/* Sorts what is on the device, and goes before its first row. */
extern bool cuda_sort_job(CudaCard *card);

/*
 * When all is sorted: a result that is small and has not to be merged is kept here, and the connection
 * closed, so that the service has nothing of the sort any more.
 */
extern bool cuda_keep_small_result(CudaCard *card);

/*
 * Rows behind the one last returned, which stand in the window, are the whole's, at hand: they are returned.
 */
extern void cuda_hand_over(CudaCard *card);

/* ---- parallel_feed.c: several processes ---- */

/* Others may join the job from now on; nobody feeds the one before. */
extern void cuda_let_join(CudaCard *card);

/*
 * In another process than the first: a card to feed the job.  If it can't, it has left the job.
 * complete_rows: as SortDevice.join says.
 */
extern CudaCard *cuda_join(Sorter *whole, const SortKey *key, TupleDesc complete_rows);

/* A chunk to fill; NULL: there is no room, or not for such a row, or the card has failed. */
extern Chunk *cuda_try_chunk(CudaCard *card, Size at_least);

/* The same in another process than the first, for rows that don't go to the device: they become runs. */
extern Chunk *cuda_apart_chunk(CudaCard *card, Size at_least);

/*
 * This process feeds the job no more.  What the device has refused of it is in `refused` then; the latter
 * makes runs of it, in another process than the first.
 */
extern void cuda_end_feed(CudaCard *card);
extern void cuda_end_apart(CudaCard *card);

/* Does what SortDevice.sort_together says. */
extern bool cuda_sort_together(CudaCard *card);

/* Can this card and, if there are others, theirs go on? */
extern bool cuda_share_is_alive(CudaCard *card);

/* This process feeds the job no more: once the service has looked at its chunks, if it can still be asked. */
extern void cuda_share_leave(CudaCard *card);

/* In the first process: waits until no other one feeds the job any more. */
extern bool cuda_share_take_over(CudaCard *card);

/* Waits until a number that is under the share's mutex is 0; whoever changes it broadcasts `changed`. */
extern void cuda_share_wait_for_none(SortShare *share, const int *number);

/* ---- spill.c: what does not fit on the device ---- */

/* Sorts what is on the device into a run on disk, and begins another job with what was refused. */
extern bool cuda_spill(CudaCard *card);

/* After the last row: makes the external sort ready to be read. */
extern bool cuda_finish_external(CudaCard *card);

/* A chunk for one row that is too large for the service, and what becomes of it. */
extern Chunk *cuda_open_lone_chunk(CudaCard *card, Size size);
extern void cuda_put_lone_chunk(CudaCard *card);

/* ---- card.c: a sort on one GPU ---- */

/* The most device memory that a sort may have, in bytes; 0: not known. */
extern uint64 cuda_most_memory(void);

/* What the service is told beforehand, and what the card may use. */
extern void cuda_note_request(CudaCard *card, const SortRequest *request);

extern bool cuda_begin(CudaCard *card, const SortRequest *request);

/* Sorts other rows, so many with so many bytes of keys and rows, when those that it had were returned. */
extern bool cuda_begin_again(CudaCard *card, uint64 rows, uint64 bytes);

/* A chunk to fill, whatever has to be done for it; NULL: the card has failed.  Takes it back. */
extern Chunk *cuda_get_chunk(CudaCard *card, Size at_least);
extern void cuda_put_chunk(CudaCard *card, Chunk *chunk);

/* Sorts all that was fed, and goes before the first row. */
extern bool cuda_perform(CudaCard *card);

/* Do what SortDevice says, of this part. */
extern MinimalTuple cuda_next(CudaCard *card, bool forward);
extern void cuda_rewind(CudaCard *card);
extern void cuda_mark(CudaCard *card);
extern void cuda_restore(CudaCard *card);
extern void cuda_seek_range(CudaCard *card, int range, int nranges);
extern void cuda_pass_range_end(CudaCard *card);
extern void cuda_end(CudaCard *card);

/* Adds what another card did, for the same sort. */
extern void cuda_add_stats(SorterStats *stats, const SorterStats *more);

#endif /* GPUSORT_DEVICE_CUDA_ON_CARD_H */
