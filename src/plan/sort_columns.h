/*
 * plan/sort_columns.h
 *		Which columns of a node's output are the columns of the sort below it.
 */
#ifndef GPUSORT_PLAN_SORT_COLUMNS_H
#define GPUSORT_PLAN_SORT_COLUMNS_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "key/types.h"
#include "plan/window_plan.h"

/* Returns the column of the sort's input that this column of its output is; 0: it is another expression. */
extern AttrNumber sort_input_column(const Plan *sort, AttrNumber output);

/*
 * Returns the number of first columns of the sort that form these groups of its output; -1: no first columns
 * do.  order: the sort's other columns must be among these; NULL: they may be any.
 */
extern int sort_columns_of_groups(const Plan *sort, const WindowColumns *groups, const WindowColumns *order);

/*
 * Returns the collation to sort a column by where equal values must come together in whatever order: strings
 * that a deterministic collation calls equal have the same bytes, which are compared faster.  One that
 * compares bytes stays as it is.
 */
extern Oid sort_collation_of_groups(Oid opfamily, Oid collation);

/* Does a sort by this column bring together the values that are equal by this operator in this collation? */
extern bool sort_brings_together(const SortColumnSpec *column, Oid equality, Oid collation);

#endif /* GPUSORT_PLAN_SORT_COLUMNS_H */
