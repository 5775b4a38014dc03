/*
 * key/parts.h
 *		Values that are made of others: arrays, composite values, ranges, multiranges, jsonb.
 *
 * Their bytes are those of their parts, one after the other, each with a marker before it, in ascending order
 * whatever the column's.  What can stand in the place of a part has a marker of its own: so each such value
 * ends where nothing else could, its bytes are prefix-free, and the first of them, 01 - 05, does as the
 * marker of the value itself.
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

/* The columns of what jsonb is made of, and their markers, which are those of the types in their order. */
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
	int ncolumns;			/* of a composite type that are not dropped; 2 of jsonb; otherwise 1 */
	SortKeyColumn *columns; /* of the parts; attidx: in values and isnull */

	/* arrays: the type of the elements, and how they are stored */
	Oid element_type;
	int16 length;
	bool by_value;
	char align;

	TypeCacheEntry *range; /* ranges and multiranges: the type of the range */

	/* composite types, as they were when they were described */
	TypeCacheEntry *composite;
	uint64 version; /* its tupDesc_identifier then */
	TupleDesc desc;
	Datum *values;
	bool *isnull;

	union
	{
		struct varlena value;
		char bytes[VARHDRSZ + VARATT_SHORT_MAX];
		int64 aligned;
	} unpacked; /* a value that has a header of one byte */
};

/*
 * The value with a header of four bytes, whole and aligned, so that its fields can be read: itself, if it is
 * so, or a copy that stands until this column's next value.
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
 * Fills in the parts of a composite type, as it is now, in CurrentMemoryContext.  False if one of them can't
 * be encoded exactly, *why_not tells why.
 */
extern bool sort_key_describe_record(Oid type, SortKeyColumn *col, Declined *why_not);

/*
 * Has the composite type of the column been altered, or might it have been, since its parts were described?
 */
static inline bool
sort_key_is_outdated(const SortKeyColumn *col)
{
	return unlikely(col->parts->composite->tupDesc_identifier != col->parts->version);
}

/*
 * Describes the parts of such a type anew.  Raises an error unless all keys that were made before are the
 * ones that would be made now.
 */
extern void sort_key_follow_type(SortKeyColumn *col);

/* Raises an error if a value is of another type than its column. */
extern void sort_key_check_type(const SortKeyColumn *col, Oid expected, Oid found);

#endif /* GPUSORT_KEY_PARTS_H */
