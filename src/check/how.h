/*
 * check/how.h
 *		How a sort is done, in words for a person: device, processes, memory, temporary files.
 */
#ifndef GPUSORT_CHECK_HOW_H
#define GPUSORT_CHECK_HOW_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "plan/sort_shape.h"

typedef struct SortHow
{
	const char *device;
	int processes;
	bool each;	   /* does each process sort its own part of the rows? */
	double memory; /* bytes of one sort; of a card's memory if the device is a card */
	double files;  /* bytes; 0: none */
	bool scarce;   /* no files, but a little more memory than expected would need them */
} SortHow;

extern const char *check_how_in_words(const SortHow *how);

/* For a GpuSort of a finished plan, below these ancestors. */
extern const char *check_how_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors);

/* For PostgreSQL's sort of this shape. */
extern const char *check_how_declined(const SortShape *shape);

/* For a sort by PostgreSQL of which only its memory limit, in kilobytes, is known. */
extern const char *check_how_within(int processes, int kilobytes);

#endif /* GPUSORT_CHECK_HOW_H */
