/*
 * key/enum.c
 *		The order of an enum's values.
 *
 * Enum values are oids that don't order as they should: pg_enum.enumsortorder says how.  It is read when the
 * key is made, and again before other processes make theirs; a small hash table then answers for every row.
 * Processes that sort together compare what they have read (sort_key_fingerprint).
 *
 * A value that is not in the table was added since: pg_enum is read again as it stands now.  ALTER TYPE
 * sometimes renumbers all the values of an enum to make room.  If that happened in between, keys made before
 * and after do not agree, and the sort ends with an error that asks to retry it.
 */
#include "postgres.h"

#include "key/enum.h"
#include "key/numbers.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_enum.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#define INITIAL_VALUES 16

typedef struct EnumValue
{
	Oid value;
	uint32 order;
	char status; /* simplehash.h's */
} EnumValue;

#define SH_PREFIX enum_values
#define SH_ELEMENT_TYPE EnumValue
#define SH_KEY_TYPE Oid
#define SH_KEY value
#define SH_HASH_KEY(table, key) murmurhash32(key)
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct SortKeyEnum
{
	Oid type;
	enum_values_hash *values;
};

static void
add_value(SortKeyEnum *order, Oid value, uint32 position)
{
	bool found;
	EnumValue *known = enum_values_insert(order->values, value, &found);

	if (found && known->order != position)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("values of type %s were renumbered while being sorted", format_type_be(order->type)),
				 errhint("Retry the query.")));
	known->order = position;
}

static void
read_values(SortKeyEnum *order)
{
	Relation rel = table_open(EnumRelationId, AccessShareLock);
	ScanKeyData scankey;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&scankey, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(order->type));
	scan = systable_beginscan(rel, EnumTypIdSortOrderIndexId, true, NULL, 1, &scankey);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_enum form = (Form_pg_enum) GETSTRUCT(tuple);

		add_value(order, form->oid, sort_key_order_float4(form->enumsortorder));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

SortKeyEnum *
sort_key_enum_create(Oid type)
{
	SortKeyEnum *order = palloc0(sizeof(SortKeyEnum));

	order->type = type;
	order->values = enum_values_create(CurrentMemoryContext, INITIAL_VALUES, NULL);
	read_values(order);
	return order;
}

uint32
sort_key_enum_order(SortKeyEnum *order, Oid value)
{
	EnumValue *known = enum_values_lookup(order->values, value);

	if (unlikely(known == NULL))
	{
		read_values(order);
		known = enum_values_lookup(order->values, value);
		if (known == NULL)
			elog(ERROR, "enum value %u not found in type %s", value, format_type_be(order->type));
	}
	return known->order;
}

Oid
sort_key_enum_newest(const SortKeyEnum *order)
{
	enum_values_iterator iterator;
	const EnumValue *known;
	Oid newest = InvalidOid;

	enum_values_start_iterate(order->values, &iterator);
	while ((known = enum_values_iterate(order->values, &iterator)) != NULL)
		newest = Max(newest, known->value);
	return newest;
}

uint64
sort_key_enum_fingerprint(const SortKeyEnum *order, Oid newest)
{
	enum_values_iterator iterator;
	const EnumValue *known;
	uint64 sum = 0;

	enum_values_start_iterate(order->values, &iterator);
	while ((known = enum_values_iterate(order->values, &iterator)) != NULL)
	{
		if (known->value <= newest)
			sum += hash_bytes_uint32_extended(known->value, known->order);
	}
	return sum;
}
