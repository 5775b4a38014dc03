/*
 * files/merged_rows.h
 *		The rows of a sort's last merge, as they are asked for.
 */
#ifndef GPUSORT_FILES_MERGED_ROWS_H
#define GPUSORT_FILES_MERGED_ROWS_H

#include "postgres.h"

#include "files/verified_merge.h"
#include "key/key_row.h"
#include "monitor/sort_stats.h"

typedef struct MergedRows MergedRows;

/*
 * The rows that a merger gives, which has given none yet and is theirs from now on; in CurrentMemoryContext,
 * which is used for all that they allocate later on.  verified: gives them instead, read once and forwards,
 * and is theirs too; or NULL.  key_row: makes rows of runs of keys, NULL: there are none.  random_access:
 * they may be read backwards and again.  stats: where they count the bytes that they write, and the time.
 */
extern MergedRows *merged_rows_create(Merger *merger, VerifiedMerge *verified, KeyRow *key_row,
									  bool random_access, SorterStats *stats);

/* Bytes of memory that they take with random access to so many runs, besides the merger. */
extern Size merged_rows_memory(int nruns);

/* The next row or NULL; backwards only with random access.  Good until the next call. */
extern MinimalTuple merged_rows_next(MergedRows *rows, bool forward);

/* With random access: back before the first row; remember the position; go back to it. */
extern void merged_rows_rewind(MergedRows *rows);
extern void merged_rows_mark(MergedRows *rows);
extern void merged_rows_restore(MergedRows *rows);

/* Ends the merger and drops its runs. */
extern void merged_rows_end(MergedRows *rows);

#endif /* GPUSORT_FILES_MERGED_ROWS_H */
