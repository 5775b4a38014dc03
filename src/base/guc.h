/*
 * base/guc.h
 *		The settings, gpusort.*; docs/settings.md describes them for users.
 */
#ifndef GPUSORT_BASE_GUC_H
#define GPUSORT_BASE_GUC_H

#include "postgres.h"

#include "base/devices.h"

typedef enum GpuSortMode
{
	GPUSORT_MODE_AUTO, /* take sorts for which gpusort is expected to be faster */
	GPUSORT_MODE_OFF,  /* plan as without gpusort */
	GPUSORT_MODE_FORCE /* take every sort that gpusort can do, regardless of size and cost */
} GpuSortMode;

typedef enum GpuSortBackend
{
	GPUSORT_BACKEND_AUTO = -1, /* the device that is expected to be the fastest one */
	GPUSORT_BACKEND_CPU = DEVICE_CPU,
	GPUSORT_BACKEND_CUDA = DEVICE_CUDA /* the GPU if there is one, otherwise the CPU */
} GpuSortBackend;

/* The algorithm for fixed keys, on devices that have several; the numbers are gpusortd's. */
typedef enum GpuSortAlgorithm
{
	GPUSORT_ALGORITHM_AUTO,
	GPUSORT_ALGORITHM_SAMPLE,
	GPUSORT_ALGORITHM_BUCKET,
	GPUSORT_ALGORITHM_RADIX
} GpuSortAlgorithm;

/* Do values of variable width get codes in sort keys? */
typedef enum GpuSortDictionary
{
	GPUSORT_DICTIONARY_AUTO, /* where statistics say that values repeat */
	GPUSORT_DICTIONARY_OFF,
	GPUSORT_DICTIONARY_ON /* wherever it is possible */
} GpuSortDictionary;

extern int gpusort_mode;
extern int gpusort_backend;
extern int gpusort_algorithm;
extern int gpusort_min_rows;
extern int gpusort_work_mem; /* kB; -1: work_mem for each process */
extern bool gpusort_create_index;
extern int gpusort_queue_timeout;  /* ms that a sort waits for device memory; -1: no limit */
extern int gpusort_dictionary;	   /* a GpuSortDictionary */
extern int gpusort_spoiled_images; /* one image of a string in this number is spoiled, for tests; 0: none */

/* The limits that superusers set. */
extern int gpusort_max_work_mem;			 /* kB; -1: no limit */
extern int gpusort_max_queue_timeout;		 /* ms; -1: no limit */
extern int gpusort_max_device_sorts;		 /* simultaneous sorts of a session */
extern char *gpusort_max_sort_device_memory; /* as 50%, or with a unit */

/* Are fallbacks of sorts and builds logged? */
extern bool gpusort_log_fallbacks;

/* The options with which the launcher starts gpusortd. */
extern char *gpusort_max_device_memory; /* as 80%, or with a unit */
extern int gpusort_staging_memory;		/* MB */
extern int gpusort_idle_memory;			/* MB */
extern char *gpusort_device_list;		/* as 0,2; empty: all; none: no gpusortd */
extern int gpusort_service_timeout;		/* ms; 0: none */
extern char *gpusort_gpusortd_path;		/* empty: beside the server's programs */
extern char *gpusort_gpusortd_options;

/* Memory of parallel sorts that the server keeps. */
extern int gpusort_max_kept_memory; /* kB; -1: a part of all memory */

/*
 * Returns the name of a gpusort setting that another library has defined; NULL: there is none.  Call it
 * before guc_define_all.
 */
extern const char *guc_taken(void);

extern void guc_define_all(void);

/* Returns gpusort.max_device_memory in the form of gpusortd's option, in the current memory context. */
extern char *guc_device_memory_argument(void);

/* Does gpusort.devices exclude all devices? */
extern bool guc_no_devices(void);

/*
 * Returns the host memory, in bytes, that one sort may use if `processes` processes feed it.  If
 * gpusort.work_mem is not set, it is the memory of PostgreSQL's sorts, one in each process.
 */
extern Size guc_sort_memory(int processes);

/*
 * Returns the host memory, in bytes, of each of `processes` simultaneous sorts that sort the parts of one
 * input.
 */
extern Size guc_sort_memory_of_each(int processes);

/* Returns the maximum time, in milliseconds, that a sort may wait for device memory; -1: no limit. */
extern int guc_queue_timeout(void);

/*
 * Returns the memory, in bytes, that one sort may use of a device.  device_memory: the memory that all sorts
 * together may use there; 0: not known.
 */
extern uint64 guc_sort_device_memory(uint64 device_memory);

#endif /* GPUSORT_BASE_GUC_H */
