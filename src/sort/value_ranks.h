/*
 * sort/value_ranks.h
 *		The order of the different values of a sort: ranks in the place of codes (key/coded.h).
 *
 * The values of each coded column are encoded once, by the plain key of the column alone, and sorted as rows
 * with such keys are.  If these keys only guess the order, comparisons correct it.  Values with equal keys
 * have one rank.  Therefore any process that has the same values gives them the same ranks.
 *
 * In a chunk, ranks replace the codes where they stand (value_ranks_give).  Then the chunk's keys are fixed
 * keys like others.  What the feed noted about the order and the bits of the codes has no meaning, and is
 * noted again.
 */
#ifndef GPUSORT_SORT_VALUE_RANKS_H
#define GPUSORT_SORT_VALUE_RANKS_H

#include "postgres.h"

#include "key/coded.h"
#include "sort/chunk.h"
#include "sort/sorted_rows.h"

/* Ranks by code, for each coded column. */
typedef struct RankTables
{
	int n;
	uint32 *ranks[CODED_COLUMNS_MAX];
	/* if rows are made of their keys: the values by rank, and their number */
	const ValueEntry **values[CODED_COLUMNS_MAX];
	uint32 nvalues[CODED_COLUMNS_MAX];
} RankTables;

/* The ranks and the keys of the values that the tables have now. */
typedef struct ValueRanks
{
	const SortKey *key; /* the coded key */
	SortKey *expander;	/* a twin of the plain key */
	MemoryContext context;
	RankTables tables;
	uint32 ncodes[CODED_COLUMNS_MAX];
	/* has each of these codes a rank?  A process may have taken one, and not added its value */
	bool complete;
	const char **records[CODED_COLUMNS_MAX]; /* by rank: the record of a value's key */
	Size memory;							 /* bytes of all this, about */
} ValueRanks;

/* Ranks the values, in a context below CurrentMemoryContext.  Checks for interrupts. */
extern ValueRanks *value_ranks_create(const SortKey *key);
extern void value_ranks_free(ValueRanks *ranks);

/* Was no value added since? */
extern bool value_ranks_have_all(const ValueRanks *ranks);

/* Rows that are made of their keys are made of ranked keys from now on; in each process. */
extern void value_ranks_make_rows(const RankTables *tables, const SortKey *key);

/* Replaces the codes of a chunk by ranks, if that was not done. */
extern void value_ranks_give(const RankTables *tables, const SortKey *key, Chunk *chunk);

/* Returns the plain key of a sorted row, *size bytes, valid until the next call. */
extern const uint8 *value_ranks_plain_key(const ValueRanks *ranks, SortedRows *sorted, uint64 i, Size *size);

/*
 * The plain keys of rows whose keys have codes still, in any order, and the rows, if they are made of their
 * keys.
 */
typedef struct CodedValues CodedValues;

extern CodedValues *coded_values_create(const SortKey *key);
extern const uint8 *coded_values_plain_key(CodedValues *values, const uint8 *key, Size *size);
extern StoredRow coded_values_row(CodedValues *values, const uint8 *key);
extern void coded_values_free(CodedValues *values);

#endif /* GPUSORT_SORT_VALUE_RANKS_H */
