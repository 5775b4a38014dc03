/*
 * index/index_build.h
 *		Builds a B-tree by a sort of ours.
 */
#ifndef GPUSORT_INDEX_INDEX_BUILD_H
#define GPUSORT_INDEX_INDEX_BUILD_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

/*
 * What btbuild does, by a sort of ours if that is possible and expected to be worth it, else by btbuild
 * itself.
 */
extern IndexBuildResult *index_build_btree(Relation heap, Relation index, IndexInfo *info);

#endif /* GPUSORT_INDEX_INDEX_BUILD_H */
