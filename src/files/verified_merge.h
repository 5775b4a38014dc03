/*
 * files/verified_merge.h
 *		Merging runs by keys that guess the order, and verifying the order.
 */
#ifndef GPUSORT_FILES_VERIFIED_MERGE_H
#define GPUSORT_FILES_VERIFIED_MERGE_H

#include "postgres.h"

#include "files/merge.h"
#include "monitor/sort_stats.h"

typedef struct VerifiedMerge VerifiedMerge;

/*
 * Makes a verified merge in CurrentMemoryContext from a merger that guesses and has returned nothing yet.
 * The merger's runs must have rows, in the order of the comparer, and keys with images. memory: bytes of
 * memory; single rows that are larger need more. stats counts corrections.
 */
extern VerifiedMerge *verified_merge_create(Merger *merger, SortKeyComparer *comparer, Size memory,
											SorterStats *stats);

/* Returns the next row, valid until the next call, or NULL. Sometimes checks for interrupts. */
extern StoredRow verified_merge_next(VerifiedMerge *merge);

extern void verified_merge_end(VerifiedMerge *merge);

#endif /* GPUSORT_FILES_VERIFIED_MERGE_H */
