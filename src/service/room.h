/*
 * service/room.h
 *		How many rows there is room for on a GPU, and into how many parts more rows are cut, which take turns
 *		on it (device/cuda/turns.c).
 */
#ifndef GPUSORT_SERVICE_ROOM_H
#define GPUSORT_SERVICE_ROOM_H

#include "postgres.h"

#include <math.h>

/*
 * What a row takes there besides itself and its key: where it begins and where it goes, its number, a part of
 * a workspace.
 */
#define GPU_ROW_BYTES 40

/* Parts are made so large that they fill the GPU to this share, for rows are expected too few at times. */
#define GPU_TURN_SHARE 0.85

/*
 * The same where the next part is sent while one is read (device/cuda/turn_ahead.c): what is sorted has given
 * back what the sort alone took of it.
 */
#define GPU_TURN_SHARE_AHEAD 0.55

/* So many parts at most. */
#define GPU_TURNS_MAX 16

/* It is not worth while to cut rows of which one part would have more than this. */
#define GPU_LARGEST_PART 0.9

/* The share of a sort's host memory that rows may wait in for their turn. */
#define GPU_WAITING_SHARE 0.5

/*
 * Bytes of a GPU's memory that a row of so many bytes, and with a key of so many, takes at the highest,
 * about: it, its key, and that sorted or what a sort of strings takes.
 */
static inline double
gpu_row_memory(double row_bytes, double key_bytes)
{
	return MAXALIGN((Size) row_bytes) + 2 * MAXALIGN((Size) key_bytes) + GPU_ROW_BYTES;
}

/* The largest share of the GPU that a part is to have; helped: is the next one sent meanwhile? */
static inline double
gpu_turn_share(bool helped)
{
	return helped ? GPU_TURN_SHARE_AHEAD : GPU_TURN_SHARE;
}

/* How many parts, for so many rows where there is room for others; 1: for all of them. */
static inline double
gpu_turns(double rows, double room, bool helped)
{
	return rows <= room ? 1 : Min(GPU_TURNS_MAX, ceil(rows / (gpu_turn_share(helped) * room)));
}

#endif /* GPUSORT_SERVICE_ROOM_H */
