/*
 * index/choice.h
 *		Which builds of indexes are ours.
 */
#ifndef GPUSORT_INDEX_CHOICE_H
#define GPUSORT_INDEX_CHOICE_H

#include "postgres.h"

#include "nodes/nodes.h"
#include "utils/rel.h"

#include "base/declined.h"

/* Is nothing to be taken over, whatever the table?  Then *why_not says why. */
extern bool index_builds_are_on(Declined *why_not);

/* Is this a table whose indexes we build?  If not, *why_not says why. */
extern bool index_table_is_ours(Relation heap, Declined *why_not);

/* Is the build of this index on this table ours?  If not, *why_not says why. */
extern bool index_build_is_ours(Relation heap, Relation index, Declined *why_not);

/*
 * Why does PostgreSQL let only so many workers take part in a build, and not as many as
 * max_parallel_maintenance_workers says?  Words for a person.
 */
extern const char *index_build_why_few_workers(Relation heap, Relation index, int nworkers);

/* Kilobytes of maintenance_work_mem that PostgreSQL wants for each process of a parallel build. */
#define INDEX_KILOBYTES_PER_PROCESS (32 * 1024)

/*
 * How many of the workers that PostgreSQL would have, which may be as many as a table's parallel_workers
 * says, have memory to sort in?
 */
extern int index_build_workers(int nworkers);

/* May an expression, or a list of them, be computed in a worker? NULL: yes. */
extern bool index_is_parallel_safe(Node *expression);

/* How many rows the table is expected to have. */
extern double index_build_rows(Relation heap);

#endif /* GPUSORT_INDEX_CHOICE_H */
