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

/*
 * Makes a check in CurrentMemoryContext.  nulls_distinct: is a tuple with a NULL in a key column equal to no
 * other tuple?
 */
extern UniqueCheck *unique_check_create(Relation heap, Relation index, bool nulls_distinct);

/*
 * Checks the next tuple in the index's order, of a live tuple of the heap.  Raises PostgreSQL's error if an
 * earlier tuple has the same key.
 */
extern void unique_check_next(UniqueCheck *check, IndexTuple tuple);

/* Forgets earlier tuples: the next tuple is compared with none of them. */
extern void unique_check_forget(UniqueCheck *check);

#endif /* GPUSORT_INDEX_UNIQUE_H */
