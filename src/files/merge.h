/*
 * files/merge.h
 *		Merging sorted runs by a loser tree.
 */
#ifndef GPUSORT_FILES_MERGE_H
#define GPUSORT_FILES_MERGE_H

#include "postgres.h"

#include "files/run.h"
#include "key/compare.h"

typedef struct Merger Merger;

/*
 * Merges nruns runs, in CurrentMemoryContext, each read through a buffer of buffer_size bytes.  row_keys: for
 * runs of rows; it must outlive the merger.  comparer: for keys that only guess at the order, else NULL; as
 * long.  guess: it goes by such keys nevertheless, for which they need their images.
 */
extern Merger *merger_begin(Run **runs, int nruns, Size buffer_size, RowKeys *row_keys,
							SortKeyComparer *comparer, bool guess);

/* The reader whose current record is the next one of all, good until the next call; NULL at the end. */
extern const RunReader *merger_next(Merger *merger);

/*
 * Of a merger that guesses: does any run's current record, which is that of merger_next or comes after it,
 * come before this key?  And chooses the next record of all again, from now on by the guesses or by
 * comparisons.
 */
extern bool merger_has_before(const Merger *merger, const uint8 *key, Size key_size);
extern const RunReader *merger_choose_again(Merger *merger, bool guess);

/* How many runs it has, and how many rows these have. */
extern int merger_runs(const Merger *merger);
extern int64 merger_rows(const Merger *merger);

/*
 * Tells where the current record stands, one place for each run; and goes back there, so that this record is
 * the next one.
 */
extern void merger_tell(const Merger *merger, RunPosition *places);
extern void merger_seek(Merger *merger, const RunPosition *places);

/* After merger_seek, before the next record is asked for: leaves out those that come before this key. */
extern void merger_skip(Merger *merger, const KeyStart *first);

/* Drops the runs too. */
extern void merger_end(Merger *merger);

#endif /* GPUSORT_FILES_MERGE_H */
