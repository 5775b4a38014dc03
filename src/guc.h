/*
 * guc.h
 *		The settings, gpusort.*; docs/settings.md describes them for users.
 */
#ifndef GPUSORT_GUC_H
#define GPUSORT_GUC_H

#include "postgres.h"

typedef enum GpuSortMode
{
	GPUSORT_MODE_AUTO,			/* take a sort where that is expected to be cheaper */
	GPUSORT_MODE_OFF,			/* plan as if gpusort were not there */
	GPUSORT_MODE_FORCE			/* take every eligible sort, whatever its size and cost */
} GpuSortMode;

typedef enum GpuSortBackend
{
	GPUSORT_BACKEND_AUTO,		/* the device that is expected to be the cheaper one */
	GPUSORT_BACKEND_CPU,
	GPUSORT_BACKEND_CUDA		/* as long as there is one, else the CPU */
} GpuSortBackend;

/* How fixed keys are sorted, by devices that know several ways; the numbers are gpusortd's. */
typedef enum GpuSortAlgorithm
{
	GPUSORT_ALGORITHM_AUTO,
	GPUSORT_ALGORITHM_SAMPLE,
	GPUSORT_ALGORITHM_BUCKET,
	GPUSORT_ALGORITHM_RADIX
} GpuSortAlgorithm;

extern int	gpusort_mode;
extern int	gpusort_backend;
extern int	gpusort_algorithm;
extern int	gpusort_min_rows;
extern int	gpusort_work_mem;	/* kB; -1: as work_mem */

extern void guc_define_all(void);

/* The host memory that one sort may use, in bytes. */
extern Size guc_sort_memory(void);

#endif							/* GPUSORT_GUC_H */
