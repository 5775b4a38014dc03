/*
 * verify.h
 *		Checking results on the device.
 */
#ifndef GPUBENCH_VERIFY_H
#define GPUBENCH_VERIFY_H

#include "gpu/contenders/contenders.h"

/* A sum over the keys that does not depend on their order. */
DevSortStatus verify_checksum(const KeyType *type, const void *keys, uint64_t n, uint64_t *checksum,
							  cudaStream_t stream);

/* Scratch that verify_sorted needs. */
size_t verify_scratch_bytes(uint64_t n);

/*
 * Are the result's keys in order, and the input's?  With values: is each row of the input there once, with
 * its key?  DEVSORT_DEVICE_FAILED, saying what is wrong, if not.  Waits for the stream.
 */
DevSortStatus verify_sorted(const SortArrays *result, const void *input_keys, uint64_t input_checksum,
							void *scratch, cudaStream_t stream);

/* Makes finite floats of integer keys, in the same order, and row numbers. */
DevSortStatus make_floats(void *keys, uint64_t n, cudaStream_t stream);
DevSortStatus make_row_numbers(uint32_t *values, uint64_t n, cudaStream_t stream);

/* Scatters 0 .. n - 1: a random permutation. */
DevSortStatus make_permutation(uint32_t *values, uint64_t n, uint64_t seed, cudaStream_t stream);

#endif /* GPUBENCH_VERIFY_H */
