/*
 * plan/pathkeys.h
 *		The sort columns that pathkeys come down to.
 */
#ifndef GPUSORT_PLAN_PATHKEYS_H
#define GPUSORT_PLAN_PATHKEYS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "key/sort_key.h"

/*
 * Can the path's rows be sorted by the pathkeys?  Every column that could supply a pathkey must be one that
 * can, since the planner picks one of them later.  Fills columns, one a pathkey.
 */
extern bool pathkeys_supported(List *pathkeys, const Path *input, SortColumnSpec *columns);

#endif /* GPUSORT_PLAN_PATHKEYS_H */
