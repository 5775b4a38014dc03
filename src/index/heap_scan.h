/*
 * index/heap_scan.h
 *		A scan of a heap for a build, a page at a time, by one process or several.
 *
 * The leader sets nblocks before workers start.  Stretches of blocks are taken by adding to next, so no two
 * processes get the same block; done is for reports of progress alone.
 */
#ifndef GPUSORT_INDEX_HEAP_SCAN_H
#define GPUSORT_INDEX_HEAP_SCAN_H

#include "postgres.h"

#include "access/tableam.h"
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "storage/block.h"
#include "utils/rel.h"

/* What the processes of one scan share, in memory of their own. */
typedef struct HeapScanShare
{
	BlockNumber nblocks;
	pg_atomic_uint64 next; /* the first block that nobody has taken yet */
	pg_atomic_uint64 done; /* blocks that have been scanned */
} HeapScanShare;

extern void heap_scan_share_init(HeapScanShare *share, Relation heap);

/* Reports how many blocks all processes have scanned. */
extern void heap_scan_report(HeapScanShare *share);

/*
 * Does what table_index_build_scan does, for the parts of the heap that this process gets to take; info must
 * not be that of a concurrent build.  progress: report how far all processes are, after each stretch of this
 * one.
 */
extern double heap_scan_part(Relation heap, Relation index, IndexInfo *info, HeapScanShare *share,
							 bool progress, IndexBuildCallback callback, void *callback_state);

#endif /* GPUSORT_INDEX_HEAP_SCAN_H */
