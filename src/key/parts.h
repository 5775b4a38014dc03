/*
 * key/parts.h
 *		Values that consist of other values: arrays, composite values, ranges, multiranges, jsonb.
 *
 * The bytes of such a value are the bytes of its parts in sequence, each with a marker before it, in
 * ascending order for any order of the column.  Everything that can be in the place of a part has its own
 * marker.  Therefore the end of the value is unambiguous, its bytes are prefix-free, and the first byte, 01 -
 * 05, serves as the marker of the value itself.
 */
#ifndef GPUSORT_KEY_PARTS_H
#define GPUSORT_KEY_PARTS_H

#include "access/tupdesc.h"
#include "utils/typcache.h"

#include "key/builder.h"

#define PART_END 1		 /* there are no more; of a range: it is empty */
#define PART_BELOW 2	 /* no lower bound */
#define PART_VALUE 3	 /* the value follows */
#define PART_ABOVE 4	 /* NULL; no upper bound */
#define PART_ALL_ABOVE 5 /* NULL, as are all that follow */

/* The columns for the parts of jsonb, and their markers, which follow the order of the types. */
#define JSONB_STRINGS 0
#define JSONB_NUMBERS 1
#define JSONB_NULL 1
#define JSONB_STRING 2
#define JSONB_NUMERIC 3
#define JSONB_FALSE 4
#define JSONB_TRUE 5
#define JSONB_ARRAY 6
#define JSONB_OBJECT 7

struct SortKeyParts
{
	int ncolumns;			/* columns of a composite type that are not dropped; 2 for jsonb; otherwise 1 */
	SortKeyColumn *columns; /* columns of the parts; attidx is an index into values and isnull */

	/* arrays: the type of the elements, and how they are stored */
	Oid element_type;
	int16 length;
	bool by_value;
	char align;

	TypeCacheEntry *range; /* ranges and multiranges: the type of the range */

	/* composite types, as they were described */
	TypeCacheEntry *composite;
	uint64 version; /* the type's tupDesc_identifier at that time */
	TupleDesc desc;
	Datum *values;
	bool *isnull;

	union
	{
		struct varlena value;
		char bytes[VARHDRSZ + VARATT_SHORT_MAX];
		int64 aligned;
	} unpacked; /* room for a value with a header of one byte */
};

/*
 * Returns the value detoasted, with a header of four bytes and aligned, so that its fields can be read: the
 * value itself if possible, otherwise a copy that is valid until this column's next value.
 */
static inline struct varlena *
sort_key_unpack(SortKeyBuilder *key, SortKeyColumn *col, Datum datum)
{
	struct varlena *value = sort_key_detoast(key, datum);
	struct varlena *unpacked = &col->parts->unpacked.value;
	Size size;

	if (!VARATT_IS_SHORT(value))
		return value;
	size = VARSIZE_SHORT(value) - VARHDRSZ_SHORT;
	SET_VARSIZE(unpacked, VARHDRSZ + size);
	memcpy(VARDATA(unpacked), VARDATA_SHORT(value), size);
	return unpacked;
}

/*
 * Fills in the parts of a composite type by the present catalogs, in CurrentMemoryContext.  False: a part
 * cannot be encoded exactly, and *why_not says why.
 */
extern bool sort_key_describe_record(Oid type, SortKeyColumn *col, Declined *why_not);

/*
 * Was the composite type of the column altered, or may it have been altered, since its parts were described?
 */
static inline bool
sort_key_is_outdated(const SortKeyColumn *col)
{
	return unlikely(col->parts->composite->tupDesc_identifier != col->parts->version);
}

/*
 * Describes the parts of such a type again.  Raises an error if the type's keys would differ from the earlier
 * ones.
 */
extern void sort_key_follow_type(SortKeyColumn *col);

/* Raises an error if the type of a value is not that of its column. */
extern void sort_key_check_type(const SortKeyColumn *col, Oid expected, Oid found);

#endif /* GPUSORT_KEY_PARTS_H */
