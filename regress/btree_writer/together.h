/*
 * regress/btree_writer/together.h
 *		Writes an index by several processes.
 */
#ifndef BTREE_WRITER_TOGETHER_H
#define BTREE_WRITER_TOGETHER_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

extern IndexBuildResult *build_together(Relation heap, Relation index, IndexInfo *info, int nranges,
										int nworkers);

#endif /* BTREE_WRITER_TOGETHER_H */
