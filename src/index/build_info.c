/*
 * index/build_info.c
 *		What a build's IndexInfo says that the catalogs may not, for the workers.
 *
 * PostgreSQL makes an IndexInfo of the catalogs and then changes some of it: VACUUM FULL and CLUSTER rebuild
 * unique indexes, and those of exclusion constraints, without checking them, for an invalid one may break its
 * constraint.  A worker can only make an IndexInfo of the catalogs, and takes these from the leader's.  The
 * columns, expressions and predicate are the catalogs' in either.
 */
#include "postgres.h"

#include "catalog/index.h"

#include "index/build_info.h"

BuildInfo
build_info_of(const IndexInfo *info)
{
	return (BuildInfo){
		.unique = info->ii_Unique,
		.nulls_not_distinct = info->ii_NullsNotDistinct,
		.excludes = info->ii_ExclusionOps != NULL,
		.concurrent = info->ii_Concurrent,
	};
}

IndexInfo *
build_info_apply(Relation index, const BuildInfo *shared)
{
	IndexInfo *info = BuildIndexInfo(index);

	info->ii_Unique = shared->unique;
	info->ii_NullsNotDistinct = shared->nulls_not_distinct;
	info->ii_Concurrent = shared->concurrent;
	if (!shared->excludes)
	{
		info->ii_ExclusionOps = NULL;
		info->ii_ExclusionProcs = NULL;
		info->ii_ExclusionStrats = NULL;
	}
	return info;
}
