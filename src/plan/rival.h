/*
 * plan/rival.h
 *		PostgreSQL's own path for a sort, which a GpuSort has to be faster than.
 *
 * That is one which sorts, or an index scan that gives the rows in order.
 */
#ifndef GPUSORT_PLAN_RIVAL_H
#define GPUSORT_PLAN_RIVAL_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/predict.h"

typedef struct Rival
{
	const Path *path;  /* what sorts: a Sort, an IncrementalSort, a GatherMerge over one, a MergeAppend */
	const Path *input; /* what is sorted; of several processes, a partial path; NULL: path reads an index */
	int processes;
	int columns_in_order; /* the input is in order by so many columns */
} Rival;

/* Is it a path of PostgreSQL's that gets its order from a sort? */
extern bool path_sorts(const Path *path);

/* Does the path, of one process or several, fetch rows of a table in the order of an index? */
extern bool path_fetches_by_index(const Path *path);

/* The path that is there but for the output columns. */
extern const Path *path_below_projection(const Path *path);

/*
 * The path of rel that PostgreSQL would choose for so large a part of its rows, of those that sort if
 * sorting_only is set; NULL: there is none.
 */
extern const Path *rival_cheapest(const RelOptInfo *rel, double fraction, bool sorting_only);

/* Fills the rival with a path that sorts input_rel's rows, or has them in order by an index. */
extern void rival_describe(const RelOptInfo *input_rel, const Path *path, Rival *rival);

/*
 * Does it fetch rows by an index, to have them in order or to sort them by more columns?  Its time is another
 * one than its cost says, which knows little of where the rows are.
 */
extern bool rival_fetches_rows(const Rival *rival);

/*
 * Fills it with that path of ordered_rel.  False: there is none, or it neither sorts nor fetches by an index.
 */
extern bool rival_find(const RelOptInfo *input_rel, const RelOptInfo *ordered_rel, double fraction,
					   bool sorting_only, Rival *rival);

#endif /* GPUSORT_PLAN_RIVAL_H */
