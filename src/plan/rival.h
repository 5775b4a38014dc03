/*
 * plan/rival.h
 *		PostgreSQL's own path for a sort; a GpuSort must be faster than this path.
 *
 * The rival is a path that sorts, or an index scan that returns the rows in order.
 */
#ifndef GPUSORT_PLAN_RIVAL_H
#define GPUSORT_PLAN_RIVAL_H

#include "postgres.h"

#include "nodes/pathnodes.h"

typedef struct Rival
{
	/* the path that sorts: a Sort, an IncrementalSort, a GatherMerge over one, a MergeAppend */
	const Path *path;
	/* the input of the sort; a partial path for several processes; NULL: path reads an index */
	const Path *input;
	int processes;
	int columns_in_order; /* number of first columns by which the input is in order */
} Rival;

/* Does this path of PostgreSQL get its order from a sort? */
extern bool path_sorts(const Path *path);

/* Does the path, of one process or several, fetch rows of a table in the order of an index? */
extern bool path_fetches_by_index(const Path *path);

/* Returns the path below a projection. */
extern const Path *path_below_projection(const Path *path);

/*
 * Returns the path of rel that PostgreSQL would choose for this fraction of its rows.  sorting_only: consider
 * only paths that sort.  NULL: there is none.
 */
extern const Path *rival_cheapest(const RelOptInfo *rel, double fraction, bool sorting_only);

/* Fills the rival with a path that sorts input_rel's rows, or has them in order by an index. */
extern void rival_describe(const RelOptInfo *input_rel, const Path *path, Rival *rival);

/*
 * Does the rival fetch rows by an index, in order or to sort them by more columns?  Its time then differs
 * from its cost, which depends little on the places of the rows.
 */
extern bool rival_fetches_rows(const Rival *rival);

/*
 * Fills the rival with the path of ordered_rel that PostgreSQL would choose.  False: there is none, or the
 * path neither sorts nor fetches by an index.
 */
extern bool rival_find(const RelOptInfo *input_rel, const RelOptInfo *ordered_rel, double fraction,
					   bool sorting_only, Rival *rival);

/* ---------------------------------------------------------------- plans without a sort */

/* What PostgreSQL does instead of sorting, where gpusort has offered a plan with a sort. */
typedef enum RivalPlan
{
	RIVAL_PLAN_NONE, /* PostgreSQL sorts, or reads an index in order */
	RIVAL_PLAN_WORKERS,
	RIVAL_PLAN_HASHED,
	RIVAL_PLAN_HASH_JOIN,
	RIVAL_PLAN_NESTED_LOOP
} RivalPlan;

/* A plan with a sort that was offered, for a join or for groups. */
typedef struct OfferedPlan
{
	bool is_join;
	double rows;
	double partial_rows; /* of each process, if several processes do it; -1: none */
} OfferedPlan;

/* The plans that were offered while a query was planned, and the memory context of these notes. */
typedef struct OfferedPlans
{
	MemoryContext context;
	List *plans;
} OfferedPlans;

/* From now on planning notes offered plans in `offered`, if it is not NULL. Returns the place before. */
extern OfferedPlans *rival_plan_note_in(OfferedPlans *offered);

/* Are offered plans noted? */
extern bool rival_plan_is_noted(void);

/* Notes that a plan with a sort was offered for a join or groups with this number of rows. */
extern void rival_plan_offered(const RelOptInfo *rel, double rows);

#endif /* GPUSORT_PLAN_RIVAL_H */
