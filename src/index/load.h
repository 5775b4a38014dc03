/*
 * index/load.h
 *		Loads sorted tuples into pages: one process loads all, or all processes that have sorted load ranges.
 *
 * The leader begins and finishes (load_alone, load_share_init, load_finish).  The leader and every worker
 * that has fed call load_together.
 */
#ifndef GPUSORT_INDEX_LOAD_H
#define GPUSORT_INDEX_LOAD_H

#include "postgres.h"

#include "access/itup.h"
#include "nodes/execnodes.h"
#include "storage/dsm.h"
#include "utils/rel.h"

#include "device/sorter.h"
#include "exec/team.h"
#include "index/btree_writer.h"
#include "key/sort_key.h"
#include "monitor/progress.h"

/* The index that is loaded, and its sort. */
typedef struct Load
{
	Relation heap;
	Relation index;
	IndexInfo *info; /* ii_BrokenHotChain is set if the scan met a broken HOT chain */
	SortKey *key;
	Sorter *sorter;
	Progress *progress; /* progress of the build; NULL: another process reports it */
} Load;

/* Reports that the scan is over, and that ntuples tuples will be loaded. */
extern void load_report_total(uint64 ntuples);

/*
 * Returns the sorter's next tuple, with a marked tid; NULL: there are no more tuples, or the sorter has
 * failed.
 */
extern IndexTuple load_next_tuple(Sorter *sorter);

/*
 * Builds the tree of all tuples in this process. first: the first tuple, which has already been read; NULL:
 * there are no tuples.  Raises an error if the sorter fails, if two tuples violate a unique index, or if the
 * number of tuples is not ntuples.
 */
extern void load_alone(const Load *load, IndexTuple first, double ntuples);

/* ---------------------------------------------------------------- several processes */

typedef struct LoadShare LoadShare;

/* Returns the bytes of dynamic shared memory for nprocesses processes. */
extern Size load_share_size(int nprocesses);

/* Call this in the first process, before others start. */
extern void load_share_init(LoadShare *share, int nprocesses, dsm_segment *segment);

/*
 * In every process that has fed, after team_finish_feed: loads ranges of the tuples.  False: this process
 * does not load, because the first process loads alone, or enough other processes load.
 */
extern bool load_together(LoadShare *share, TeamShare *team, dsm_segment *segment, const Load *load);

/* In the first process, while others load: reports the progress of all processes. */
extern void load_report(LoadShare *share, Progress *progress);

/*
 * In the first process, when all others have ended: completes the tree of ntuples tuples, or raises an error.
 */
extern void load_finish(LoadShare *share, const Load *load, double ntuples);

#endif /* GPUSORT_INDEX_LOAD_H */
