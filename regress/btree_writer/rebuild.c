/*
 * regress/btree_writer/rebuild.c
 *		Builds an index anew, by PostgreSQL's scan and sort and gpusort's page writer, for tests.
 *
 * CREATE FUNCTION rebuild_by_writer(index regclass) RETURNS void LANGUAGE C STRICT AS 'btree_writer';
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"

#include "base/pg_compat.h"
#include "index/btree_writer.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(rebuild_by_writer);

#if PG_VERSION_NUM < 160000
#define RelationSetNewRelfilenumber(index, persistence) RelationSetNewRelfilenode((index), (persistence))
#endif
#if PG_VERSION_NUM < 190000
#define index_build(heap, index, info, is_reindex, parallel, progress) \
	index_build((heap), (index), (info), (is_reindex), (parallel))
#endif

typedef struct Build
{
	Tuplesortstate *sort;
	double tuples;
} Build;

static void
sort_tuple(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool is_alive, void *state)
{
	Build *build = state;

	tuplesort_putindextuplevalues(build->sort, index, tid, values, isnull);
	build->tuples++;
}

/* In place of btbuild(); violations of a unique index are not looked for. */
static IndexBuildResult *
build_by_writer(Relation heap, Relation index, struct IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	Build build = {0};
	BtreeWriter *writer;
	IndexTuple tuple;

	build.sort =
		tuplesort_begin_index_btree(heap, index, false, false, maintenance_work_mem, NULL, TUPLESORT_NONE);
	result->heap_tuples = table_index_build_scan(heap, index, info, true, false, sort_tuple, &build, NULL);
	result->index_tuples = build.tuples;
	tuplesort_performsort(build.sort);

	writer = btree_writer_begin(heap, index);
	while ((tuple = tuplesort_getindextuple(build.sort, true)) != NULL)
		btree_writer_add(writer, tuple);
	btree_writer_finish(writer);
	tuplesort_end(build.sort);
	return result;
}

/* As REINDEX, with another build routine for as long as that takes. */
Datum
rebuild_by_writer(PG_FUNCTION_ARGS)
{
	Oid index_id = PG_GETARG_OID(0);
	Relation heap = table_open(IndexGetRelation(index_id, false), ShareLock);
	Relation index = index_open(index_id, AccessExclusiveLock);
	IndexAmRoutine routine = *index->rd_indam;
	void *original = (void *) index->rd_indam;

	RelationSetNewRelfilenumber(index, index->rd_rel->relpersistence);
	routine.ambuild = build_by_writer;
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
	PG_RETURN_VOID();
}
