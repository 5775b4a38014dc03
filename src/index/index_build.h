/*
 * index/index_build.h
 *		Builds a B-tree with a sort of gpusort.
 */
#ifndef GPUSORT_INDEX_INDEX_BUILD_H
#define GPUSORT_INDEX_INDEX_BUILD_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

/*
 * Does the work of btbuild: with a sort of gpusort if that is possible and expected to be worth it, otherwise
 * by calling btbuild.
 */
extern IndexBuildResult *index_build_btree(Relation heap, Relation index, IndexInfo *info);

#endif /* GPUSORT_INDEX_INDEX_BUILD_H */
