/*
 * base/limits.h
 *		Numbers at which a sort goes another way, for the file that does and for all that must know of it: the
 *		planner predicts a sort by them (plan/predict_gpusort.c).  Tests compile with lower ones (TIGHT=1 of
 *		the Makefile).
 *
 * A number that one file alone needs stands there.  Those of the sorts' insides are in sort/tuning.h.
 */
#ifndef GPUSORT_BASE_LIMITS_H
#define GPUSORT_BASE_LIMITS_H

#include "postgres.h"

#include <math.h>

/* ---------------------------------------------------------------- the machine, PostgreSQL */

/* What an open BufFile takes. */
#define BUFFILE_MEMORY (BLCKSZ + 256)

/* Rows, or items, between two checks for interrupts. */
#define INTERRUPTS_EVERY 1024

/* ---------------------------------------------------------------- sorting in memory */

/*
 * The scratch memory of a sort holds this share of all items, or SORT_SCRATCH_MIN of them.  A bucket out of
 * the chunks is expected to hold a 1024th.
 */
#ifndef SORT_SCRATCH_SHARE
#define SORT_SCRATCH_SHARE 8
#define SORT_SCRATCH_MIN 65536
#endif

/*
 * Fewer rows are sorted by one process: it takes 2 ms for so many, and to wait for each other six times takes
 * a part of one.
 */
#ifndef SORT_PARALLEL_MIN_ROWS
#define SORT_PARALLEL_MIN_ROWS 65536
#endif

/* Fewer rows are put in order for the leader by nobody, nor are any with fewer helpers. */
#ifndef HELPED_ROWS_MIN
#define HELPED_ROWS_MIN 500000
#define HELPERS_MIN 2
#endif

/* After so many strings a process learns how ICU puts their sort keys together (key/icu.c). */
#ifndef ICU_ASCII_AFTER
#define ICU_ASCII_AFTER 5000
#endif

/* ---------------------------------------------------------------- bounds */

/* So many keys a process remembers until a bounded sort knows enough to refuse rows, a power of two. */
#ifndef BOUND_TIGHT
#define BOUND_SAMPLES 1024
#else
#define BOUND_SAMPLES 32
#endif

/*
 * Rows that can't come any more are dropped when there are so many times those wanted; where there is no
 * room, when this part has come to those that were left the last time.
 */
#define BOUND_DROP_FACTOR 3
#define BOUND_LEAST_PART 8

/* ---------------------------------------------------------------- runs */

/* The smallest buffer by which a run is merged. */
#ifndef MERGE_BUFFER_MIN
#define MERGE_BUFFER_MIN ((Size) 16 * 1024)
#endif

/* Keys of less than this part of a row are written to a run beside it, not made again when it is read. */
#define SMALL_KEY_PART 8

/* ---------------------------------------------------------------- a GPU */

/*
 * What a row takes on a GPU besides itself and its key: where it begins and where it goes, its number, a part
 * of a workspace.
 */
#define GPU_ROW_BYTES 40

/* Parts are made so large that they fill the GPU to this share, for rows are expected too few at times. */
#define GPU_TURN_SHARE 0.85

/*
 * The same where the next part is sent while one is read (device/cuda/turns.c): what is sorted has given back
 * what the sort alone took of it.
 */
#define GPU_TURN_SHARE_AHEAD 0.55

/* So many parts at most. */
#define GPU_TURNS_MAX 16

/* Rows are not cut into parts of which one would have more than this share. */
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

/*
 * In how many parts, that take turns, rows are sorted on one GPU that has room for so many of them; room 0:
 * not known.  1: all at once, because they have room, or one value has too many of them (largest: the share
 * of the most frequent one, as far as is known), or the result is not only read forwards, once and to its
 * end.  helped: processes send the next part while one is read.
 */
static inline int
gpu_turns(double rows, double room, double largest, bool read_once, bool helped)
{
	if (!read_once || room <= 0 || rows <= room || largest > GPU_LARGEST_PART || largest * rows > room)
		return 1;
	return (int) Min(GPU_TURNS_MAX, ceil(rows / (gpu_turn_share(helped) * room)));
}

#endif /* GPUSORT_BASE_LIMITS_H */
