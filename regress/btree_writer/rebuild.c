/*
 * regress/btree_writer/rebuild.c
 *		Builds an index anew, by PostgreSQL's scan and sort and gpusort's page writer, for tests.
 *
 * CREATE FUNCTION rebuild_by_writer(index regclass) RETURNS void LANGUAGE C STRICT AS 'btree_writer'; CREATE
 * FUNCTION rebuild_by_writers(index regclass, nranges int, nworkers int) RETURNS void LANGUAGE C STRICT
 *		AS 'btree_writer';
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/table.h"
#include "catalog/index.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/pg_compat.h"
#include "index/btree_writer.h"

#include "scan.h"
#include "together.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(rebuild_by_writer);
PG_FUNCTION_INFO_V1(rebuild_after_checkpoint);
PG_FUNCTION_INFO_V1(rebuild_by_writers);

#if PG_VERSION_NUM < 160000
#define RelationSetNewRelfilenumber(index, persistence) RelationSetNewRelfilenode((index), (persistence))
#endif
#if PG_VERSION_NUM < 190000
#define index_build(heap, index, info, is_reindex, parallel, progress) \
	index_build((heap), (index), (info), (is_reindex), (parallel))
#endif

/* Bytes that a writer may have at its end, of its levels and what belongs to them. */
#define WRITERS_MEMORY ((Size) 256 * 1024)

/* For the build that is under way. */
static int build_nranges;
static int build_nworkers;

/* Writes all tuples; the memory that this takes does not grow with them. */
static void
write_tuples(BtreeWriter *writer, Tuplesortstate *sort)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "btree_writer", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	IndexTuple tuple;

	while ((tuple = tuplesort_getindextuple(sort, true)) != NULL)
		btree_writer_add(writer, tuple, false);
	btree_writer_finish(writer);
	MemoryContextSwitchTo(old);
	if (MemoryContextMemAllocated(context, true) > WRITERS_MEMORY)
		elog(ERROR, "writing an index has left %zu bytes", (Size) MemoryContextMemAllocated(context, true));
	MemoryContextDelete(context);
}

/* In place of btbuild(). */
static IndexBuildResult *
build_alone(Relation heap, Relation index, struct IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	Tuplesortstate *sort = scan_and_sort(heap, index, info, result);
	BtreeWriter *writer = btree_writer_begin(heap, index, info->ii_Unique);

	write_tuples(writer, sort);
	tuplesort_end(sort);
	return result;
}

/*
 * PostgreSQL has the next checkpoint sync a file that it makes: this has done so when the first page is
 * written.
 */
static IndexBuildResult *
build_after_checkpoint(Relation heap, Relation index, struct IndexInfo *info)
{
	SPI_connect();
	SPI_execute("CHECKPOINT", false, 0);
	SPI_finish();
	return build_alone(heap, index, info);
}

static IndexBuildResult *
build_with_others(Relation heap, Relation index, struct IndexInfo *info)
{
	return build_together(heap, index, info, build_nranges, build_nworkers);
}

/* As REINDEX, with another build routine for as long as that takes. */
static void
rebuild(Oid index_id, ambuild_function ambuild)
{
	Relation heap = table_open(IndexGetRelation(index_id, false), ShareLock);
	Relation index = index_open(index_id, AccessExclusiveLock);
	IndexAmRoutine routine = *index->rd_indam;
	void *original = (void *) index->rd_indam;

	RelationSetNewRelfilenumber(index, index->rd_rel->relpersistence);
	routine.ambuild = ambuild;
	index->rd_indam = &routine;
	PG_TRY();
	{
		index_build(heap, index, BuildIndexInfo(index), true, false, false);
	}
	PG_FINALLY();
	{
		index->rd_indam = original;
	}
	PG_END_TRY();
	index_close(index, NoLock);
	table_close(heap, NoLock);
}

Datum
rebuild_by_writer(PG_FUNCTION_ARGS)
{
	rebuild(PG_GETARG_OID(0), build_alone);
	PG_RETURN_VOID();
}

Datum
rebuild_after_checkpoint(PG_FUNCTION_ARGS)
{
	rebuild(PG_GETARG_OID(0), build_after_checkpoint);
	PG_RETURN_VOID();
}

/* By so many ranges, and so many workers besides this process. */
Datum
rebuild_by_writers(PG_FUNCTION_ARGS)
{
	build_nranges = PG_GETARG_INT32(1);
	build_nworkers = PG_GETARG_INT32(2);
	rebuild(PG_GETARG_OID(0), build_with_others);
	PG_RETURN_VOID();
}
