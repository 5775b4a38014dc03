/*
 * index/no_workers.h
 *		Builds of B-trees with max_parallel_maintenance_workers = 0.
 */
#ifndef GPUSORT_INDEX_NO_WORKERS_H
#define GPUSORT_INDEX_NO_WORKERS_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/rel.h"

/* Once, when the library is loaded. */
extern void no_workers_install_hooks(void);

/* Is PostgreSQL asking the planner for the workers of a build that must have none? */
extern bool no_workers_wanted(void);

/*
 * no_workers_asked: the planner was asked about a build that gpusort takes.  no_workers_built: that build has
 * ended.
 */
extern void no_workers_asked(void);
extern void no_workers_built(void);

/* Has the table indexes of other access methods than btree? */
extern bool no_workers_has_others(Relation heap);

/* Is this option of a statement on? */
extern bool statement_has_option(List *options, const char *name);

#endif /* GPUSORT_INDEX_NO_WORKERS_H */
