/*
 * index/heap_scan.h
 *		A scan of a heap for a build, a page at a time, by one process or several.
 *
 * The leader sets nblocks before workers start.  A process takes a stretch of blocks by adding to next, so no
 * two processes get the same block. done is only for progress reports.
 */
#ifndef GPUSORT_INDEX_HEAP_SCAN_H
#define GPUSORT_INDEX_HEAP_SCAN_H

#include "postgres.h"

#include "access/tableam.h"
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "storage/block.h"
#include "utils/rel.h"

/* The shared state of the processes of one scan. */
typedef struct HeapScanShare
{
	BlockNumber nblocks;
	pg_atomic_uint64 next; /* the first block that no process has taken yet */
	pg_atomic_uint64 done; /* blocks that have been scanned */
} HeapScanShare;

extern void heap_scan_share_init(HeapScanShare *share, Relation heap);

/* Reports the number of blocks that all processes have scanned. */
extern void heap_scan_report(HeapScanShare *share);

/*
 * Does the work of table_index_build_scan for the stretches of the heap that this process takes. info must
 * not be that of a concurrent build. progress: report the progress of all processes after each stretch of
 * this process.
 */
extern double heap_scan_part(Relation heap, Relation index, IndexInfo *info, HeapScanShare *share,
							 bool progress, IndexBuildCallback callback, void *callback_state);

#endif /* GPUSORT_INDEX_HEAP_SCAN_H */
