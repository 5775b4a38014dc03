/*
 * device/cuda/sorter.h
 *		The cuda device's sorter: what the files of this folder know of one sort on one GPU.
 *
 * Private to these files, which are named here from the lowest to the highest: none calls one above it.
 * Functions that return a bool return false when the sorter has failed.
 *
 * A CudaSorter belongs to one process, as do its connection and its chunks; CudaShare is what the processes
 * of a sort share.  Of CudaShare the leader sets job, token, files, memory and read_jointly before others
 * have its handle.  bytes_in and napart are under the mutex of base.  A process sets incomplete before it
 * notes that it is through, and it is read when all are.  is_sorted and nrows are the leader's, and read
 * after a meeting (participants.h).
 *
 * The sorter fails (cuda_fail) when gpusortd, the connection or the wait for a card does.  Then the other
 * processes are told (sort_share_fail), and no function but end may be called; node_gpusort.c and
 * index_build.c begin again with the cpu device.
 */
#ifndef GPUSORT_DEVICE_CUDA_SORTER_H
#define GPUSORT_DEVICE_CUDA_SORTER_H

#include "postgres.h"

#include "device/participants.h"
#include "device/sorter.h"
#include "files/external_sort.h"
#include "service/connection.h"

/* What processes share. */
typedef struct CudaShare
{
	SortShare base;
	uint64 job;
	uint64 token;
	uint64 bytes_in;   /* that processes which are through moved */
	bool read_jointly; /* are all of them to read the result? */
	bool incomplete;   /* then not: one of them has rows that are not on the device */
	FileSet files;	   /* for runs of those who find no room there */
	Size memory;	   /* bytes for each of them */
	int napart;		   /* so many do */
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
	CUDA_THROUGH, /* this process feeds the job no more */
	CUDA_LEFT,	  /* nor has it to do with it otherwise, if another process has begun it */
	CUDA_ALONE,	  /* nor do the others, of which this one is the first */
	CUDA_SETTLED, /* all rows are there, to be sorted */
	CUDA_SORTED	  /* already, for others as well */
} CudaStage;

typedef struct CudaSorter
{
	Sorter base; /* its share is a CudaShare */
	CudaStage stage;

	/*
	 * The row last returned, -1 before the first, nrows after the last.  Who may go to and fro is not given
	 * rows at hand, since these are not counted one by one, but the next one from here.
	 */
	int64 position;
	const char *counted_at;	 /* where that stands, if it is before the end */
	const char *counted_end; /* of the window; equal: it must be looked for */

	const SortKey *key;
	SortRequest request; /* zeros where another process has begun the job */
	Size limit;
	MemoryContext context; /* all that the sorter holds */
	SorterStats stats;

	/* One of several GPUs of one sort (cards.c). */
	const Sorter *whole; /* the sorter that others know: this one, or that of which it is a part */
	bool further;		 /* not the first part: it waits for no other sort */
	uint32 card;		 /* number of the GPU */
	bool goes_on;		 /* another job follows this one, in its place (turns.c) */

	/* The connection, and the job there. */
	GpusortdClient client;
	GpuClientWait wait;
	GpusortdBegin estimate;
	Chunk chunks[GPUSORTD_MAX_CHUNKS]; /* those being filled, by their number */

	/* What found no room on the device; the chunks are copies in the backend's own memory. */
	Chunk *refused;
	ExternalSort *external; /* NULL: all rows are on the device, or will be */
	Chunk *lone;			/* a chunk in the backend's memory for a row that fits no other */

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

	/* Several processes feed it. */
	int process;   /* number of this one among those that feed; -1: it doesn't */
	Sorter *apart; /* of another one than the first: takes what finds no room; NULL: nothing did so far */
} CudaSorter;

/* What processes share of the sort; NULL: this one is alone. */
static inline CudaShare *
cuda_share(const CudaSorter *sorter)
{
	return (CudaShare *) sorter->base.share;
}

/* Has another process begun the job? */
static inline bool
cuda_helps(const CudaSorter *sorter)
{
	return sort_share_is_joined(sorter->base.share);
}

/* Known when it is sorted: can rows be read again, backwards and from a mark? */
static inline bool
cuda_has_random_access(const CudaSorter *sorter)
{
	return sorter->external == NULL || sorter->request.random_access;
}

/* ---- sorter.c: beginning, failing, letting go ---- */

/*
 * A sorter in CurrentMemoryContext that is not connected yet; its connection is closed with its memory
 * context.
 */
extern CudaSorter *cuda_sorter_create(const SortKey *key);

/* Adds what another sorter did, for the same sort. */
extern void cuda_add_stats(SorterStats *stats, const SorterStats *more);

/* The sorter fails; for the latter, as a call of the client has.  False. */
extern bool cuda_fail(CudaSorter *sorter, SortFailureReason reason, const char *message);
extern bool cuda_client_failed(CudaSorter *sorter);

/*
 * With several processes: this one feeds the job no more, whatever is under way; with cuda_leave, who helps
 * closes its connection, too.
 */
extern void cuda_note_through(CudaSorter *sorter);
extern void cuda_leave(CudaSorter *sorter);

/* The position was changed; the window is gone. */
static inline void
cuda_forget_place(CudaSorter *sorter)
{
	sorter->counted_at = sorter->counted_end = NULL;
	sorter_forget_rows_at_hand(&sorter->base);
}

static inline void
cuda_forget_window(CudaSorter *sorter)
{
	cuda_forget_place(sorter);
	sorter->window = NULL;
	sorter->window_rows = 0;
}

/* ---- feed.c: connection, job, chunks ---- */

extern bool cuda_connect(CudaSorter *sorter);

/* Begins a job, in the place of the last one if there is one, which is sorted. */
extern bool cuda_begin_job(CudaSorter *sorter);

/*
 * The number of a chunk to fill; -1: the sorter has failed, or, with *is_full, the device's memory is full.
 */
extern int cuda_take_chunk(CudaSorter *sorter, bool *is_full);
extern Chunk *cuda_open_chunk(CudaSorter *sorter, int number);
extern bool cuda_submit_chunk(CudaSorter *sorter, Chunk *chunk);

/* Waits until the service has looked at all chunks, and copies those that were refused to sorter->refused. */
extern bool cuda_flush(CudaSorter *sorter);

/* Submits the refused chunks again, up to the first that finds no room. */
extern bool cuda_submit_refused(CudaSorter *sorter);
extern void cuda_free_chunk(Chunk *chunk);

/* ---- rows.c: the result ---- */

/* Sorts what is on the device, and goes before its first row. */
extern bool cuda_sort_job(CudaSorter *sorter);

/*
 * After that: a result that is small is kept here, and the connection closed, so that the service has nothing
 * of the sort any more.
 */
extern bool cuda_keep_small_result(CudaSorter *sorter);

/* Reads rows from the first of this range on, up to its end; then those behind it, too. */
extern void cuda_seek_range(CudaSorter *sorter, int range, int nranges);
extern void cuda_pass_range_end(CudaSorter *sorter);

/* The next row where it is not at hand, or NULL. */
extern MinimalTuple cuda_look_for_row(CudaSorter *sorter, bool forward);

/* The next row of the job, forwards, or NULL. */
static inline MinimalTuple
cuda_next_row(CudaSorter *sorter)
{
	MinimalTuple row = sorter_row_at_hand(&sorter->base);

	return row != NULL ? row : cuda_look_for_row(sorter, true);
}

/* Goes behind the last row. */
extern void cuda_go_to_end(CudaSorter *sorter);

/* ---- parallel_feed.c: several processes ---- */

/* Makes what other processes need to join the job; without it they can't. */
extern void cuda_share_create(CudaSorter *sorter, bool read_jointly);

extern bool cuda_enter(CudaSorter *sorter);

/* Joins a sort on one GPU; NULL: it is too late, and nothing is left to be fed. */
extern CudaSorter *cuda_join(SortShare *share, const SortKey *key, TupleDesc complete_rows);

/* The part of a sort that the handle says; one that this process can't feed shares nothing. */
extern CudaSorter *cuda_join_part(const ArenaHandle *handle, const SortKey *key, TupleDesc complete_rows);

/* A chunk to fill; NULL: there is no room, or not for such a row, or the sorter has failed. */
extern Chunk *cuda_try_chunk(CudaSorter *sorter, Size at_least);

/* The same in another process than the first, for rows that don't go to the device: they become runs. */
extern Chunk *cuda_apart_chunk(CudaSorter *sorter, Size at_least);

/*
 * This process feeds the job no more.  What the device has refused of it is in `refused` then, and becomes a
 * run if this process is not the first one; without that with cuda_end_feed.
 */
extern void cuda_end_feed(CudaSorter *sorter);
extern void cuda_finish_feed(Sorter *base);

/* Does what SORT_WORK_SORT_TOGETHER says. */
extern bool cuda_sort_together(CudaSorter *sorter);

/* Can this sorter and, if there are others, theirs go on? */
extern bool cuda_share_is_alive(CudaSorter *sorter);

/* The sorter ends, whatever it was doing. */
extern void cuda_share_leave(CudaSorter *sorter);

/* In the first process: waits until no other one feeds the job any more. */
extern bool cuda_share_take_over(CudaSorter *sorter);

/* The same, when the input is over. */
extern bool cuda_share_finish(CudaSorter *sorter);

/* ---- spill.c: what does not fit on the device ---- */

/* Sorts what is on the device into a run on disk, and begins another job with what was refused. */
extern bool cuda_spill(CudaSorter *sorter);

/* After the last row: makes the external sort ready to be read. */
extern bool cuda_finish_external(CudaSorter *sorter);

/* A chunk for one row that is too large for the service, and what becomes of it. */
extern Chunk *cuda_open_lone_chunk(CudaSorter *sorter, Size size);
extern void cuda_put_lone_chunk(CudaSorter *sorter);

/* ---- card.c: a sort on one GPU ---- */

/* The most device memory that a sort may have, in bytes; 0: not known. */
extern uint64 cuda_most_memory(void);

/* What the service is told beforehand, and what the sorter may use. */
extern void cuda_note_request(CudaSorter *sorter, const SortRequest *request);

/* Begins a sort, or a part of one, on any GPU but those in `avoid`, bits; it may have failed. */
extern void cuda_begin_on(CudaSorter *sorter, const SortRequest *request, uint32 avoid);

/*
 * Sorts other rows, so many with so many bytes of keys and rows, when those that it had were returned; for
 * others to feed it, too, cuda_share_create is to follow.
 */
extern bool cuda_begin_again(CudaSorter *sorter, uint64 rows, uint64 bytes);

/* Has the rows sorted, without waiting for it; cuda_perform is to follow. */
extern void cuda_start_sort(CudaSorter *sorter);

/* Does what SORT_WORK_SORT says. */
extern bool cuda_perform(CudaSorter *sorter);

/* The device's other calls, of this sort. */
extern Chunk *cuda_get_chunk(Sorter *base, int part, Size at_least);
extern void cuda_put_chunk(Sorter *base, int part, Chunk *chunk);
extern bool cuda_work(Sorter *base, SortWork work);
extern MinimalTuple cuda_next(Sorter *base, bool forward);
extern bool cuda_seek(Sorter *base, SortSeek where, int range, int nranges);
extern void cuda_get_stats(const Sorter *base, SorterStats *stats);
extern void cuda_end(Sorter *base);

/* ---- cards.c: several GPUs ---- */

/* May the request be spread over several? */
extern bool cards_wanted(const SortRequest *request);

/* A sorter over several; or over one, if others can't be had at once or the sample doesn't tell. */
extern Sorter *cards_begin(const SortRequest *request);
extern Sorter *cards_join(SortTeam *team, SortShare *share, const SortKey *key, TupleDesc complete_rows);

/* ---- turns.c: more than the GPU has room for ---- */

/*
 * A sorter of parts that take turns; NULL: not wanted, or the sample doesn't tell where to cut, or memory is
 * too little.
 */
extern Sorter *turns_begin(const SortRequest *request);
extern Sorter *turns_join(SortTeam *team, SortShare *share, const SortKey *key, TupleDesc complete_rows);

/* What is the same of all sorters of the device. */
#define CUDA_PROPERTIES (SORT_KEEPS_SORT_COLUMNS | SORT_KEEPS_ROWS)

#endif /* GPUSORT_DEVICE_CUDA_SORTER_H */
