/*
 * device/cuda/turns.h
 *		A sort on a GPU: its rows are cut into parts by its keys, and each part is sorted there in its turn.
 *
 * Private to parts.c and turns.c.
 *
 * The first part is on the GPU from the beginning on.  The others wait (waiting.h) until their turn comes
 * (turns.c).  Most sorts have one part, and no splitters.
 *
 * A PartsSorter belongs to one process; PartsShare is what the processes share.  The leader sets splitters
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
typedef struct PartsShare
{
	CudaShare base;
	SortSplitters splitters;
	TurnHelp help;
	WaitingShare waiting;
} PartsShare;

/* What the GPU does for this process's rows, where parts take turns. */
typedef enum TurnsCardState
{
	TURNS_CARD_TAKES,
	TURNS_CARD_FULL, /* it has no room for more of them, in the first turn */
	TURNS_CARD_LOST	 /* nothing: the cpu device sorts what is left */
} TurnsCardState;

typedef struct PartsSorter
{
	Sorter base;			 /* its share is a PartsShare */
	SortSplitters splitters; /* between its parts; none: all is one part */
	CudaCard *card;			 /* of the part whose turn it is */
	SortRequest of_part;	 /* what is asked for with each */
	Size process_memory;	 /* that each process brings; 0: they have what there is */
	MemoryContext context;
	int process; /* its number among those that feed; -1: it does not, or not any more */

	/* Where parts take turns. */
	int current; /* part whose turn it is */
	TurnsCardState card_state;
	/* of the next part, sent ahead; until it is sorted, of the part before; NULL: of none */
	CudaCard *second;
	Sorter *cpu; /* sorts the part whose turn it is; NULL: the GPU does */
	Waiting waiting;
	WaitingShare own;		 /* of a sort that this process alone feeds */
	uint64 first_rows;		 /* of the first part */
	uint64 first_bytes;		 /* and bytes of it */
	SorterStats ended;		 /* what sorters have done that are gone */
	Size most_device_memory; /* that two of them had at a time */
} PartsSorter;

/* What processes share of it; NULL: this one is alone. */
static inline PartsShare *
parts_share(const PartsSorter *sorter)
{
	return (PartsShare *) sorter->base.share;
}

static inline bool
parts_take_turns(const PartsSorter *sorter)
{
	return sorter->splitters.n > 0;
}

static inline int
parts_number(const PartsSorter *sorter)
{
	return sorter->splitters.n + 1;
}

/* The whole can't go on if this part can't; can it? */
static inline bool
parts_go_on(PartsSorter *sorter, const CudaCard *card)
{
	if (card->failure != NULL)
		sorter_fail(&sorter->base, card->failure_reason, card->failure);
	return sorter->base.failure == NULL;
}

/* Sorts a part.  A small result keeps nobody from anything, unless the next part goes where it is. */
static inline bool
parts_perform(PartsSorter *sorter, CudaCard *card)
{
	bool goes_on = sorter->current + 1 < parts_number(sorter);

	return cuda_perform(card) && (goes_on || cuda_keep_small_result(card));
}

/* ---- turns.c ---- */

/* Chooses splitters for as many parts as it takes that each has room; none if it is not worth while. */
extern void turns_choose(SortSplitters *splitters, const SortRequest *request);

/* The sort's memory, but that in which rows wait, for one part. */
extern Size turns_memory_of_part(const SortRequest *request);

/* Bytes of memory in which rows wait; and where they do, from when the first part has its job. */
extern Size turns_room(const SortRequest *request);
extern void turns_create_waiting(PartsSorter *sorter, const SortRequest *request);

/* The leader takes part in feeding, with so many others at most. */
extern void turns_enter(PartsSorter *sorter, int processes);

/* A chunk for rows of this part; NULL: the first part has failed. */
extern Chunk *turns_get_chunk(PartsSorter *sorter, int part, Size at_least);

/*
 * What this process sent by that sorter, and the GPU refused, waits, as such a part; but what the first
 * process sent that one sends again by itself.
 */
extern void turns_keep_refused(PartsSorter *sorter, CudaCard *card, int part);

/* Sorts the first part; the next part that has rows, which is the current one then; false: there is none. */
extern void turns_sort_first(PartsSorter *sorter);
extern bool turns_sort_next(PartsSorter *sorter);

/* Do what SortDevice says. */
extern bool turns_help(PartsSorter *sorter);
extern void turns_dismiss(PartsSorter *sorter);

/* Adds what is known of rows that wait or waited. */
extern void turns_add_stats(const PartsSorter *sorter, SorterStats *stats);

/* Nobody sends any more, and what the cpu device has is let go. */
extern void turns_end(PartsSorter *sorter);

#endif /* GPUSORT_DEVICE_CUDA_TURNS_H */
