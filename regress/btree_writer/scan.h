/*
 * regress/btree_writer/scan.h
 *		An index's tuples in order, by PostgreSQL's own scan and sort.
 */
#ifndef BTREE_WRITER_SCAN_H
#define BTREE_WRITER_SCAN_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"

/* The tuples' sort, to be read with tuplesort_getindextuple() and ended by the caller; counts them. */
extern Tuplesortstate *scan_and_sort(Relation heap, Relation index, IndexInfo *info,
									 IndexBuildResult *result);

#endif /* BTREE_WRITER_SCAN_H */
