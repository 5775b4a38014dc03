/*
 * index/build_info.h
 *		What a build's IndexInfo says that the catalogs may not, for the workers.
 */
#ifndef GPUSORT_INDEX_BUILD_INFO_H
#define GPUSORT_INDEX_BUILD_INFO_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/rel.h"

/* In shared memory. */
typedef struct BuildInfo
{
	bool unique;
	bool nulls_not_distinct;
	bool excludes;
	bool concurrent;
} BuildInfo;

/* Of the leader's IndexInfo. */
extern BuildInfo build_info_of(const IndexInfo *info);

/* A worker's IndexInfo that says the same, in CurrentMemoryContext. */
extern IndexInfo *build_info_apply(Relation index, const BuildInfo *shared);

#endif /* GPUSORT_INDEX_BUILD_INFO_H */
