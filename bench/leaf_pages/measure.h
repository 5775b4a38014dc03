/*
 * measure.h
 *		The stages of both ways, alone and together, by some threads.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include "leaf_pages/card.h"

/* A table's worth of rows, and where its pages go. */
typedef struct Measured
{
	Card *card; /* NULL: there is none */
	LeafRows sorted;
	uint64_t window_leaves;
	bool with_checksums;
	int file;
} Measured;

/* What is done with each window. */
typedef struct Stage
{
	Way way;
	bool fetches;  /* from the card; else the rows stand in memory */
	bool fills;	   /* rows: pages in place of them, 256 kB at a time */
	bool writes;   /* to the file, 256 kB a call */
	bool compares; /* pages with those that the host fills; not for timing */
} Stage;

/* All windows, by so many threads, each with two lanes of the card; ms is how long that took. */
DevSortStatus measure_stage(const Measured *measured, const Stage &stage, int threads, double *ms);

#endif /* MEASURE_H */
