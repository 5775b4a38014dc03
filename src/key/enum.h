/*
 * key/enum.h
 *		The order of an enum's values.
 */
#ifndef GPUSORT_KEY_ENUM_H
#define GPUSORT_KEY_ENUM_H

#include "key/types.h"

/* The order of an enum's values, as it is now, in CurrentMemoryContext. */
extern SortKeyEnum *sort_key_enum_create(Oid type);

/* Four bytes, as an unsigned number, that order the enum's values. */
extern uint32 sort_key_enum_order(SortKeyEnum *order, Oid value);

/* The last value that was added, by its oid, of those that are known. */
extern Oid sort_key_enum_newest(const SortKeyEnum *order);

/* A number that tells the order of the values up to this one, by their oids, from another one. */
extern uint64 sort_key_enum_fingerprint(const SortKeyEnum *order, Oid newest);

#endif /* GPUSORT_KEY_ENUM_H */
