/*
 * base/group_rows.h
 *		The first rows of each group of rows that a sort's consumer wants.
 */
#ifndef GPUSORT_BASE_GROUP_ROWS_H
#define GPUSORT_BASE_GROUP_ROWS_H

#include "postgres.h"

/* The most rows of a group that a filter keeps keys of. */
#define GROUP_ROWS_MAX 64

/* The most rows whose groups are looked up together. */
#define GROUP_BATCH_ROWS 16

/* How the rows of a group are counted. */
typedef enum GroupRows
{
	GROUP_ROW_NUMBERS, /* any n rows that come first */
	GROUP_RANKS,	   /* also rows that equal the last one of these */
	GROUP_DENSE_RANKS  /* all rows with one of the n lowest keys */
} GroupRows;

/* What is wanted of each group. */
typedef struct FirstOfGroups
{
	uint64 n; /* 0: all rows of the sort are wanted */
	GroupRows kind;
	int columns; /* the first sort columns, at least one, which form the groups */
} FirstOfGroups;

/* Is it expected that so few rows are dropped that a filter does not pay? */
static inline bool
group_rows_drop_few(double rows, double kept)
{
	return kept > rows - rows / 8;
}

/*
 * Returns the number of rows that a filter is asked about before it must have dropped some.  With a fourth of
 * them, ten rows of each of 100,000 groups of 50 took 1430 ms instead of 970: keys that push others out take
 * their time.  The expectation may be wrong: statistics take values for different that come ten times.
 */
static inline double
group_rows_patience(double rows, bool few_dropped)
{
	return few_dropped ? rows / 32 : rows / 8;
}

#endif /* GPUSORT_BASE_GROUP_ROWS_H */
