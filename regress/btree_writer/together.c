/*
 * regress/btree_writer/together.c
 *		Writes an index by several processes.
 *
 * Each process scans and sorts the whole table, and writes every so many-th of the ranges, which hold the
 * same number of tuples.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"

#include "index/btree_writer.h"

#include "scan.h"
#include "together.h"

#define KEY_TASK UINT64CONST(1)
#define KEY_SHARE UINT64CONST(2)

typedef struct Task
{
	Oid heap;
	Oid index;
	int nranges;
	int nprocesses;
} Task;

extern PGDLLEXPORT void btree_writer_worker(dsm_segment *segment, shm_toc *toc);

/* Process 0 is the leader. */
static IndexBuildResult *
write_ranges(BtreeShare *share, const Task *task, int process, Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	Tuplesortstate *sort = scan_and_sort(heap, index, info, result);
	BtreeWriter *writer = btree_writer_join(share, heap, index, info->ii_Unique);
	uint64 ntuples = result->index_tuples;
	uint64 rank = 0;

	for (int range = 0; range < task->nranges; range++)
	{
		bool is_mine = range % task->nprocesses == process;

		if (is_mine)
			btree_writer_begin_range(writer, range);
		for (; rank < ntuples * (range + 1) / task->nranges; rank++)
		{
			IndexTuple tuple = tuplesort_getindextuple(sort, true);

			if (is_mine)
				btree_writer_add(writer, tuple, false);
		}
		if (is_mine)
			btree_writer_end_range(writer);
	}
	btree_writer_leave(writer);
	tuplesort_end(sort);
	return result;
}

void
btree_writer_worker(dsm_segment *segment, shm_toc *toc)
{
	Task *task = shm_toc_lookup(toc, KEY_TASK, false);
	BtreeShare *share = shm_toc_lookup(toc, KEY_SHARE, false);
	Relation heap = table_open(task->heap, ShareLock);
	Relation index = index_open(task->index, AccessExclusiveLock);

	btree_share_attach(share, segment);
	write_ranges(share, task, 1 + ParallelWorkerNumber, heap, index, BuildIndexInfo(index));
	index_close(index, AccessExclusiveLock);
	table_close(heap, ShareLock);
}

/* Without as many workers as are wanted ranges would be left out. */
static void
launch_all(ParallelContext *context, int nworkers)
{
	LaunchParallelWorkers(context);
	if (context->nworkers_launched != nworkers)
		elog(ERROR, "only %d workers of %d were launched", context->nworkers_launched, nworkers);
}

IndexBuildResult *
build_together(Relation heap, Relation index, IndexInfo *info, int nranges, int nworkers)
{
	Size share_size = btree_share_size(nranges);
	ParallelContext *context;
	IndexBuildResult *result;
	BtreeShare *share;
	Task *task;

	EnterParallelMode();
	context = CreateParallelContext("btree_writer", "btree_writer_worker", nworkers);
	shm_toc_estimate_chunk(&context->estimator, sizeof(Task));
	shm_toc_estimate_chunk(&context->estimator, share_size);
	shm_toc_estimate_keys(&context->estimator, 2);
	InitializeParallelDSM(context);
	task = shm_toc_allocate(context->toc, sizeof(Task));
	share = shm_toc_allocate(context->toc, share_size);
	*task = (Task){RelationGetRelid(heap), RelationGetRelid(index), nranges, 1 + nworkers};
	btree_share_init(share, nranges, context->seg);
	shm_toc_insert(context->toc, KEY_TASK, task);
	shm_toc_insert(context->toc, KEY_SHARE, share);
	launch_all(context, nworkers);

	result = write_ranges(share, task, 0, heap, index, info);
	WaitForParallelWorkersToFinish(context);
	btree_writers_finish(share, heap, index);
	DestroyParallelContext(context);
	ExitParallelMode();
	return result;
}
