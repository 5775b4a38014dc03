/*
 * index/index_key.h
 *		A B-tree's order as a sort key: its key columns, then the tuple's tid.
 *
 * The rows of a build's sort are index tuples (IndexRow of key/types.h).  The rows and their keys have a
 * marked tid.  The mark says whether the heap's tuple is alive, because index tuples of dead tuples take no
 * part in the check of a unique index.  Marked tids have the order of the tids.
 */
#ifndef GPUSORT_INDEX_INDEX_KEY_H
#define GPUSORT_INDEX_INDEX_KEY_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#include "base/declined.h"
#include "key/types.h"

/* Offsets of line pointers of the heap use less than half of their range. */
StaticAssertDecl(MaxOffsetNumber <= PG_UINT16_MAX / 2, "there is a bit left in a tid");

static inline ItemPointerData
tid_mark(ItemPointerData tid, bool alive)
{
	tid.ip_posid = tid.ip_posid << 1 | (alive ? 0 : 1);
	return tid;
}

static inline bool
tid_is_alive(ItemPointerData marked)
{
	return (marked.ip_posid & 1) == 0;
}

static inline ItemPointerData
tid_unmark(ItemPointerData marked)
{
	marked.ip_posid >>= 1;
	return marked;
}

/*
 * Can the order of this index be encoded, exactly or as a guess that can be verified?  If not, *why_not says
 * why.
 */
extern bool index_key_supported(Relation index, Declined *why_not);

/*
 * Returns the descriptor of a build's rows: the columns of the index, then the tid.  In CurrentMemoryContext.
 */
extern TupleDesc index_key_row_desc(Relation index);

/*
 * Makes an encoder of keys of such rows, in CurrentMemoryContext.  If possible, it can restore rows from
 * their keys.  Raises errors as sort_key_create does.
 */
extern SortKey *index_key_create(Relation index);

/* Returns the expected average bytes of a row and of its key, by the types of the columns. */
extern void index_key_estimate(Relation index, double *row_bytes, double *key_bytes);

#endif /* GPUSORT_INDEX_INDEX_KEY_H */
