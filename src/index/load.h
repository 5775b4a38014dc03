/*
 * index/load.h
 *		Sorted tuples into pages: by one process, or ranges of them by all that have sorted them.
 *
 * The leader begins and finishes (load_alone, load_share_init, load_finish); load_together is called by it
 * and by every worker that has fed.
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

/* What is loaded into which index, by which sort. */
typedef struct Load
{
	Relation heap;
	Relation index;
	IndexInfo *info; /* ii_BrokenHotChain is set if the scan met one */
	SortKey *key;
	Sorter *sorter;
	Progress *progress; /* of the build; NULL: another process reports it */
} Load;

/* The scan is over, and so many tuples are to be loaded: reports that. */
extern void load_report_total(uint64 ntuples);

/* The sorter's next tuple, its tid still marked; NULL: there is none, or the sorter has failed. */
extern IndexTuple load_next_tuple(Sorter *sorter);

/*
 * This process builds the tree of all tuples; first: the one that has been read already, NULL: there is none.
 * Raises an error if the sorter fails, if two tuples break a unique index, or if there were not so many.
 */
extern void load_alone(const Load *load, IndexTuple first, double ntuples);

/* ---------------------------------------------------------------- several processes */

typedef struct LoadShare LoadShare;

/* Bytes of dynamic shared memory for so many processes. */
extern Size load_share_size(int nprocesses);

/* In the first process, before others start. */
extern void load_share_init(LoadShare *share, int nprocesses, dsm_segment *segment);

/*
 * In every process that has fed, after team_finish_feed: loads ranges of the tuples; false: it does not,
 * since the first process loads alone, or enough others load.
 */
extern bool load_together(LoadShare *share, TeamShare *team, dsm_segment *segment, const Load *load);

/* The first process, while others load: reports how far all are. */
extern void load_report(LoadShare *share, Progress *progress);

/* The first process, when all others have ended: completes the tree of so many tuples, or raises an error. */
extern void load_finish(LoadShare *share, const Load *load, double ntuples);

#endif /* GPUSORT_INDEX_LOAD_H */
