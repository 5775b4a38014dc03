/*
 * rank_layout.h
 *		Ranks in the place of codes: what must be true of RANKS, and of the keys.
 *
 * A fixed key may have a code of 4 bytes at some place, most significant byte first.  RANKS gives each code
 * its rank, a column after the other, and for a column in pieces that follow each other.  Before the keys are
 * sorted each code is replaced by its rank.  A code without a rank is an error of the client; ranks may be
 * any numbers.  The functions are the same on host and device.
 */
#ifndef GPUSORTD_RANK_LAYOUT_H
#define GPUSORTD_RANK_LAYOUT_H

#include "daemon/protocol/chunk_layout.h"

#define RANK_BYTES sizeof(uint32_t)

/* The pieces that came so far. */
typedef struct RankSequence
{
	uint32_t columns;
	uint32_t offset; /* of the last column */
	uint64_t codes;	 /* of the last column */
} RankSequence;

/* Can this piece come next?  Then it is noted. */
static inline bool
rank_sequence_takes(RankSequence *sequence, const GpusortdRanks *ranks, uint32_t key_bytes,
					uint64_t chunk_bytes)
{
	bool begins = ranks->first == 0;

	if (key_bytes < RANK_BYTES || ranks->offset > key_bytes - RANK_BYTES || ranks->codes == 0 ||
		ranks->codes > chunk_bytes / RANK_BYTES)
		return false;
	if (begins ? sequence->columns == GPUSORTD_MAX_RANK_COLUMNS
			   : ranks->first != sequence->codes || ranks->offset != sequence->offset ||
					 ranks->codes > UINT32_MAX - ranks->first)
		return false;
	sequence->columns += begins;
	sequence->offset = ranks->offset;
	sequence->codes = ranks->first + ranks->codes;
	return true;
}

/* The ranks of one column. */
typedef struct RankColumn
{
	uint32_t offset; /* of the code in a key */
	uint64_t begin;	 /* of its ranks among those of all columns */
	uint64_t codes;
} RankColumn;

/* Those of all columns. */
typedef struct RankColumns
{
	int n;
	uint64_t ranks; /* of all of them */
	RankColumn column[GPUSORTD_MAX_RANK_COLUMNS];
} RankColumns;

/* Notes a piece that can come next. */
static inline void
rank_columns_add(RankColumns *columns, uint32_t offset, uint64_t first, uint64_t codes)
{
	if (first == 0)
	{
		columns->column[columns->n].offset = offset;
		columns->column[columns->n].begin = columns->ranks;
		columns->column[columns->n++].codes = 0;
	}
	columns->column[columns->n - 1].codes += codes;
	columns->ranks += codes;
}

/* Replaces the codes of a key by their ranks; false: a code has none. */
CHUNK_FUNCTION bool
rank_columns_give(const RankColumns *columns, const uint32_t *ranks, uint8_t *key)
{
	for (int i = 0; i < columns->n; i++)
	{
		const RankColumn *column = &columns->column[i];
		uint8_t *place = key + column->offset;
		uint32_t code =
			(uint32_t) place[0] << 24 | (uint32_t) place[1] << 16 | (uint32_t) place[2] << 8 | place[3];
		uint32_t rank;

		if (code >= column->codes)
			return false;
		rank = ranks[column->begin + code];
		place[0] = (uint8_t) (rank >> 24);
		place[1] = (uint8_t) (rank >> 16);
		place[2] = (uint8_t) (rank >> 8);
		place[3] = (uint8_t) rank;
	}
	return true;
}

#endif /* GPUSORTD_RANK_LAYOUT_H */
