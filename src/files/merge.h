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
 * runs of rows. comparer: for keys that only guess the order, otherwise NULL.  Both must outlive the merger.
 * guess: merge by such keys without comparisons; the keys then need their images.
 */
extern Merger *merger_begin(Run **runs, int nruns, Size buffer_size, RowKeys *row_keys,
							SortKeyComparer *comparer, bool guess);

/*
 * Returns the reader whose current record is the next record of the merge, valid until the next call; NULL at
 * the end.
 */
extern const RunReader *merger_next(Merger *merger);

/*
 * For a merger that guesses.  merger_has_before: is any run's current record before this key?  The current
 * records are the record of merger_next and later ones.  merger_choose_again: chooses the next record again,
 * from now on by guesses or by comparisons.
 */
extern bool merger_has_before(const Merger *merger, const uint8 *key, Size key_size);
extern const RunReader *merger_choose_again(Merger *merger, bool guess);

/* The number of runs, and the number of their rows. */
extern int merger_runs(const Merger *merger);
extern int64 merger_rows(const Merger *merger);

/*
 * merger_tell: returns the position of the current record, one for each run.  merger_seek: goes back to such
 * a position, and its record is the next one.
 */
extern void merger_tell(const Merger *merger, RunPosition *positions);
extern void merger_seek(Merger *merger, const RunPosition *positions);

/* After merger_seek, before the next record is fetched: skips records before this key. */
extern void merger_skip(Merger *merger, const KeyStart *first);

/* Drops the runs too. */
extern void merger_end(Merger *merger);

#endif /* GPUSORT_FILES_MERGE_H */
