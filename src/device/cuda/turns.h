/*
 * device/cuda/turns.h
 *		A sort on a GPU that has no room for it.  The rows are cut into parts by their keys, and each part is
 *		sorted on the GPU in its turn.
 *
 * Private to device.c, turns.c, turn_change.c and turn_help.c.
 *
 * The first part is on the GPU from the beginning.  The other parts wait (waiting.h) until their turn comes
 * (turn_change.c).
 *
 * A TurnsSorter belongs to one process; processes share TurnsShare.  The leader sets splitters before workers
 * start, and help.state when it enters.  The rest of help is under the mutex of the share.  A change of help
 * is broadcast by `changed`: no part is to be sent (part is 0), a part is to be sent, or help is over.
 * waiting has a mutex of its own.
 *
 * If a part fails while it is fed or read, the whole sort fails.  If a part fails between two turns, the cpu
 * device sorts it and the parts that follow.  The share has then failed as well, but the only effect is that
 * the processes that send leave.
 */
#ifndef GPUSORT_DEVICE_CUDA_TURNS_H
#define GPUSORT_DEVICE_CUDA_TURNS_H

#include "postgres.h"

#include "device/cuda/on_card.h"
#include "device/cuda/waiting.h"
#include "sort/splitters.h"

/* Do processes that have fed stay? */
typedef enum TurnHelpState
{
	TURN_HELP_UNWANTED,
	TURN_HELP_WANTED,
	TURN_HELP_OVER /* they must leave */
} TurnHelpState;

/* The work of processes that stay: they send the waiting rows of a part when its turn has come. */
typedef struct TurnHelp
{
	TurnHelpState state;
	int part; /* part whose rows may be sent; 0: none */
	int nsending;
} TurnHelp;

/* The part of a TurnsSorter that processes share. */
typedef struct TurnsShare
{
	CudaShare base;
	SortSplitters splitters;
	TurnHelp help;
	WaitingShare waiting;
} TurnsShare;

typedef struct TurnsSorter
{
	Sorter base; /* its share is a TurnsShare; places: the card, then the places where rows wait */
	SortSplitters splitters; /* the splitters between its parts */
	Size process_memory;	 /* bytes that each process brings; 0: the limit is for all processes */
	MemoryContext context;

	int current;	/* the part whose turn it is */
	Sorter *sorter; /* the sorter of the current part: the card, or a sorter of the cpu device */
	CudaCard *card;
	/*
	 * the card of the next part, which is sent ahead; from the change of turns until that part is sorted, the
	 * card of the part before; NULL: there is none
	 */
	CudaCard *second;
	bool card_is_lost; /* the cpu device sorts the parts that are left */
	Waiting waiting;
	WaitingShare own;	/* the WaitingShare of a sort that only this process feeds */
	uint64 first_rows;	/* number of rows of the first part */
	uint64 first_bytes; /* bytes of the first part */
	SorterStats ended;	/* statistics of sorters that have ended */
} TurnsSorter;

/* Returns the part of the sorter that processes share; NULL: this process is alone. */
static inline TurnsShare *
turns_share(const TurnsSorter *sorter)
{
	return (TurnsShare *) sorter->base.share;
}

/* Returns the number of parts. */
static inline int
turns_parts(const TurnsSorter *sorter)
{
	return sorter->splitters.n + 1;
}

/* ---- turn_help.c: processes that stay to send ---- */

/* Called by the first process: has any process stayed, or may a process still stay? */
extern bool turn_help_is_wanted(const TurnsSorter *sorter);

/*
 * Called by the first process: lets others send rows of this part, whose job is begun; false: no process will
 * send.
 */
extern bool turn_help_let_in(TurnsSorter *sorter, CudaCard *card, int part);

/*
 * Called by the first process: lets no process join any more, and waits until no process that joined still
 * sends.
 */
extern void turn_help_end(TurnsSorter *sorter);

/* The functions `help` and `dismiss` of SortDevice. */
extern bool turn_help(Sorter *base);
extern void turn_help_dismiss(Sorter *base);

/* ---- turn_change.c: the parts in their turns ---- */

/* Sorts the first part, which has been fed, and has the next one sent ahead if that is possible. */
extern void turns_sort_first(TurnsSorter *sorter);

/* Sorts the next part that has rows; false: there is none. */
extern bool turns_sort_next(TurnsSorter *sorter);

/* ---- turns.c ---- */

/* SortDevice.count_parts of the cuda device. */
extern int turns_count(const SortRequest *request);

/* Chooses splitters for enough parts that the GPU has room for each; false: all rows are to be one part. */
extern bool turns_choose(SortSplitters *splitters, const SortRequest *request);

/* The functions `begin` and `join` of SortDevice.  All other functions are in the sorter's own device. */
extern Sorter *turns_begin(const SortRequest *request, const SortSplitters *splitters);
extern Sorter *turns_join(CudaShare *share, const struct SortKey *key, int process);

#endif /* GPUSORT_DEVICE_CUDA_TURNS_H */
