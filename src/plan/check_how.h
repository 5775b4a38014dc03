/*
 * plan/check_how.h
 *		How a sort is done, in words for a person: device, processes, memory, temporary files.
 */
#ifndef GPUSORT_PLAN_CHECK_HOW_H
#define GPUSORT_PLAN_CHECK_HOW_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "plan/predict.h"

typedef struct SortHow
{
	const char *device;
	int processes;
	bool each;	   /* does each of them a sort of its own, of a part of the rows? */
	double memory; /* bytes, of a sort; a card's, if the device is one */
	double files;  /* bytes; 0: none */
	bool scarce;   /* none, but a little more than is expected would need them */
} SortHow;

extern const char *check_how_in_words(const SortHow *how);

/* Of a GpuSort of a finished plan, below these ancestors. */
extern const char *check_how_taken(const PlannedStmt *stmt, const Plan *sort, List *ancestors);

/* Of PostgreSQL's sort of this shape. */
extern const char *check_how_declined(const SortShape *shape);

/* Of one by PostgreSQL of which no more is known than so many kilobytes of memory that it may have. */
extern const char *check_how_within(int processes, int kilobytes);

#endif /* GPUSORT_PLAN_CHECK_HOW_H */
