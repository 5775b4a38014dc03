/*
 * device/cuda/on_card.h
 *		The rows of a sort, or of one part of a sort, that are on one card: a CudaCard.
 *
 * Private to the files of this folder.  They are named here from the lowest to the highest, and none calls
 * one above it.  Functions that return a bool return false when the card has failed.
 *
 * A CudaCard is a sorter.  Most sorts are one CudaCard; a sort whose parts take turns (turns.h) has one for
 * the part whose turn it is.  Its places are the card, and then one that the caller names: runs, or rows that
 * wait.  What the card refuses goes to that place.
 *
 * A CudaCard belongs to one process, and so do its connection and its chunks.  CudaShare is what the
 * processes of a sort share.  The leader sets a job's number and token before others may join it, and what
 * never changes before others have the handle.  nfeeding and bytes_in are under the mutex of base.  A process
 * sets incomplete before it notes that it is through, and it is read when all are.  is_sorted and nrows are
 * the leader's, and read after a meeting (participants.h).
 *
 * A CudaCard fails (cuda_fail) when gpusortd, the connection or the wait for a GPU does.  If others feed its
 * job they are told (sort_share_fail).
 */
#ifndef GPUSORT_DEVICE_CUDA_ON_CARD_H
#define GPUSORT_DEVICE_CUDA_ON_CARD_H

#include "postgres.h"

#include "device/participants.h"
#include "device/sorter.h"
#include "service/connection.h"

struct ExternalSort;

/* What the device makes of rows, in one part or in several. */
#define CUDA_PROPERTIES (SORT_KEEPS_SORT_COLUMNS | SORT_KEEPS_ROWS)

/* Runs of rows that find no room on a card, by sorters of the cpu device, one in each process. */
typedef struct CudaRuns
{
	FileSet files;
	Size memory;		/* bytes for each of the sorters */
	pg_atomic_uint32 n; /* of the sorters, so far */
} CudaRuns;

/* What processes share of a sort. */
typedef struct CudaShare
{
	SortShare base; /* overflowed: each process leaves the job at its next chunk */
	int nparts;		/* more than one: a TurnsShare (turns.h) */
	uint64 number;	/* of the job that all of them feed */
	uint64 token;
	int nfeeding;	   /* processes that feed it, besides the first one */
	uint64 bytes_in;   /* that other processes than the first moved */
	bool read_jointly; /* are all of them to read the result? */
	bool incomplete;   /* then not: one of them has rows that are not on the device */
	CudaRuns runs;
	bool is_sorted; /* by the first process, for all */
	uint64 nrows;	/* of the result */
} CudaShare;

/*
 * How far this process is with a job, and who else has to do with it.  One state follows the other; some are
 * passed over.
 */
typedef enum CudaStage
{
	CUDA_FEEDING,
	CUDA_LEFT,	/* this process feeds the job no more */
	CUDA_ALONE, /* nor do the others, of which this one is the first */
	CUDA_SORTED /* all rows are sorted, for others as well */
} CudaStage;

typedef struct CudaCard
{
	Sorter base;
	Sorter *whole;	  /* the sort that this is, or is a part of */
	bool replaceable; /* if it fails the whole goes on without it */
	CudaShare *share; /* with others that feed the job; NULL: they can't, or all are through with it */
	CudaStage stage;

	/* Where its rows are. */
	Place place;	  /* the job; its next place takes what finds no room there */
	Place apart;	  /* runs */
	bool makes_room;  /* is the job spilled where it has no room?  Else this process leaves it then */
	bool has_refused; /* has it refused a chunk? */

	const struct SortKey *key;
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

	/* What is not on the device: runs of earlier jobs, and those of rows that found no room. */
	struct ExternalSort *external; /* NULL: there are no earlier jobs */
	CudaRuns *runs;				   /* the share's, or this card's alone; NULL: nobody has needed them */
	uint32 first_run_sorter;	   /* of runs: those before were for other parts */
	Sorter *run_sorter;			   /* makes this process's; NULL: it has none */

	/* The result: a window of it is here. */
	char *window;		/* NULL: none */
	int64 window_first; /* so many rows are before it */
	int64 window_rows;
	Size window_bytes;
	uint32 *offsets; /* of its rows, in units of 8 bytes, once somebody asked for them */
	int64 noffsets;	 /* 0: nobody has */
	int64 offsets_capacity;
} CudaCard;

/* Has this process joined the job of another one? */
static inline bool
cuda_has_joined(const CudaCard *card)
{
	return card->share != NULL && sort_share_is_joined(&card->share->base);
}

/* ---- feed.c: connection, job, chunks ---- */

/* The card fails; the second one as a call of the client has.  False. */
extern bool cuda_fail(CudaCard *card, SortFailureReason reason, const char *message);
extern bool cuda_client_failed(CudaCard *card);

/*
 * This process feeds the job no more, whatever is under way; a process that has joined it closes its
 * connection, too, unless it is to read the result.
 */
extern void cuda_leave(CudaCard *card);

/* There is no window. */
static inline void
cuda_forget_window(CudaCard *card)
{
	sorter_forget_rows_at_hand(&card->base);
	card->window = NULL;
	card->window_rows = 0;
}

extern bool cuda_connect(CudaCard *card);

/* Begins a job, in the place of the last one if there is one, which is sorted. */
extern bool cuda_begin_job(CudaCard *card);

/* Connects to the job of another process; false: it can't, which is no failure. */
extern bool cuda_join_job(CudaCard *card);

/* A chunk of the job to fill; NULL: the card has failed, or the device's memory is full. */
extern Chunk *cuda_take_chunk(CudaCard *card);
extern void cuda_put_chunk(Chunk *chunk);

/* Waits until the service has looked at all chunks; those that it has refused go to the next place. */
extern bool cuda_flush(CudaCard *card);

/* ---- rows.c: the result ---- */

/* Sorts what is on the device, and goes before its first row. */
extern bool cuda_sort_job(CudaCard *card);

/*
 * When all is sorted: a result that is small and has not to be merged is kept here, and the connection
 * closed, so that the service has nothing of the sort any more.
 */
extern bool cuda_keep_small_result(CudaCard *card);

/*
 * The next row of the job, or NULL; those behind it in the window are at hand unless there is random access.
 */
extern MinimalTuple cuda_next_of_job(CudaCard *card, bool forward);

/* ---- parallel_feed.c: several processes ---- */

/*
 * In the first process: makes what others need to join the sort, a struct of that size that begins with a
 * CudaShare, and so many more bytes of memory.  NULL: there is no memory, and the sort has failed.
 */
extern void *cuda_share_create(CudaCard *card, Size header_size, Size more, int processes);

/* Others may join the job from now on; nobody feeds the one before. */
extern void cuda_let_join(CudaCard *card);

/* In another process than the first: this one feeds the job.  If it can't, it has left the job. */
extern void cuda_enter_job(CudaCard *card, CudaShare *share);

/* The job has no room: this process leaves it, and so will the others. */
extern void cuda_leave_full_job(CudaCard *card);

/* This process feeds the job no more.  What the device has refused of it is in the next place then. */
extern void cuda_end_feed(CudaCard *card);

/* Does what SortDevice.sort_together says. */
extern bool cuda_sort_together(CudaCard *card);

/* Can this card and, if there are others, theirs go on? */
extern bool cuda_share_is_alive(CudaCard *card);

/* In the first process: waits until no other one feeds the job any more. */
extern bool cuda_share_take_over(CudaCard *card);

/* ---- spill.c: what does not fit on the device ---- */

extern void cuda_runs_init(CudaRuns *runs, Size memory);

/* Of the place `apart`: a chunk of the sorter of the cpu device that makes runs, to which it goes back. */
extern Chunk *cuda_take_apart(Place *place, int part, Size at_least);

/* After its last row: other processes can read them. */
extern void cuda_publish_runs(CudaCard *card);

/* Are there runs of rows that found no room, of any process? */
extern bool cuda_has_runs(const CudaCard *card);

/* Sorts what is on the device into a run on disk, and begins another job. */
extern bool cuda_spill(CudaCard *card);

/* After the last row: makes the external sort ready to be read. */
extern bool cuda_finish_external(CudaCard *card);

/* ---- card.c: a sort on one GPU ---- */

/* The most device memory that a sort may have, in bytes; 0: not known. */
extern uint64 cuda_most_memory(void);

/*
 * A sorter, in CurrentMemoryContext, that is not connected yet; its connection is closed with its memory
 * context.  whole: the sort that it is a part of, which goes on without it if it fails; NULL: it is all of
 * it.
 */
extern CudaCard *cuda_card_create(Sorter *whole, const struct SortKey *key);

/*
 * Where rows go for which the job has no room: to this place; NULL: the job is spilled, by the process that
 * has begun it, and what is longer than its chunks goes to runs.
 */
extern void cuda_set_next_place(CudaCard *card, Place *next);

/* What the service is told beforehand, and what the card may use. */
extern void cuda_note_request(CudaCard *card, const SortRequest *request);

extern bool cuda_begin(CudaCard *card, const SortRequest *request);

/* Sorts other rows, so many with so many bytes of keys and rows, when those that it had were returned. */
extern bool cuda_begin_again(CudaCard *card, uint64 rows, uint64 bytes);

/* Sorts all that was fed, and goes before the first row. */
extern bool cuda_perform(CudaCard *card);

extern void cuda_end(CudaCard *card);

/* What the card did, and the processes that share the sort. */
extern void cuda_get_stats(const CudaCard *card, const SortShare *share, SorterStats *stats);
#endif /* GPUSORT_DEVICE_CUDA_ON_CARD_H */
