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

/* Those who have fed stay, to send what waits when its turn has come; under the share's mutex. */
typedef struct TurnHelp
{
	bool wanted; /* do they stay? */
	bool over;	 /* they are to go */
	int part;	 /* whose rows may be sent; 0: none's */
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

struct TurnsSorter;

/* What asks for chunks of a part. */
typedef struct Turn
{
	Sorter base;
	struct TurnsSorter *turns;
	int number;
} Turn;

typedef struct TurnsSorter
{
	Sorter base;
	SorterParts parts;
	SortSplitters splitters;
	Turn turns[SPLIT_PARTS_MAX];
	SortRequest of_part; /* what the device is asked for with each part */
	Size process_memory; /* that each process brings; 0: they have what there is */
	bool helped;		 /* will those that feed it call help_reader? */
	MemoryContext context;

	CudaSorter *card;  /* of the part whose turn it is */
	CudaSorter *other; /* of the one before, which is over, or of the next one; NULL: not made yet */
	int ahead;		   /* the next part, if it is being sent by the other already; 0: none is */
	bool card_is_full; /* this process has no more for it in the first turn */
	bool card_is_lost; /* the cpu device sorts what is left */
	Sorter *cpu;	   /* sorts the part whose turn it is; NULL: the card does */
	Waiting waiting;
	WaitingShare own; /* of a sort that this process alone feeds */

	TurnsShare *share; /* NULL: this process alone */
	int process;	   /* its number among those that feed; -1: it does not, or not any more */

	int current;			 /* whose turn it is */
	uint64 first_rows;		 /* of the first part */
	uint64 first_bytes;		 /* and bytes of it */
	SorterStats ended;		 /* what sorters have done that are gone */
	Size most_device_memory; /* that two of them had at a time */
} TurnsSorter;

/* Can it go on?  It can't if the GPU can't; nor can the other processes then. */
extern bool turns_go_on(TurnsSorter *sorter);

/* ---- turn.c: a part, for those who feed it ---- */

extern const SortDevice sort_device_turn;

/*
 * What this process sent by that sorter, and the GPU refused, waits, as such a part; but what the first
 * process sent that one sends again by itself.
 */
extern void turns_keep_refused(TurnsSorter *sorter, CudaSorter *card, int part);

/* What waits of a part; the next part that has rows, or parts.n. */
extern const WaitingPart *turns_waiting_part(const TurnsSorter *sorter, int part);
extern int turns_next_part(const TurnsSorter *sorter);

/* Begins a job for what waits of a part; false: the GPU can't. */
extern bool turns_begin_job(TurnsSorter *sorter, CudaSorter *card, int part);

/* Ends a sorter, and keeps what it has done. */
extern void turns_end_sorter(TurnsSorter *sorter, Sorter *ended);

/* ---- turn_help.c: those who stay to send what waits ---- */

extern bool turns_are_helped(Sorter *base);
extern void turns_help_reader(Sorter *base);
extern void turns_dismiss_helpers(Sorter *base);

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
