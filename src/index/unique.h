/*
 * index/unique.h
 *		The check of a unique index, over tuples in its order.
 */
#ifndef GPUSORT_INDEX_UNIQUE_H
#define GPUSORT_INDEX_UNIQUE_H

#include "postgres.h"

#include "access/itup.h"
#include "utils/rel.h"

typedef struct UniqueCheck UniqueCheck;

/* In CurrentMemoryContext. nulls_distinct: are tuples with a NULL in a key column equal to no other? */
extern UniqueCheck *unique_check_create(Relation heap, Relation index, bool nulls_distinct);

/*
 * The next tuple in the index's order, of an alive tuple of the heap.  Raises PostgreSQL's error if there was
 * one with the same key.
 */
extern void unique_check_next(UniqueCheck *check, IndexTuple tuple);

/* What comes next has nothing before it. */
extern void unique_check_forget(UniqueCheck *check);

#endif /* GPUSORT_INDEX_UNIQUE_H */
