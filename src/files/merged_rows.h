/*
 * files/merged_rows.h
 *		The rows of a sort's last merge, merged when they are fetched.
 */
#ifndef GPUSORT_FILES_MERGED_ROWS_H
#define GPUSORT_FILES_MERGED_ROWS_H

#include "postgres.h"

#include "files/verified_merge.h"
#include "key/types.h"
#include "monitor/sort_stats.h"

typedef struct MergedRows MergedRows;

/*
 * Returns the rows of a merger that has returned none yet, in CurrentMemoryContext; all later allocations are
 * there too.  The merger belongs to the result from now on. verified: if not NULL, it returns the rows
 * instead, once and forwards, and also belongs to the result.  key_row: restores rows from runs of keys;
 * NULL: there are no such runs.  random_access: the rows may be read backwards and again. stats: counts the
 * bytes written, and the time.
 */
extern MergedRows *merged_rows_create(Merger *merger, VerifiedMerge *verified, KeyRow *key_row,
									  bool random_access, SorterStats *stats);

/* Returns the bytes of memory for random access to nruns runs, in addition to the merger. */
extern Size merged_rows_memory(int nruns);

/* Returns the next row or NULL; backwards only with random access.  The row is valid until the next call. */
extern StoredRow merged_rows_next(MergedRows *rows, bool forward);

/* With random access: back before the first row; remember the position; go back to it. */
extern void merged_rows_rewind(MergedRows *rows);
extern void merged_rows_mark(MergedRows *rows);
extern void merged_rows_restore(MergedRows *rows);

/* Ends the merger and drops its runs. */
extern void merged_rows_end(MergedRows *rows);

#endif /* GPUSORT_FILES_MERGED_ROWS_H */
