/*
 * wide_gather.h
 *		Gathering keys of 16, 24 or 32 bytes, and their payloads, by row number.
 */
#ifndef DEVSORT_WIDE_GATHER_H
#define DEVSORT_WIDE_GATHER_H

#include "base/status.h"

/*
 * Writes sorted_keys[i] = keys[order[i]] and, unless one of them is NULL, sorted_indexes[i] =
 * indexes[order[i]].  n > 0; order is none of the job's arrays, or sorted_indexes if the job has no indexes.
 */
DevSortStatus wide_gather(const DevSortFixedJob *job, const uint32_t *order, cudaStream_t stream);

#endif /* DEVSORT_WIDE_GATHER_H */
