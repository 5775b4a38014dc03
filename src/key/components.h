/*
 * key/components.h
 *		Values that consist of other values: arrays, composite values, ranges, multiranges, jsonb.
 *
 * The bytes of such a value are the bytes of its components in sequence, each with a marker before it, in
 * ascending order for any order of the column.  Everything that can be in the place of a component has its
 * own marker.  Therefore the end of the value is unambiguous, its bytes are prefix-free, and the first byte,
 * 01 - 05, serves as the marker of the value itself.
 */
#ifndef GPUSORT_KEY_COMPONENTS_H
#define GPUSORT_KEY_COMPONENTS_H

#include "key/builder.h"

/*
 * Returns the value detoasted, with a header of four bytes and aligned, so that its fields can be read: the
 * value itself if possible, otherwise a copy that is valid until this column's next value.
 */
static inline struct varlena *
sort_key_unpack(SortKeyBuilder *key, SortKeyColumn *col, Datum datum)
{
	struct varlena *value = sort_key_detoast(key, datum);
	struct varlena *unpacked = &col->components->unpacked.value;
	Size size;

	if (!VARATT_IS_SHORT(value))
		return value;
	size = VARSIZE_SHORT(value) - VARHDRSZ_SHORT;
	SET_VARSIZE(unpacked, VARHDRSZ + size);
	memcpy(VARDATA(unpacked), VARDATA_SHORT(value), size);
	return unpacked;
}

/*
 * Was the composite type of the column altered, or may it have been altered, since its components were
 * described?
 */
static inline bool
sort_key_is_outdated(const SortKeyColumn *col)
{
	return unlikely(col->components->composite->tupDesc_identifier != col->components->version);
}

#endif /* GPUSORT_KEY_COMPONENTS_H */
