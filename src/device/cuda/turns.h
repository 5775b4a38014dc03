/*
 * device/cuda/turns.h
 *		What turns.c, turn.c, turn_help.c and turn_ahead.c know of a sort whose parts take turns on a GPU.
 *
 * Private to these files.
 *
 * A TurnsSorter belongs to one process; TurnsShare is what the processes share.  The leader sets card and
 * splitters while nobody reads them: splitters before workers start, card while no part is named in help.
 * The leader sets help.wanted as it enters.  The rest of help is under the mutex of base, and a change of it
 * is broadcast by base.changed: nothing is to be sent (part is 0), a part is, or help is over.  waiting has a
 * mutex of its own (waiting.h).
 */
#ifndef GPUSORT_DEVICE_CUDA_TURNS_H
#define GPUSORT_DEVICE_CUDA_TURNS_H

#include "postgres.h"

#include "device/cuda/sorter.h"
#include "device/cuda/waiting.h"

/* Do those who have fed stay? */
typedef enum TurnHelpState
{
	TURN_HELP_UNWANTED,
	TURN_HELP_WANTED,
	TURN_HELP_OVER /* they are to go */
} TurnHelpState;

/* What those who stay do: they send what waits when its turn has come; under the share's mutex. */
typedef struct TurnHelp
{
	TurnHelpState state;
	int part; /* whose rows may be sent; 0: none's */
	int nsending;
} TurnHelp;

/* What processes share of it. */
typedef struct TurnsShare
{
	SortShare base;
	ArenaHandle card; /* of the part whose turn it is */
	SortSplitters splitters;
	TurnHelp help;
	WaitingShare waiting;
} TurnsShare;

/* What the GPU does for this process. */
typedef enum TurnsCardState
{
	TURNS_CARD_TAKES,
	TURNS_CARD_FULL, /* it has no room for more of this process's rows, in the first turn */
	TURNS_CARD_LOST	 /* nothing: the cpu device sorts what is left */
} TurnsCardState;

typedef struct TurnsSorter
{
	Sorter base; /* its share is a TurnsShare */
	int nparts;
	SortSplitters splitters;
	SortRequest of_part; /* what the device is asked for with each part */
	Size process_memory; /* that each process brings; 0: they have what there is */
	MemoryContext context;

	CudaSorter *card;  /* of the part whose turn it is */
	CudaSorter *other; /* of the one before, which is over, or of the next one; NULL: not made yet */
	int ahead;		   /* the next part, if it is being sent by the other already; 0: none is */
	TurnsCardState card_state;
	Sorter *cpu; /* sorts the part whose turn it is; NULL: the card does */
	Waiting waiting;
	WaitingShare own; /* of a sort that this process alone feeds */

	int process; /* its number among those that feed; -1: it does not, or not any more */

	int current;			 /* whose turn it is */
	uint64 first_rows;		 /* of the first part */
	uint64 first_bytes;		 /* and bytes of it */
	SorterStats ended;		 /* what sorters have done that are gone */
	Size most_device_memory; /* that two of them had at a time */
} TurnsSorter;

/* What processes share of it; NULL: this one is alone. */
static inline TurnsShare *
turns_share(const TurnsSorter *sorter)
{
	return (TurnsShare *) sorter->base.share;
}

/* ---- turn.c: a part ---- */

/* Can it go on?  It can't if the GPU can't; nor can the other processes then. */
extern bool turns_go_on(TurnsSorter *sorter);

/* The device's calls. */
extern Chunk *turns_get_chunk(Sorter *base, int part, Size at_least, bool makes_room);
extern void turns_put_chunk(Sorter *base, int part, Chunk *chunk);

/*
 * What this process sent by that sorter, and the GPU refused, waits, as such a part; but what the first
 * process sent that one sends again by itself.
 */
extern void turns_keep_refused(TurnsSorter *sorter, CudaSorter *card, int part);

/* What waits of a part; the next part that has rows, or nparts. */
extern const WaitingPart *turns_waiting_part(const TurnsSorter *sorter, int part);
extern int turns_next_part(const TurnsSorter *sorter);

/* Begins a job for what waits of a part; false: the GPU can't. */
extern bool turns_begin_job(TurnsSorter *sorter, CudaSorter *card, int part);

/* Ends a sorter, and keeps what it has done. */
extern void turns_end_sorter(TurnsSorter *sorter, Sorter *ended);

/* ---- turn_help.c: those who stay to send what waits ---- */

/* Do they stay for that? */
extern bool turns_want_help(const TurnsSorter *sorter);

/* Do what SORT_WORK_HELP and SORT_WORK_DISMISS say. */
extern bool turns_help(TurnsSorter *sorter);
extern void turns_dismiss_helpers(TurnsSorter *sorter);

/*
 * In the first process, which has begun a job for this part: sends what waits of it, beside all that help.
 * False: the GPU can't go on, and nobody sends any more.
 */
extern bool turns_send(TurnsSorter *sorter, int part);

/* The two halves of it, while those who help send: they begin with a part's job; they have ended. */
extern bool turns_let_join(TurnsSorter *sorter, CudaSorter *card, int part);
extern void turns_wait_for_helpers(TurnsSorter *sorter);

/* ---- turn_ahead.c: the next part is sent while one is read ---- */

/* If that can be; a part's turn has come, and it is sorted. */
extern void turns_begin_ahead(TurnsSorter *sorter);

/*
 * The turn of the part that was begun ahead has come: it is the card's, and all of it is sent.  False: the
 * GPU can't go on, and nobody sends any more.
 */
extern bool turns_finish_ahead(TurnsSorter *sorter);

/* Nothing is sent ahead any more. */
extern void turns_close_other(TurnsSorter *sorter);

#endif /* GPUSORT_DEVICE_CUDA_TURNS_H */
