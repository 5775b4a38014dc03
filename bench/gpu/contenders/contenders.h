/*
 * contenders.h
 *		The sorts that are compared, behind one interface: the device library's and the libraries'.
 *
 * A contender sorts the arrays it is given and says where the result lies: sorts that work in place leave it
 * in the input.  All memory is the caller's.
 */
#ifndef GPUBENCH_CONTENDERS_H
#define GPUBENCH_CONTENDERS_H

#include "base/status.h"
#include "devsort.h"

/* Keys are native words, most significant first; floats are floats. */
typedef struct KeyType
{
	const char *name;
	int key_bytes;
	int value_bytes; /* 0 or 4 */
	bool floats;
} KeyType;

typedef struct SortArrays
{
	const KeyType *type;
	uint64_t n;
	void *keys;
	uint32_t *values; /* NULL, as sorted_values, if keys alone are sorted */
	void *sorted_keys;
	uint32_t *sorted_values;
	void *workspace;
	size_t workspace_bytes;
	uint64_t seed;
	int samples; /* bucket sort's s, or 0 */
	const DevSortStages *stages;
	const void *result_keys; /* set by the sort */
	const uint32_t *result_values;
} SortArrays;

typedef struct Contender
{
	const char *name;
	bool in_place; /* needs no arrays for the result */
	DevSortStatus (*memory)(const SortArrays *arrays, size_t *workspace_bytes);
	DevSortStatus (*sort)(SortArrays *arrays, cudaStream_t stream);
} Contender;

/* The device library's. */
extern const Contender contender_sample;
extern const Contender contender_sample_numbering; /* values are row numbers that it makes itself */
extern const Contender contender_bucket;

/* The libraries'.  The wide ones take keys of 16, 24 and 32 bytes. */
extern const Contender contender_cub_radix;
extern const Contender contender_cub_radix_double_buffer;
extern const Contender contender_cub_merge;
extern const Contender contender_thrust_merge; /* (4-byte key, value) pairs */
extern const Contender contender_thrust_sort;  /* 4-byte keys alone */
extern const Contender contender_cub_radix_wide;
extern const Contender contender_cub_merge_wide;

/* Arrays of n entries as *_memory functions want them: pointers that are not NULL, but lead nowhere. */
SortArrays sort_arrays_measure(const KeyType *type, uint64_t n);

/* Keys, values, results and workspace: all that this sort of n rows needs.  0 if it cannot say. */
size_t contender_total_bytes(const Contender *contender, const KeyType *type, uint64_t n);

/* A key of several words, the most significant first, as the libraries are given it. */
template <int words>
struct WideKey
{
	uint64_t word[words];
};

#endif /* GPUBENCH_CONTENDERS_H */
