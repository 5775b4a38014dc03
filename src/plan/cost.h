/*
 * plan/cost.h
 *		What a GpuSort costs, in the planner's units.
 */
#ifndef GPUSORT_PLAN_COST_H
#define GPUSORT_PLAN_COST_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* What is to be sorted, and by how many processes. */
typedef struct SortCostInput
{
	double rows;
	int width;	   /* bytes of a row, without its key */
	int key_width; /* bytes of a key */
	double memory; /* bytes of host memory */
	int processes; /* that feed, this one included; with the cpu device they sort together */
	bool on_gpu;   /* on the cuda device */
} SortCostInput;

/* Sets the startup and total cost of a sort by this process alone, on top of its input's cost. */
extern void cost_gpusort(Path *path, const Path *input, const SortCostInput *sort);

/* The same for a sort that several processes have fed; input is the Gather, which has the cost of feeding. */
extern void cost_gpusort_of_feeds(Path *path, const Path *input, const SortCostInput *sort);

/* One process's part of feeding: the rows of a partial path. */
extern void cost_gpusort_feed(Path *path, const Path *partial, const SortCostInput *sort);

/*
 * How many rows find no room in memory, and pass the Gather: none on the cuda device, whose memory is not
 * known here.
 */
extern double cost_passed_rows(const SortCostInput *sort);

#endif /* GPUSORT_PLAN_COST_H */
