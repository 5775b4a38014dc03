/*
 * index/index_key.h
 *		A B-tree's order as a sort key: its key columns, then the tuple's tid.
 *
 * The rows of a build's sort are index tuples (IndexRow of key/key_row.h).  The tid that they and their keys
 * have is a marked one: it also says whether the heap's tuple is alive, for those of dead tuples take no part
 * in the check of a unique index.  Its order is that of the tids.
 */
#ifndef GPUSORT_INDEX_INDEX_KEY_H
#define GPUSORT_INDEX_INDEX_KEY_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#include "key/sort_key.h"

/* Offsets of line pointers of the heap are less than half of what they have room for. */
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
 * Can the order of this index be encoded, exactly or so that it can be verified?  If not, *why_not says why.
 */
extern bool index_key_supported(Relation index, Declined *why_not);

/* The columns of a build's rows: those of the index, then the tid.  In CurrentMemoryContext. */
extern TupleDesc index_key_row_desc(Relation index);

/*
 * An encoder of keys of such rows, in CurrentMemoryContext, which knows how to make rows of their keys if
 * that is possible.  Raises errors as sort_key_create does.
 */
extern SortKey *index_key_create(Relation index);

/* The bytes that a row and its key are expected to take, on average, by the types of the columns. */
extern void index_key_estimate(Relation index, double *row_bytes, double *key_bytes);

#endif /* GPUSORT_INDEX_INDEX_KEY_H */
