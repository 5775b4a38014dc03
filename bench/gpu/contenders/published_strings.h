/*
 * published_strings.h
 *		The string sort of Deshpande, Narayanan, Can GPUs Sort Strings Efficiently?, as it was published.
 *
 * The device library's sort without what the paper does not have: codes for characters, depths of segments,
 * finishing.  Different from the paper: strings have offsets and may hold any byte, so keys say where a
 * string ends (published_key.h); equal strings leave together; segment numbers are fitted by the bit.
 */
#ifndef GPUBENCH_PUBLISHED_STRINGS_H
#define GPUBENCH_PUBLISHED_STRINGS_H

#include "base/status.h"
#include "devsort.h"

/* The optimisations of section III that are left out. */
typedef struct PublishedSwitches
{
	bool keep_singletons;	/* strings that have found their place go on (III.A) */
	bool fixed_segment_ids; /* segment ids of 32 bits, not of as few as they need (III.B) */
} PublishedSwitches;

/* Workspace for published_strings_sort. */
size_t published_strings_memory(const DevSortStringsJob *job);

/* As devsort_strings, but that strings may be of any length.  All arguments must be right. */
DevSortStatus published_strings_sort(const DevSortStringsJob *job, PublishedSwitches switches,
									 void *workspace, cudaStream_t stream);

#endif /* GPUBENCH_PUBLISHED_STRINGS_H */
