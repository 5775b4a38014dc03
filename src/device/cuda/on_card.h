/*
 * device/cuda/on_card.h
 *		The rows of a sort, or of one part of a sort, that are on one card: a CudaCard.
 *
 * Private to the files of this folder.  The files are named here from the lowest to the highest, and none
 * calls a higher one.  Functions that return a bool return false when the card has failed.
 *
 * A CudaCard is a sorter.  Most sorts are one CudaCard; a sort whose parts take turns (turns.h) has one for
 * the part whose turn it is.  Its places are the card, and then a place that the caller sets: runs, or
 * waiting rows.  Rows that the card refuses go to that place.
 *
 * A CudaCard belongs to one process, like its connection and its chunks.  CudaShare is what the processes of
 * a sort share.  The leader sets a job's number and token before others may join the job, and constant fields
 * before others have the handle.  nfeeding and bytes_in are under the mutex of base.  A process sets
 * incomplete before it notes the end of its input; incomplete is read when all processes have noted it.  The
 * leader sets is_sorted and nrows, which are read after a meeting (participants.h).
 *
 * A CudaCard fails (cuda_fail) when gpusortd, the connection or the wait for a GPU fails.  If other processes
 * feed its job, they are told (sort_share_fail).
 */
#ifndef GPUSORT_DEVICE_CUDA_ON_CARD_H
#define GPUSORT_DEVICE_CUDA_ON_CARD_H

#include "postgres.h"

#include "device/participants.h"
#include "device/sorter.h"
#include "service/connection.h"

struct ExternalSort;

/* How the device handles rows, in one part or in several. */
#define CUDA_PROPERTIES (SORT_KEEPS_SORT_COLUMNS | SORT_KEEPS_ROWS)

/* Runs of rows that find no room on a card.  Sorters of the cpu device, one in each process, make them. */
typedef struct CudaRuns
{
	FileSet files;
	Size memory;		/* bytes of memory for each of the sorters */
	pg_atomic_uint32 n; /* number of the sorters so far */
} CudaRuns;

/* The part of a sort that processes share. */
typedef struct CudaShare
{
	SortShare base; /* overflowed: each process leaves the job at its next chunk */
	int nparts;		/* if it is more than one, this is a TurnsShare (turns.h) */
	uint64 number;	/* number of the job that all of them feed */
	uint64 token;
	int nfeeding;	   /* processes that feed the job, without the first one */
	uint64 bytes_in;   /* bytes that processes other than the first one moved */
	bool read_jointly; /* will all of them read the result? */
	bool incomplete;   /* then they will not: one of them has rows that are not on the device */
	CudaRuns runs;
	bool is_sorted; /* set by the first process, for all */
	uint64 nrows;	/* number of rows of the result */
} CudaShare;

/*
 * The state of this process and its job, and which other processes use the job.  The states follow each other
 * in this order; CUDA_LEFT may be skipped.
 */
typedef enum CudaStage
{
	CUDA_FEEDING,
	CUDA_LEFT,	/* this process no longer feeds the job */
	CUDA_SORTED /* all rows are sorted, also for other processes */
} CudaStage;

typedef struct CudaCard
{
	Sorter base;
	Sorter *whole;	  /* the sort that this card is, or is a part of */
	bool replaceable; /* if the card fails, the whole goes on without it */
	/* shared with the other processes that feed the job; NULL: they cannot feed it, or all have finished */
	CudaShare *share;
	CudaStage stage;

	/* The places of its rows. */
	Place place;	  /* the job; the next place takes rows that find no room there */
	Place apart;	  /* runs */
	bool makes_room;  /* is the job spilled if it has no room?  Otherwise this process leaves the job then */
	bool has_refused; /* has the job refused a chunk? */

	const struct SortKey *key;
	/* the key with codes in the place of values, which rows of jobs have; NULL: they have `key` */
	struct SortKey *coded;
	SortRequest request; /* zeros if another process has begun the job */
	Size limit;
	MemoryContext context; /* holds all memory of the card */
	SorterStats stats;
	/*
	 * another part is on the GPU already: this one does not wait for other sorts, and does not count as a
	 * sort
	 */
	bool further;

	/* The connection, and the job there. */
	GpusortdClient client;
	GpuClientWait wait;
	GpusortdBegin estimate;
	Chunk chunks[GPUSORTD_MAX_CHUNKS]; /* the chunks being filled, by their number */

	/* Rows that are not on the device: runs of earlier jobs, and runs of rows that found no room. */
	struct ExternalSort *external; /* NULL: there are no earlier jobs */
	CudaRuns *runs;			 /* the share's runs, or this card's own; NULL: no process has needed them */
	uint32 first_run_sorter; /* the first sorter of `runs`: the sorters before it were for other parts */
	Sorter *run_sorter;		 /* makes this process's runs; NULL: it has none */

	/* The result, of which one window is in this process. */
	char *window;		/* NULL: there is no window */
	int64 window_first; /* number of rows before the window */
	int64 window_rows;
	Size window_bytes;
	uint32 *offsets; /* offsets of the window's rows, in units of 8 bytes, after they were asked for */
	int64 noffsets;	 /* 0: they were not asked for */
	int64 offsets_capacity;
} CudaCard;

/* Has this process joined the job of another one? */
static inline bool
cuda_has_joined(const CudaCard *card)
{
	return card->share != NULL && sort_share_is_joined(&card->share->base);
}

/* ---- feed.c: connection, job, chunks ---- */

/*
 * Make the card fail, and return false.  cuda_client_failed takes the reason from the last call of the
 * client.
 */
extern bool cuda_fail(CudaCard *card, SortFailureReason reason, const char *message);
extern bool cuda_client_failed(CudaCard *card);

/*
 * Ends this process's feeding of the job, whatever is under way.  A process that has joined the job also
 * closes its connection, unless it will read the result.
 */
extern void cuda_leave(CudaCard *card);

/* Forgets the window. */
static inline void
cuda_forget_window(CudaCard *card)
{
	sorter_forget_rows_at_hand(&card->base);
	card->window = NULL;
	card->window_rows = 0;
}

extern bool cuda_connect(CudaCard *card);

/* Begins a job.  If there is an earlier job, which is sorted, the new job takes its place. */
extern bool cuda_begin_job(CudaCard *card);

/* Connects to the job of another process; false: that is impossible, but no failure. */
extern bool cuda_join_job(CudaCard *card);

/*
 * cuda_take_chunk returns a chunk of the job to fill; NULL: the card has failed, or the device's memory is
 * full.
 */
extern Chunk *cuda_take_chunk(CudaCard *card);
extern void cuda_put_chunk(Chunk *chunk);

/*
 * Waits until the service has looked at all chunks.  Chunks that the service has refused go to the next
 * place.
 */
extern bool cuda_flush(CudaCard *card);

/* ---- coding.c: keys with codes ---- */

/* Returns the bytes of a key of this request; 0: keys are variable. */
extern int cuda_key_bytes(const SortRequest *request);

/* Makes keys with codes and the tables of their values, if the request has such columns. */
extern void cuda_begin_coding(CudaCard *card, const SortRequest *request);

/* Called by a process other than the first: makes keys with codes, if the first one's keys have them. */
extern void cuda_join_coding(CudaCard *card);

/* Called when all rows of a job are on the device: sends the ranks of their codes. */
extern bool cuda_send_ranks(CudaCard *card);

/* The function SortDevice.end_coding: the card fails. */
extern void cuda_end_coding(Sorter *base, void (*feed_again)(Chunk *chunk, void *arg), void *arg);

extern void cuda_get_coding(const CudaCard *card, SorterStats *stats);

/* ---- rows.c: the result ---- */

/* Sorts the rows on the device, and goes before the first row. */
extern bool cuda_sort_job(CudaCard *card);

/*
 * Called when all rows are sorted.  Copies a result that is small and need not be merged into this process,
 * and closes the connection, so that the service has nothing of the sort any more.
 */
extern bool cuda_keep_small_result(CudaCard *card);

/*
 * Returns the next row of the job, or NULL.  The rows behind it in the window are at hand, unless there is
 * random access.
 */
extern MinimalTuple cuda_next_of_job(CudaCard *card, bool forward);

/* ---- parallel_feed.c: several processes ---- */

/*
 * Called by the first process: makes what others need to join the sort.  header_size: bytes of a struct that
 * begins with a CudaShare; more: bytes of memory in addition to it.  NULL: there is no memory, and the sort
 * has failed.
 */
extern void *cuda_share_create(CudaCard *card, Size header_size, Size more, int processes);

/* Lets others join the job from now on; no process feeds the previous job. */
extern void cuda_let_join(CudaCard *card);

/* Called by a process other than the first: it begins to feed the job.  If it cannot, it has left the job. */
extern void cuda_enter_job(CudaCard *card, CudaShare *share);

/* Makes this process leave the job, because the job has no room.  The other processes will leave it too. */
extern void cuda_leave_full_job(CudaCard *card);

/*
 * Ends this process's feeding of the job.  Its rows that the device has refused are then in the next place.
 */
extern void cuda_end_feed(CudaCard *card);

/* The function SortDevice.sort_together. */
extern bool cuda_sort_together(CudaCard *card);

/* Can this card go on?  If other processes share the sort: can their cards also go on? */
extern bool cuda_share_is_alive(CudaCard *card);

/* Called by the first process: waits until no other process feeds the job. */
extern bool cuda_share_take_over(CudaCard *card);

/* ---- spill.c: what does not fit on the device ---- */

extern void cuda_runs_init(CudaRuns *runs, Size memory);

/*
 * The function `take` of the place `apart`: returns a chunk of the sorter of the cpu device that makes runs.
 * The chunk goes back to that sorter.
 */
extern Chunk *cuda_take_apart(Place *place, int part, Size at_least);

/* Called after this process's last row: other processes can then read its runs. */
extern void cuda_publish_runs(CudaCard *card);

/* Are there runs of rows that found no room, of any process? */
extern bool cuda_has_runs(const CudaCard *card);

/* Sorts the rows on the device into a run on disk, and begins another job. */
extern bool cuda_spill(CudaCard *card);

/* Called after the last row: makes the external sort ready to be read. */
extern bool cuda_finish_external(CudaCard *card);

/* ---- card.c: a sort on one GPU ---- */

/* Returns the most device memory that a sort may have, in bytes; 0: not known. */
extern uint64 cuda_most_memory(void);

/*
 * Makes a sorter, in CurrentMemoryContext, that is not connected yet.  Its connection is closed with its
 * memory context.  whole: the sort that the sorter is a part of, which goes on without the sorter if it
 * fails; NULL: the sorter is all of the sort.
 */
extern CudaCard *cuda_card_create(Sorter *whole, const struct SortKey *key);

/*
 * Sets the place of rows for which the job has no room.  next: NULL if the process that has begun the job
 * spills it, and rows that are longer than its chunks go to runs.
 */
extern void cuda_set_next_place(CudaCard *card, Place *next);

/* Notes what the service is told beforehand, and what the card may use. */
extern void cuda_note_request(CudaCard *card, const SortRequest *request);

extern bool cuda_begin(CudaCard *card, const SortRequest *request);

/*
 * Begins to sort other rows, when the previous rows were returned.  rows: their number; bytes: of their keys
 * and rows.
 */
extern bool cuda_begin_again(CudaCard *card, uint64 rows, uint64 bytes);

/* Sorts all rows that were fed, and goes before the first row. */
extern bool cuda_perform(CudaCard *card);

extern void cuda_end(CudaCard *card);

/* Sets the statistics of the card; share: with those of the processes that share the sort. */
extern void cuda_get_stats(const CudaCard *card, const SortShare *share, SorterStats *stats);
#endif /* GPUSORT_DEVICE_CUDA_ON_CARD_H */
