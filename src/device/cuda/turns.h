/*
 * device/cuda/turns.h
 *		A sort on a GPU that has no room for it: the rows are cut into parts by their keys, and each part is
 *		sorted there in its turn.
 *
 * Private to device.c, turns.c and turn_help.c.
 *
 * The first part is on the GPU from the beginning on.  The others wait (waiting.h) until their turn comes
 * (turns.c).
 *
 * A TurnsSorter belongs to one process; TurnsShare is what the processes share.  The leader sets splitters
 * before workers start, and help.state as it enters.  The rest of help is under the mutex of the share, and a
 * change of it is broadcast by `changed`: nothing is to be sent (part is 0), a part is, or help is over.
 * waiting has a mutex of its own.
 *
 * When a part fails that is fed or read the whole does.  When one fails between two turns the cpu device
 * sorts it and those that follow; that the share has failed, too, has those who send go, and nothing else.
 */
#ifndef GPUSORT_DEVICE_CUDA_TURNS_H
#define GPUSORT_DEVICE_CUDA_TURNS_H

#include "postgres.h"

#include "device/cuda/on_card.h"
#include "device/cuda/waiting.h"
#include "sort/splitters.h"

/* Do those who have fed stay? */
typedef enum TurnHelpState
{
	TURN_HELP_UNWANTED,
	TURN_HELP_WANTED,
	TURN_HELP_OVER /* they are to go */
} TurnHelpState;

/* What those who stay do: they send what waits when its turn has come. */
typedef struct TurnHelp
{
	TurnHelpState state;
	int part; /* whose rows may be sent; 0: none's */
	int nsending;
} TurnHelp;

/* What processes share. */
typedef struct TurnsShare
{
	CudaShare base;
	SortSplitters splitters;
	TurnHelp help;
	WaitingShare waiting;
} TurnsShare;

typedef struct TurnsSorter
{
	Sorter base;			 /* its share is a TurnsShare; places: the card, then where rows wait */
	SortSplitters splitters; /* between its parts */
	Size process_memory;	 /* that each process brings; 0: they have what there is */
	MemoryContext context;

	int current;	/* part whose turn it is */
	Sorter *sorter; /* it is sorted by this one: the card, or one of the cpu device */
	CudaCard *card;
	/* of the next part, sent ahead; until it is sorted, of the part before; NULL: of none */
	CudaCard *second;
	bool card_is_lost; /* the cpu device sorts what is left */
	Waiting waiting;
	WaitingShare own;		 /* of a sort that this process alone feeds */
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

/* ---- turn_help.c: processes that stay to send ---- */

/* In the first process: has any process stayed, or may it yet? */
extern bool turn_help_is_wanted(const TurnsSorter *sorter);

/* In the first process: others may send of this part, whose job is begun; false: no process will. */
extern bool turn_help_let_in(TurnsSorter *sorter, CudaCard *card, int part);

/* In the first process: no process joins any more, and none of those that have still sends. */
extern void turn_help_end(TurnsSorter *sorter);

/* Do what SortDevice says. */
extern bool turn_help(Sorter *base);
extern void turn_help_dismiss(Sorter *base);

/* ---- turns.c ---- */

/* Chooses splitters for as many parts as it takes that each has room; false: all rows are to be one part. */
extern bool turns_choose(SortSplitters *splitters, const SortRequest *request);

/* Do what SortDevice says.  All else is asked of the sorter's own device. */
extern Sorter *turns_begin(const SortRequest *request, const SortSplitters *splitters);
extern Sorter *turns_join(CudaShare *share, const struct SortKey *key, int process);

#endif /* GPUSORT_DEVICE_CUDA_TURNS_H */
