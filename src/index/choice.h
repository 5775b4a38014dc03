/*
 * index/choice.h
 *		Which builds of indexes are ours.
 */
#ifndef GPUSORT_INDEX_CHOICE_H
#define GPUSORT_INDEX_CHOICE_H

#include "postgres.h"

#include "utils/rel.h"

#include "base/declined.h"

/* Is nothing to be taken over, whatever the table?  Then *why_not says why. */
extern bool index_builds_are_on(Declined *why_not);

/* Is the build of this index on this table ours?  If not, *why_not says why. */
extern bool index_build_is_ours(Relation heap, Relation index, Declined *why_not);

/* How many rows the table is expected to have. */
extern double index_build_rows(Relation heap);

#endif /* GPUSORT_INDEX_CHOICE_H */
