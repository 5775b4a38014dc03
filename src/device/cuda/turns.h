/*
 * device/cuda/turns.h
 *		What turns.c and turn.c know of a sort whose parts take turns on a GPU.
 *
 * Private to these files.
 */
#ifndef GPUSORT_DEVICE_CUDA_TURNS_H
#define GPUSORT_DEVICE_CUDA_TURNS_H

#include "postgres.h"

#include "device/cuda/sorter.h"
#include "device/cuda/waiting.h"

/* What processes share of it. */
typedef struct TurnsShare
{
	SortShare base;
	SortShareHandle card; /* the first part's */
	SortSplitters splitters;
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
	MemoryContext context;

	CudaSorter *card;
	bool card_is_full; /* this process has no more for it in the first turn */
	bool card_is_lost; /* the cpu device sorts what is left */
	Sorter *cpu;	   /* sorts the part whose turn it is; NULL: the card does */
	Waiting waiting;
	WaitingShare own; /* of a sort that this process alone feeds */

	TurnsShare *share; /* NULL: this process alone */
	int process;	   /* its number among those that feed; -1: it does not, or not any more */

	int current;		/* whose turn it is */
	uint64 first_rows;	/* of the first part */
	uint64 first_bytes; /* and bytes of it */
	SorterStats on_cpu; /* what the cpu device has done */
} TurnsSorter;

/* ---- turn.c: a part, for those who feed it ---- */

extern const SortDevice sort_device_turn;

/*
 * What this process sent, and the GPU refused, waits, too; but what the first process sent that one sends
 * again by itself.
 */
extern void turns_keep_refused(TurnsSorter *sorter);

#endif /* GPUSORT_DEVICE_CUDA_TURNS_H */
