/*
 * devsort.h
 *		The public interface of the device library: sorting and gathering in the memory of one CUDA device.
 *
 * A C interface without PostgreSQL in it.  Its users are gpusortd, the checks in cuda/check and the
 * benchmarks in bench/gpu.
 *
 * All functions return a status by value: a code, and for every code except DEVSORT_OK a sentence that says
 * what happened.  Nothing is printed, nothing exits, nothing throws.  Work is queued on the caller's stream
 * and on the current device; where a function waits for the stream, its comment says so.  After a failure the
 * contents of the output and of the workspace are undefined; nothing outside them was written, and nothing
 * was leaked.
 *
 * Memory belongs to the caller.  The *_memory function of every algorithm returns the bytes of workspace that
 * it needs.  The workspace may be used again when the work queued on the stream is done.  Pointers are to
 * device memory and aligned to 16 bytes unless a comment says otherwise.
 *
 * The library is linked statically to the CUDA runtime.  Without a driver or a device the program still
 * loads, and devsort_device_count() says why there is none.
 */
#ifndef DEVSORT_H
#define DEVSORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

/* A cudaStream_t; NULL is the default stream. */
typedef struct CUstream_st *DevSortStream;

typedef enum DevSortCode
{
	DEVSORT_OK = 0,
	DEVSORT_INVALID,	   /* an argument is not as its comment requires; nothing was sorted */
	DEVSORT_NO_DEVICE,	   /* no driver, no device, or a device older than the library supports */
	DEVSORT_OUT_OF_MEMORY, /* the device has no more memory */
	DEVSORT_OVER_BUDGET,   /* the budget has no more memory, although the device may have */
	DEVSORT_DEVICE_FAILED  /* the device reported an error: a launch or an earlier operation failed */
} DevSortCode;

typedef struct DevSortStatus
{
	DevSortCode code;
	char message[248];
} DevSortStatus;

/* ---- devices ---- */

typedef struct DevSortDevice
{
	char name[128];
	int compute_major;
	int compute_minor;
	int multiprocessors;
	size_t memory_bytes;
	size_t free_bytes;	/* now */
	int driver_version; /* as CUDA counts: 12040 is 12.4 */
	int runtime_version;
} DevSortDevice;

/* Returns the number of devices.  DEVSORT_NO_DEVICE, with the reason and *count = 0, if none can be used. */
DevSortStatus devsort_device_count(int *count);

/*
 * Describes a device (numbered from 0); makes a context on it if there is none yet, and leaves the current
 * device as it was.
 */
DevSortStatus devsort_device_describe(int device, DevSortDevice *description);

/* ---- sorting fixed keys ---- */

typedef enum DevSortAlgorithm
{
	DEVSORT_AUTO = 0, /* the fastest one by measurements: sample sort */
	DEVSORT_SAMPLE,	  /* GPU Sample Sort: Leischner, Osipov, Sanders, IPDPS 2010 */
	DEVSORT_BUCKET,	  /* GPU Bucket Sort: Dehne, Zaboli 2010, deterministic */
	DEVSORT_RADIX	  /* CUB's radix sort */
} DevSortAlgorithm;

typedef enum DevSortKeyFormat
{
	DEVSORT_KEY_BYTES = 0, /* byte strings in memcmp order */
	/* native unsigned integers: one of 4 bytes, or of 8 bytes each, most significant first */
	DEVSORT_KEY_WORDS
} DevSortKeyFormat;

/* More rows than this are DEVSORT_INVALID: indexes have 32 bits. */
#define DEVSORT_MAX_ROWS UINT64_C(0xFFFF0000)

/*
 * Called when the work of a named stage begins to be queued, and at the end with NULL.  With events that the
 * callback records, the caller can measure the stages.
 */
typedef struct DevSortStages
{
	void (*begin)(void *arg, const char *stage, DevSortStream stream);
	void *arg;
} DevSortStages;

typedef struct DevSortFixedJob
{
	DevSortAlgorithm algorithm;
	DevSortKeyFormat format;
	int key_bytes;			  /* 4, 8, 16, 24 or 32 */
	uint64_t n;				  /* rows, up to DEVSORT_MAX_ROWS */
	void *keys;				  /* n keys; overwritten */
	void *sorted_keys;		  /* n keys, the result */
	uint32_t *indexes;		  /* n payloads, overwritten; NULL: row i's payload is i */
	uint32_t *sorted_indexes; /* n payloads, the result; NULL: keys alone are sorted */
	uint64_t seed;			  /* of the random sample; any value gives a right result */
	int samples; /* bucket sort: its parameter s, a power of two from 16 to 1024; 0: the tuned one */
	const DevSortStages *stages; /* or NULL */
} DevSortFixedJob;

/*
 * The workspace that devsort_fixed needs for this job.  Depends on algorithm, key_bytes, n, samples and on
 * which of the pointers are NULL.
 */
DevSortStatus devsort_fixed_memory(const DevSortFixedJob *job, size_t *workspace_bytes);

/*
 * Sorts.  Rows with equal keys come in any order.  May wait for the stream.
 */
DevSortStatus devsort_fixed(const DevSortFixedJob *job, void *workspace, size_t workspace_bytes,
							DevSortStream stream);

/* ---- sorting strings ---- */

typedef struct DevSortStringsJob
{
	DevSortAlgorithm algorithm; /* of the rounds' sorts */
	uint64_t n;					/* strings, up to DEVSORT_MAX_ROWS */
	/* any alignment; readable up to the next multiple of 8 bytes after the last string */
	const uint8_t *bytes;
	/* n + 1: string i is bytes[offsets[i]] up to, not including, bytes[offsets[i + 1]] */
	const uint64_t *offsets;
	uint32_t *sorted_indexes; /* n, the result: which string comes first, second, ... */
	uint64_t seed;
	int *rounds;				 /* host memory, the result: sorts that were needed, maybe none; or NULL */
	const DevSortStages *stages; /* or NULL */
} DevSortStringsJob;

/*
 * Depends on algorithm and n: about 37 bytes for each string, and the workspace of the rounds' sorts.
 */
DevSortStatus devsort_strings_memory(const DevSortStringsJob *job, size_t *workspace_bytes);

/*
 * Sorts byte strings by memcmp order, a string before its continuations (Deshpande, Narayanan, segment-id
 * radix sort).  Equal strings come in any order.  Waits for the stream in every round.  Strings of 2^32 -
 * 65536 bytes and more are DEVSORT_INVALID.
 */
DevSortStatus devsort_strings(const DevSortStringsJob *job, void *workspace, size_t workspace_bytes,
							  DevSortStream stream);

/* ---- gathering rows ---- */

/*
 * n rows of any length that is a multiple of 8 bytes stand in one buffer: row i is rows[offsets[i]] up to
 * rows[offsets[i + 1]].  The result is the same rows in the order of `order`, one after the other, taken
 * window by window.
 */
typedef struct DevSortRowsJob
{
	uint64_t n;
	const uint8_t *rows;	  /* 8-byte aligned */
	const uint64_t *offsets;  /* n + 1 */
	const uint32_t *order;	  /* n row numbers */
	uint64_t *sorted_offsets; /* n + 1, written by devsort_rows_plan: where each row of the result begins */
} DevSortRowsJob;

DevSortStatus devsort_rows_memory(const DevSortRowsJob *job, size_t *workspace_bytes);

/* Fills sorted_offsets. */
DevSortStatus devsort_rows_plan(const DevSortRowsJob *job, void *workspace, size_t workspace_bytes,
								DevSortStream stream);

/*
 * Writes rows first .. first + count - 1 of the result to window, one after the other.  After
 * devsort_rows_plan.
 */
DevSortStatus devsort_rows_gather(const DevSortRowsJob *job, uint64_t first, uint64_t count, uint8_t *window,
								  DevSortStream stream);

/* ---- memory that grows ---- */

/*
 * The limit of device memory of a group of buffers; zero-initialise `used`.  Only one thread may use it at a
 * time.
 */
typedef struct DevSortBudget
{
	size_t limit;
	size_t used;
} DevSortBudget;

/* A buffer that grows without moving. */
typedef struct DevSortBuffer DevSortBuffer;

/* Reserves addresses, but no memory, for a buffer of up to max_bytes on the current device. */
DevSortStatus devsort_buffer_create(DevSortBudget *budget, size_t max_bytes, DevSortBuffer **buffer);

/*
 * Makes `bytes` bytes of the buffer usable, rounded up to the device's granularity; fewer than there are
 * change nothing.  Its content stays at its address.  After DEVSORT_OVER_BUDGET or DEVSORT_OUT_OF_MEMORY the
 * buffer is unchanged; the message has the requested and the available bytes.
 */
DevSortStatus devsort_buffer_grow(DevSortBuffer *buffer, size_t bytes);

void *devsort_buffer_address(const DevSortBuffer *buffer);

/*
 * Returns the buffer's memory to the device and to the budget.  Work that uses the buffer must be done.  NULL
 * is allowed.
 */
void devsort_buffer_destroy(DevSortBuffer *buffer);

#ifdef __cplusplus
}
#endif

#endif /* DEVSORT_H */
