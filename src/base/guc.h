/*
 * base/guc.h
 *		The settings, gpusort.*; docs/settings.md describes them for users.
 */
#ifndef GPUSORT_BASE_GUC_H
#define GPUSORT_BASE_GUC_H

#include "postgres.h"

typedef enum GpuSortMode
{
	GPUSORT_MODE_AUTO, /* take a sort where that is expected to be cheaper */
	GPUSORT_MODE_OFF,  /* plan as if gpusort were not there */
	GPUSORT_MODE_FORCE /* take every eligible sort, whatever its size and cost */
} GpuSortMode;

typedef enum GpuSortBackend
{
	GPUSORT_BACKEND_AUTO, /* the device that is expected to be the cheaper one */
	GPUSORT_BACKEND_CPU,
	GPUSORT_BACKEND_CUDA /* as long as there is one, else the CPU */
} GpuSortBackend;

/* How fixed keys are sorted, by devices that know several ways; the numbers are gpusortd's. */
typedef enum GpuSortAlgorithm
{
	GPUSORT_ALGORITHM_AUTO,
	GPUSORT_ALGORITHM_SAMPLE,
	GPUSORT_ALGORITHM_BUCKET,
	GPUSORT_ALGORITHM_RADIX
} GpuSortAlgorithm;

extern int gpusort_mode;
extern int gpusort_backend;
extern int gpusort_algorithm;
extern int gpusort_min_rows;
extern int gpusort_work_mem; /* kB; -1: work_mem for each process */
extern bool gpusort_create_index;
extern int gpusort_queue_timeout;  /* ms that a sort waits for device memory; -1: no limit */
extern int gpusort_spoiled_images; /* one of so many images of strings is spoiled, for tests; 0: none */

/* What superusers bound these by. */
extern int gpusort_max_work_mem;			 /* kB; -1: no limit */
extern int gpusort_max_queue_timeout;		 /* ms; -1: no limit */
extern int gpusort_max_device_sorts;		 /* of a session, at a time */
extern char *gpusort_max_sort_device_memory; /* as 50%, or with a unit */

/* Are sorts and builds logged that are done in another way than they were begun? */
extern bool gpusort_log_fallbacks;

/* What the launcher starts gpusortd with. */
extern char *gpusort_max_device_memory; /* as 80%, or with a unit */
extern int gpusort_staging_memory;		/* MB */
extern int gpusort_idle_memory;			/* MB */
extern char *gpusort_device_list;		/* as 0,2; empty: all; none: no gpusortd */
extern int gpusort_service_timeout;		/* ms; 0: none */
extern char *gpusort_gpusortd_path;		/* empty: beside the server's programs */
extern char *gpusort_gpusortd_options;

/* What the server keeps of parallel sorts. */
extern int gpusort_max_kept_memory; /* kB; -1: a part of all memory */

/* A setting of that name that another library has defined; NULL: there is none.  Before they are defined. */
extern const char *guc_taken(void);

extern void guc_define_all(void);

/* gpusort.max_device_memory as gpusortd's option takes it, in the current memory context. */
extern char *guc_device_memory_argument(void);

/* Does gpusort.devices say that no device is to be used? */
extern bool guc_no_devices(void);

/*
 * The host memory that one sort may use if so many processes feed it, in bytes: as PostgreSQL's own sorts, of
 * which there is one in each process, unless the sort has a setting of its own.
 */
extern Size guc_sort_memory(int processes);

/* The same of each of so many processes that do sorts of their own at once, of the parts of one input. */
extern Size guc_sort_memory_of_each(int processes);

/* How long a sort may wait for device memory that others have, in milliseconds; -1: no limit. */
extern int guc_queue_timeout(void);

/*
 * The memory that one sort may have of a device of which sorts may use so much together, in bytes; 0: not
 * known.
 */
extern uint64 guc_sort_device_memory(uint64 device_memory);

#endif /* GPUSORT_BASE_GUC_H */
