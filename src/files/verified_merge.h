/*
 * files/verified_merge.h
 *		Merging runs by keys that guess at the order, and verifying it.
 */
#ifndef GPUSORT_FILES_VERIFIED_MERGE_H
#define GPUSORT_FILES_VERIFIED_MERGE_H

#include "postgres.h"

#include "files/merge.h"
#include "monitor/sort_stats.h"

typedef struct VerifiedMerge VerifiedMerge;

/*
 * Of a merger that guesses and has returned nothing yet, whose runs are of rows, each in the order that the
 * comparer says, and whose keys have images; in CurrentMemoryContext.  It takes so many bytes of memory, and
 * more for single rows that are larger.  Corrections are counted in stats.
 */
extern VerifiedMerge *verified_merge_create(Merger *merger, SortKeyComparer *comparer, Size memory,
											SorterStats *stats);

/* The next row, good until the next call, or NULL.  Checks for interrupts, now and then. */
extern MinimalTuple verified_merge_next(VerifiedMerge *merge);

extern void verified_merge_end(VerifiedMerge *merge);

#endif /* GPUSORT_FILES_VERIFIED_MERGE_H */
