/*
 * strings.h
 *		Looking at sorted strings on the device: are they in order, how long are their ties?
 */
#ifndef GPUBENCH_STRINGS_CHECK_H
#define GPUBENCH_STRINGS_CHECK_H

#include "gpu/contenders/strings.h"

/* Of the common prefixes of neighbours in sorted order, in bytes. */
typedef struct TieLengths
{
	double average;
	double deviation;
	uint64_t longest;
} TieLengths;

size_t strings_check_scratch_bytes(uint64_t n);

/*
 * Are the indexes each string once, in order?  DEVSORT_DEVICE_FAILED, saying what is wrong, if not.  Also
 * measures the ties.  Waits for the stream.
 */
DevSortStatus strings_check(const DeviceStrings *strings, const uint32_t *indexes, void *scratch,
							TieLengths *ties, cudaStream_t stream);

#endif /* GPUBENCH_STRINGS_CHECK_H */
