/*
 * index/load.h
 *		Sorted tuples into pages: by one process, or ranges of them by all that have sorted them.
 *
 * The leader begins, decides and finishes (load_alone, load_share_init, load_finish); load_together is called
 * by it and by every worker that has fed.
 */
#ifndef GPUSORT_INDEX_LOAD_H
#define GPUSORT_INDEX_LOAD_H

#include "postgres.h"

#include "access/itup.h"
#include "nodes/execnodes.h"
#include "storage/dsm.h"
#include "utils/rel.h"

#include "device/sorter.h"
#include "index/btree_writer.h"
#include "monitor/progress.h"

/* What is loaded into which index. */
typedef struct Load
{
	Relation heap;
	Relation index;
	IndexInfo *info;
	Sorter *sorter;
	Progress *progress; /* of the build; NULL: another process reports it */
} Load;

/* The scan is over, and so many tuples are to be loaded: reports that. */
extern void load_report_total(uint64 ntuples);

/* The sorter's next tuple, its tid still marked; NULL: there is none, or the sorter has failed. */
extern IndexTuple load_next_tuple(Sorter *sorter);

/*
 * This process builds the tree of all tuples; first: the one that has been read already, NULL: there is none.
 * Returns how many there were; raises an error if the sorter fails, or two tuples break a unique index.
 */
extern uint64 load_alone(const Load *load, IndexTuple first);

/* ---------------------------------------------------------------- several processes */

typedef struct LoadShare LoadShare;

/* Bytes of dynamic shared memory for so many processes. */
extern Size load_share_size(int nprocesses);

/* In the first process, before others start. */
extern void load_share_init(LoadShare *share, int nprocesses, dsm_segment *segment);

/*
 * In every process that has fed and sorted, the first one included, after finish_feed: loads ranges of the
 * tuples, if the first process finds that they can be loaded so; false: they are not.  may_load: nothing else
 * is to come; of the first process, and without meaning for the others.
 */
extern bool load_together(LoadShare *share, dsm_segment *segment, const Load *load, bool is_first,
						  bool may_load);

/* The first process, while others load: reports how far all are. */
extern void load_report(LoadShare *share, Progress *progress);

/*
 * The first process, when all others have ended: completes the tree.  Returns how many tuples it has;
 * *nloaders: the processes that loaded them.
 */
extern uint64 load_finish(LoadShare *share, const Load *load, int *nloaders);

#endif /* GPUSORT_INDEX_LOAD_H */
