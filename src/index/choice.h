/*
 * index/choice.h
 *		The index builds that gpusort takes.
 */
#ifndef GPUSORT_INDEX_CHOICE_H
#define GPUSORT_INDEX_CHOICE_H

#include "postgres.h"

#include "nodes/nodes.h"
#include "utils/rel.h"

#include "base/declined.h"

/* Does gpusort take index builds at all?  If not, *why_not says why. */
extern bool index_builds_are_on(Declined *why_not);

/* Does gpusort build indexes of this table?  If not, *why_not says why. */
extern bool index_table_is_ours(Relation heap, Declined *why_not);

/* Does gpusort take the build of this index on this table?  If not, *why_not says why. */
extern bool index_build_is_ours(Relation heap, Relation index, Declined *why_not);

/*
 * Returns why PostgreSQL lets only nworkers workers take part in a build, and not
 * max_parallel_maintenance_workers, in words for a person.
 */
extern const char *index_build_why_few_workers(Relation heap, Relation index, int nworkers);

/* Kilobytes of maintenance_work_mem that PostgreSQL requires for each process of a parallel build. */
#define INDEX_KILOBYTES_PER_PROCESS (32 * 1024)

/*
 * Returns how many of nworkers workers have memory to sort. nworkers: the number of workers of PostgreSQL's
 * build; it may be the table's parallel_workers.
 */
extern int index_build_workers(int nworkers);

/* May an expression, or a list of them, be computed in a worker?  NULL: yes. */
extern bool index_is_parallel_safe(Node *expression);

/* Returns the expected number of rows of the table. */
extern double index_build_rows(Relation heap);

#endif /* GPUSORT_INDEX_CHOICE_H */
