/*
 * base/limits.h
 *		Limits that change how a sort is done.  The code of the sort uses them, and the planner predicts a
 *		sort with them (plan/predict_gpusort.c).  Tests compile with lower limits (TIGHT=1 of the Makefile).
 *
 * A limit that only one file needs is in that file. sort/tuning.h has the limits inside the sorts.
 */
#ifndef GPUSORT_BASE_LIMITS_H
#define GPUSORT_BASE_LIMITS_H

#include "postgres.h"

#include <math.h>

/* ---------------------------------------------------------------- the machine, PostgreSQL */

/* Bytes of memory of an open BufFile. */
#define BUFFILE_MEMORY (BLCKSZ + 256)

/* Rows, or items, between two checks for interrupts. */
#define INTERRUPTS_EVERY 1024

/* ---------------------------------------------------------------- sorting in memory */

/* Less memory than this is not worth having: a smaller limit of a sort is taken as this one. */
#define SORT_MEMORY_MIN ((Size) 512 * 1024)

/*
 * The scratch memory of a sort holds this share of all items, or SORT_SCRATCH_MIN of them.  A bucket from the
 * chunks is expected to hold a 1024th.
 */
#ifndef SORT_SCRATCH_SHARE
#define SORT_SCRATCH_SHARE 8
#define SORT_SCRATCH_MIN 65536
#endif

/*
 * Fewer rows than this are sorted by one process.  One process needs 2 ms for this number of rows; six
 * meetings of several processes take a part of a millisecond.
 */
#ifndef SORT_PARALLEL_MIN_ROWS
#define SORT_PARALLEL_MIN_ROWS 65536
#endif

/* With fewer rows or fewer helpers than this, no helper puts rows in order for the leader. */
#ifndef HELPED_ROWS_MIN
#define HELPED_ROWS_MIN 500000
#define HELPERS_MIN 2
#endif

/* After this number of strings a process learns how ICU builds sort keys (key/icu.c). */
#ifndef ICU_ASCII_AFTER
#define ICU_ASCII_AFTER 5000
#endif

/* ---------------------------------------------------------------- bounds */

/* A process remembers this number of keys until a bounded sort can refuse rows; a power of two. */
#ifndef BOUND_TIGHT
#define BOUND_SAMPLES 1024
#else
#define BOUND_SAMPLES 32
#endif

/*
 * Rows outside the bound are dropped when the rows are BOUND_DROP_FACTOR times the wanted number.  If there
 * is no room, they are dropped when the rows have grown by 1 / BOUND_LEAST_PART since the last time.
 */
#define BOUND_DROP_FACTOR 3
#define BOUND_LEAST_PART 8

/* A table of the first rows of groups gets one in this number of a sort's bytes, up to a maximum. */
#define GROUP_TABLE_SHARE 4
#ifndef BOUND_TIGHT
#define GROUP_TABLE_MAX ((Size) 256 * 1024 * 1024)
#else
#define GROUP_TABLE_MAX ((Size) 32 * 1024)
#endif

/* ---------------------------------------------------------------- text by rank */

/* Sorts of fewer rows, or with less memory, have no codes of values. */
#ifndef CODES_TIGHT
#define CODES_ROWS_MIN 4096
#else
#define CODES_ROWS_MIN 64
#endif
#define CODES_MEMORY_MIN ((Size) 1024 * 1024)

/*
 * Tables of values get one in this number of a sort's bytes, and no more than for twice the values that are
 * expected, of usual length.  What ranks the values takes twice as much in each process that writes runs.
 */
#define VALUES_SHARE 6
#define VALUES_MEMORY_MIN ((Size) 3 * 512 * 1024)
#define VALUE_MEMORY 256

/* Times that the memory of a table is set aside: for the table, and for what ranks its values. */
#define VALUES_MEMORY_TIMES(processes) (1 + 2 * (processes))

/* ---------------------------------------------------------------- runs */

/* The smallest buffer for reading a run in a merge. */
#ifndef MERGE_BUFFER_MIN
#define MERGE_BUFFER_MIN ((Size) 16 * 1024)
#endif

/*
 * If a key is smaller than this part of a row, the run has the key beside the row.  Otherwise the reader
 * makes the key again.
 */
#define SMALL_KEY_PART 8

/* ---------------------------------------------------------------- a GPU */

/*
 * Bytes of a row on a GPU in addition to the row and its key: the row's offset before and after the sort, its
 * number, and a part of a workspace.
 */
#define GPU_ROW_BYTES 40

/*
 * A part is expected to fill this share of the GPU.  The rest is a reserve, because estimates of rows may be
 * too low.
 */
#define GPU_TURN_SHARE 0.85

/*
 * The share of the GPU for a part if the next part is sent while this one is read (device/cuda/turns.c).  A
 * sorted part has given back the memory that only its sort needed.
 */
#define GPU_TURN_SHARE_AHEAD 0.55

/* The maximum number of parts. */
#define GPU_TURNS_MAX 16

/* Rows are not split if one part would have more than this share of the rows. */
#define GPU_LARGEST_PART 0.9

/* The share of a sort's host memory for rows that wait for their turn. */
#define GPU_WAITING_SHARE 0.5

/*
 * Returns about the most bytes of a GPU's memory for one row of row_bytes with a key of key_bytes: the row,
 * the key, and the sorted key or the memory of a sort of strings.
 */
static inline double
gpu_row_memory(double row_bytes, double key_bytes)
{
	return MAXALIGN((Size) row_bytes) + 2 * MAXALIGN((Size) key_bytes) + GPU_ROW_BYTES;
}

/* Returns the largest share of the GPU for a part. helped: is the next part sent while this one is read? */
static inline double
gpu_turn_share(bool helped)
{
	return helped ? GPU_TURN_SHARE_AHEAD : GPU_TURN_SHARE;
}

/*
 * Returns the number of parts, which take turns, in which rows are sorted on one GPU. room: the number of
 * rows for which the GPU has room; 0: not known. largest: the share of the most frequent value, if known.
 * helped: processes send the next part while one part is read.  The result is 1, no turns, in these cases:
 * all rows have room; one value has too many rows; the result is not read once, forwards and to its end.
 */
static inline int
gpu_turns(double rows, double room, double largest, bool read_once, bool helped)
{
	if (!read_once || room <= 0 || rows <= room || largest > GPU_LARGEST_PART || largest * rows > room)
		return 1;
	return (int) Min(GPU_TURNS_MAX, ceil(rows / (gpu_turn_share(helped) * room)));
}

#endif /* GPUSORT_BASE_LIMITS_H */
