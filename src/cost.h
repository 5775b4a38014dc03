/*
 * cost.h
 *		What a GpuSort costs, in the planner's units.
 */
#ifndef GPUSORT_COST_H
#define GPUSORT_COST_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Sets the startup and total cost of a sort of rows rows of width bytes with keys of key_width bytes
 * within memory bytes, on top of its input's cost.
 */
extern void cost_gpusort(Path *path, const Path *input, double rows, int width, int key_width, double memory);

#endif							/* GPUSORT_COST_H */
