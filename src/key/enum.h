/*
 * key/enum.h
 *		The order of an enum's values.
 */
#ifndef GPUSORT_KEY_ENUM_H
#define GPUSORT_KEY_ENUM_H

#include "key/types.h"

/* The order of an enum's values, as it is now, in CurrentMemoryContext. */
extern SortKeyEnum *sort_key_enum_create(Oid type);

/* Takes over what values other sessions have added; raises an error if they renumbered them. */
extern void sort_key_enum_read(SortKeyEnum *order);

/* Four bytes, as an unsigned number, that order the enum's values. */
extern uint32 sort_key_enum_order(SortKeyEnum *order, Oid value);

/* A number that tells the order, as far as it is known, from another one. */
extern uint64 sort_key_enum_fingerprint(const SortKeyEnum *order);

#endif /* GPUSORT_KEY_ENUM_H */
