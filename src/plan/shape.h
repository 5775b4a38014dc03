/*
 * plan/shape.h
 *		The shape of a sort, as its time is predicted from, by its columns and their statistics.
 */
#ifndef GPUSORT_PLAN_SHAPE_H
#define GPUSORT_PLAN_SHAPE_H

#include "postgres.h"

#include "key/sort_key.h"
#include "plan/column_stats.h"
#include "plan/predict.h"

/*
 * Fills what depends on the sort columns, whatever the rows: keys (palloc'd) and their bytes.  All else is
 * PostgreSQL's defaults: one process, work_mem, all rows.  False: one of the columns can't be encoded
 * (*why_not), so that the shape is good for PostgreSQL's sort alone.
 */
extern bool shape_init(SortShape *shape, int ncolumns, const SortColumnSpec *columns,
					   const ColumnStats *stats, Declined *why_not);

/*
 * Fills what else depends on the rows, of which the number is set: of so many columns, in the order of their
 * table if table_order is set; first: statistics of the first sort column.
 */
extern void shape_set_rows(SortShape *shape, int row_columns, const SortColumnSpec *columns,
						   const ColumnStats *first, bool table_order);

/* How many groups the rows come in, if they are in order by their first columns already. */
extern double shape_groups(const SortShape *shape, int columns_in_order);

/* Of a GpuSort of the same rows: the memory is another setting's, and several processes keep no order. */
extern SortShape shape_for_gpusort(const SortShape *shape);

/* How many rows of a sort of a finished plan are wanted; -1: all. */
extern double shape_rows_wanted(List *ancestors);

/*
 * The shape of a sort of a finished plan, below these ancestors, as each process does it; of a GpuSort as all
 * that feed it do.  False: no GpuSort can do it, and *why_not says why.
 */
extern bool shape_of_plan(SortShape *shape, const PlannedStmt *stmt, const Plan *sort, List *ancestors,
						  Declined *why_not);

/* Do the settings let sorts go to the GPU now, and, where they leave the choice, is there one? */
extern bool sort_may_use_gpu(void);

#endif /* GPUSORT_PLAN_SHAPE_H */
