/*
 * plan/shape.h
 *		The shape of a sort, from which its time is predicted, by its columns and their statistics.
 */
#ifndef GPUSORT_PLAN_SHAPE_H
#define GPUSORT_PLAN_SHAPE_H

#include "postgres.h"

#include "base/declined.h"
#include "key/types.h"
#include "plan/column_stats.h"
#include "plan/sort_shape.h"

/*
 * Fills the fields that depend on the sort columns and not on the rows: keys (palloc'd) and their bytes.
 * Other fields get PostgreSQL's defaults: one process, work_mem, all rows.  False: a column cannot be encoded
 * (*why_not), so the shape is valid only for PostgreSQL's sort.
 */
extern bool shape_init(SortShape *shape, int ncolumns, const SortColumnSpec *columns,
					   const ColumnStats *stats, Declined *why_not);

/*
 * Fills the other fields that depend on the rows; the number of rows must be set.  row_columns: the number of
 * columns of a row.  table_order: the rows are in the order of their table. first: statistics of the first
 * sort column.
 */
extern void shape_set_rows(SortShape *shape, int row_columns, const SortColumnSpec *columns,
						   const ColumnStats *first, bool table_order);

/* Returns the number of groups of rows that are already in order by their first columns. */
extern double shape_groups(const SortShape *shape, int columns_in_order);

/*
 * Returns the shape of a GpuSort of the same rows: another setting limits its memory, and several processes
 * keep no order.
 */
extern SortShape shape_for_gpusort(const SortShape *shape);

/*
 * Fills the shape of a sort of `rows` rows of a finished plan, below these ancestors.  For a Sort it is the
 * sort of each process; for a GpuSort it is the sort that all processes feed.  False: no GpuSort can do it,
 * and *why_not says why.
 */
extern bool shape_of_plan(SortShape *shape, const PlannedStmt *stmt, const Plan *sort, List *ancestors,
						  double rows, Declined *why_not);

#endif /* GPUSORT_PLAN_SHAPE_H */
