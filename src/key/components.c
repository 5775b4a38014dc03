/*
 * key/components.c
 *		Variable sort keys of arrays, composite values, ranges and multiranges.
 *
 * components.h says how the components become bytes, and why the result is prefix-free.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/multirangetypes.h"
#include "utils/rangetypes.h"

#include "key/encoders.h"
#include "key/numbers.h"
#include "key/components.h"

/*
 * A value says itself of which type it is, and PostgreSQL's comparisons believe it.  Keys are made for the
 * type that the plan has; a function of some extension could return something else.
 */
static void
check_type(const SortKeyColumn *col, Oid expected, Oid found)
{
	if (unlikely(found != expected))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("cannot sort a value of type %s as one of type %s", format_type_be(found),
							   format_type_be(expected)),
						errdetail("The sort column is of type %s.", format_type_be(col->type))));
}

/* ---------------------------------------------------------------- arrays */

/*
 * Where all elements are the same, arrays order by how many dimensions they have, then by how long these are,
 * then by their lower bounds.
 */
static void
append_dimensions(SortKeyBuilder *key, const ArrayType *array)
{
	int ndim = ARR_NDIM(array);
	const int *lengths = ARR_DIMS(array);
	const int *lower_bounds = ARR_LBOUND(array);
	uint8 *dst = sort_key_reserve(key, 1 + 2 * MAXDIM * sizeof(uint32));

	*dst++ = ndim;
	for (int i = 0; i < ndim; i++)
	{
		sort_key_store32(dst + i * sizeof(uint32), lengths[i]);
		sort_key_store32(dst + (ndim + i) * sizeof(uint32), sort_key_order_int32(lower_bounds[i]));
	}
	key->length += 1 + 2 * ndim * sizeof(uint32);
}

/* The elements, NULLs after all values; an end before any of them; the dimensions. */
void
sort_key_append_array(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	const SortKeyComponents *components = col->components;
	SortKeyColumn *element = &components->columns[0];
	ArrayType *array = (ArrayType *) sort_key_unpack(key, col, value);
	int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const char *at = ARR_DATA_PTR(array);
	const uint8 *nulls = ARR_NULLBITMAP(array);

	check_type(col, components->element_type, ARR_ELEMTYPE(array));
	for (int i = 0; i < count; i++)
	{
		if (nulls != NULL && att_isnull(i, nulls))
		{
			sort_key_append_byte(key, COMPONENT_ABOVE);
			continue;
		}
		sort_key_append_column(key, element, fetch_att(at, components->by_value, components->length), false);
		at = att_addlength_pointer(at, components->length, at);
		at = (const char *) att_align_nominal(at, components->align);
	}
	sort_key_append_byte(key, COMPONENT_END);
	append_dimensions(key, array);
}

/* ---------------------------------------------------------------- composite values */

/*
 * A record without a named type has a number, in its typmod, that says what its columns are.  The key is made
 * for those of the plan's expression.
 */
static void
check_columns(const SortKeyColumn *col, int32 typmod)
{
	SortKeyComponents *components = col->components;
	TupleDesc found = lookup_rowtype_tupdesc(RECORDOID, typmod);

	for (int i = 0; i < Max(components->desc->natts, found->natts); i++)
		check_type(col,
				   i < components->desc->natts ? TupleDescAttr(components->desc, i)->atttypid : InvalidOid,
				   i < found->natts ? TupleDescAttr(found, i)->atttypid : InvalidOid);
	ReleaseTupleDesc(found);
	components->typmod = typmod;
}

/*
 * The columns, NULLs after all values.  Those that are NULL at the end are one byte: so it makes no
 * difference whether a column that is being added was known of already.
 */
void
sort_key_append_record(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	const SortKeyComponents *components = col->components;
	HeapTupleHeader record;
	HeapTupleData tuple = {0};
	int count;

	if (sort_key_is_outdated(col))
		col->components->follow(col);
	record = (HeapTupleHeader) sort_key_unpack(key, col, value);
	check_type(col, col->type, HeapTupleHeaderGetTypeId(record));
	if (col->type == RECORDOID && HeapTupleHeaderGetTypMod(record) != components->typmod)
		check_columns(col, HeapTupleHeaderGetTypMod(record));
	tuple.t_len = HeapTupleHeaderGetDatumLength(record);
	tuple.t_data = record;
	count = components->ncolumns;
	heap_deform_tuple(&tuple, components->desc, components->values, components->isnull);
	while (count > 0 && components->isnull[components->columns[count - 1].attidx])
		count--;
	for (int i = 0; i < count; i++)
	{
		SortKeyColumn *column = &components->columns[i];

		sort_key_append_column(key, column, components->values[column->attidx],
							   components->isnull[column->attidx]);
	}
	sort_key_append_byte(key, COMPONENT_ALL_ABOVE);
}

/* ---------------------------------------------------------------- ranges */

/* Of two lower bounds at a value the one that includes it comes first, of upper bounds the other one. */
static void
append_bound(SortKeyBuilder *key, SortKeyColumn *col, const RangeBound *bound)
{
	if (bound->infinite)
	{
		sort_key_append_byte(key, bound->lower ? COMPONENT_BELOW : COMPONENT_ABOVE);
		return;
	}
	sort_key_append_column(key, &col->components->columns[0], bound->val, false);
	sort_key_append_byte(key, bound->inclusive != bound->lower);
}

/* The lower bound, then the upper one; an empty range before any other. */
void
sort_key_append_range(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	RangeType *range = (RangeType *) sort_key_unpack(key, col, value);
	RangeBound lower;
	RangeBound upper;
	bool empty;

	check_type(col, col->type, RangeTypeGetOid(range));
	range_deserialize(col->components->range, range, &lower, &upper, &empty);
	if (empty)
	{
		sort_key_append_byte(key, COMPONENT_END);
		return;
	}
	append_bound(key, col, &lower);
	append_bound(key, col, &upper);
}

/* The ranges, none of which is empty; an end before any of them. */
void
sort_key_append_multirange(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	MultirangeType *multirange = (MultirangeType *) sort_key_unpack(key, col, value);

	check_type(col, col->type, MultirangeTypeGetOid(multirange));
	for (uint32 i = 0; i < multirange->rangeCount; i++)
	{
		RangeBound lower;
		RangeBound upper;

		multirange_get_bounds(col->components->range, multirange, i, &lower, &upper);
		append_bound(key, col, &lower);
		append_bound(key, col, &upper);
	}
	sort_key_append_byte(key, COMPONENT_END);
}
