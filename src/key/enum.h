/*
 * key/enum.h
 *		The order of an enum's values.
 */
#ifndef GPUSORT_KEY_ENUM_H
#define GPUSORT_KEY_ENUM_H

#include "key/column.h"

/* Reads the present order of an enum's values, in CurrentMemoryContext. */
extern SortKeyEnum *sort_key_enum_create(Oid type);

/* Returns four bytes, as an unsigned number, that order the enum's values. */
extern uint32 sort_key_enum_order(SortKeyEnum *order, Oid value);

/* Returns the known value with the highest OID, which was added last. */
extern Oid sort_key_enum_newest(const SortKeyEnum *order);

/* Returns a hash of the order of the values with OIDs up to this one. */
extern uint64 sort_key_enum_fingerprint(const SortKeyEnum *order, Oid newest);

#endif /* GPUSORT_KEY_ENUM_H */
