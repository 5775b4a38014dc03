/*
 * rounds.h
 *		Sorting by keys that are longer than 64 bits, a piece a round.
 *
 * The method of Deshpande and Narayanan, "Can GPUs Sort Strings Efficiently?" (HiPC 2013), section III, in
 * the form that the wide fixed keys and the strings share.  A segment is a group of rows that agree in all
 * pieces so far.  In every round
 *
 *	1. the user loads a key of 64 bits for each row that is left: the number of its segment in as few bits as
 *	   the numbers need, below it the row's next piece;
 *	2. segment_rounds_sort sorts the pairs of key and row number;
 *	3. segment_rounds_settle finds the settled rows: rows with a unique key, and rows for which the user's
 *	   SettleRule says that equal keys are equal rows.  It writes these rows to their place in the result.  It
 *	   moves the other rows together; their groups of equal keys are the segments of the next round.
 *
 * The rows of a segment are neighbours in the result too, and stay in its range of places.  So the places
 * that are still open, kept in ascending order, are those of the sorted rows that are left, one by one.  In
 * the first round every place is open, and the pairs are sorted straight into the result.
 *
 * Only row numbers and 64-bit keys move.  What the rows consist of is known to the user alone.
 *
 * After that the user may place rows himself, and take them out by segment_rounds_drop.  Segments may also
 * have depths, how far their rows have been looked at, that are handed down from segments to the parts they
 * fall into.
 */
#ifndef DEVSORT_SEGMENT_ROUNDS_H
#define DEVSORT_SEGMENT_ROUNDS_H

#include "pairs/pair_sort.h"

struct SegmentRounds
{
	/* Set by the user: arrays of n elements. */
	uint64_t *keys; /* where the user loads keys to */
	uint64_t *sorted_keys;
	uint32_t *rows;	 /* the row numbers that belong to keys */
	uint32_t *order; /* the result: row numbers in their order */

	/* Set by the user: how to sort. */
	DevSortAlgorithm algorithm;
	uint64_t seed;
	int samples;
	bool keep_settled; /* do not take settled rows out: all rows take part in all rounds */

	/* Set by the user if segments have depths, n / 2 + 1 of each; else NULL.  Not with keep_settled. */
	uint32_t *depths;	   /* of the segments that there are */
	uint32_t *next_depths; /* room for those of the next ones; the two change places */

	/* Set by the user before segment_rounds_settle, if segments have depths. */
	uint32_t taken_mask; /* the bits of this round's keys that say how much it adds; all set: nothing */
	int piece_bits;		 /* bits of its keys below the segment's number */

	/* Taken by segment_rounds_take. */
	uint32_t *sorted_rows; /* from the second round on; changes places with rows */
	uint32_t *places;	   /* the open places, one a row; from the second round on */
	uint32_t *next_places;
	uint32_t *unsettled;	   /* a bit a sorted row */
	uint32_t *heads;		   /* a bit a sorted row: it begins a segment of the next round */
	uint2 *tiles;			   /* unsettled rows and heads, by tile; then the sums of those before */
	unsigned long long *total; /* unsettled rows << 32 | heads */

	/* The state. */
	uint64_t n;
	uint64_t count; /* rows that are left */
	uint64_t segments;
	uint32_t *row_segments;		/* the segment of each of them; NULL before the first round */
	const uint32_t *unfinished; /* of its sort (pair_sort_queue); NULL: nothing is */
	int round;					/* from 0 */
};

/* Equal keys are equal rows if (key & mask) < below. */
struct SettleRule
{
	uint64_t mask;
	uint64_t below;
};

/* What a kernel that loads keys needs to know of the round. */
struct RoundRows
{
	uint64_t count;
	uint64_t *keys;			  /* to be written, count of them */
	uint32_t *rows;			  /* the row numbers; to be written in the first round */
	const uint32_t *segments; /* NULL in the first round: all rows are in segment 0 */
};

/* Takes the arrays for up to n rows from the workspace (or measures them). */
void segment_rounds_take(Workspace *workspace, uint64_t n, SegmentRounds *rounds);

/* Begins with n rows in one segment. */
void segment_rounds_begin(SegmentRounds *rounds, uint64_t n);

/* How many bits the segments' numbers take: 0 for a single one. */
int segment_rounds_bits(const SegmentRounds *rounds);

/* What to load keys from and to. */
RoundRows segment_rounds_input(const SegmentRounds *rounds);

/*
 * Queues the sort of the loaded rows.  The rest of the workspace is as large as pair_sort_measure says for n
 * pairs with values.
 */
DevSortStatus segment_rounds_sort(SegmentRounds *rounds, const DevSortStages *stages,
								  const Workspace *workspace, cudaStream_t stream);

/* Makes sure that the sort is complete, in a round that will not be settled.  Waits for the stream. */
DevSortStatus segment_rounds_finish_sort(SegmentRounds *rounds, const Workspace *workspace,
										 cudaStream_t stream);

/*
 * Ends the round, with the workspace of its sort.  rounds->count becomes 0 when the result is complete.
 * Waits for the stream.
 */
DevSortStatus segment_rounds_settle(SegmentRounds *rounds, SettleRule rule, const Workspace *workspace,
									cudaStream_t stream);

/*
 * Between rounds, with depths: takes segments out whose rows are in `finished`, a bit a row that is left, all
 * or none of a segment (segment_rounds_words of them): the user has written them to their places.  Waits for
 * the stream.
 */
DevSortStatus segment_rounds_drop(SegmentRounds *rounds, const uint32_t *finished, cudaStream_t stream);

/* Words of a bit a row for n rows. */
uint64_t segment_rounds_words(uint64_t n);

#ifdef __CUDACC__

/* The row number of the round's i-th row. */
static __device__ __forceinline__ uint32_t
round_row(const RoundRows &input, uint64_t i)
{
	if (input.segments)
		return input.rows[i];
	input.rows[i] = (uint32_t) i;
	return (uint32_t) i;
}

/* The segment of the round's i-th row. */
static __device__ __forceinline__ uint64_t
round_segment(const RoundRows &input, uint64_t i)
{
	return input.segments ? input.segments[i] : 0;
}

#endif /* __CUDACC__ */

#endif /* DEVSORT_SEGMENT_ROUNDS_H */
