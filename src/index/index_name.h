/*
 * index/index_name.h
 *		The name of an index that is built, for messages.
 */
#ifndef GPUSORT_INDEX_INDEX_NAME_H
#define GPUSORT_INDEX_INDEX_NAME_H

#include "utils/relcache.h"

/*
 * The name that the user knows.  REINDEX CONCURRENTLY builds an index in the place of another one, whose name
 * it gets at the end, and is h1_ccnew until then: that of the other one.
 */
extern const char *index_name(Relation heap, Relation index);

#endif /* GPUSORT_INDEX_INDEX_NAME_H */
