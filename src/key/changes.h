/*
 * key/changes.h
 *		What the columns of a key were when they were described, and what has become of them since.
 */
#ifndef GPUSORT_KEY_CHANGES_H
#define GPUSORT_KEY_CHANGES_H

#include "key/types.h"

/*
 * Would an encoder of these columns that is made now be the same?  Known values of enums do not count.
 */
extern bool sort_key_is_current(const SortKey *key, const SortColumnSpec *columns);

/* Returns the highest OID of the known enum values; InvalidOid: there are none. */
extern Oid sort_key_newest_value(const SortKey *key);

/*
 * Returns a hash that is the same for all encoders, in all processes, that make the same keys from the same
 * rows.  Enum values that were added after `newest` do not count, because they move no other values.
 */
extern uint64 sort_key_fingerprint(const SortKey *key, Oid newest);

/*
 * Returns a hash of the columns, with the enum values whose OIDs are up to `newest`; InvalidOid: without enum
 * values.
 */
extern uint64 sort_key_hash_columns(int ncols, const SortKeyColumn *cols, Oid newest);

#endif /* GPUSORT_KEY_CHANGES_H */
