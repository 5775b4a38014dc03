/*
 * key/enum.c
 *		The order of an enum's values.
 *
 * Enum values are oids that don't order as they should: pg_enum.enumsortorder says how.  It is read once,
 * when the key is made; a small hash table then answers for every row.  Processes that sort together compare
 * what they have read (sort_key_fingerprint).
 *
 * A value that is not in the table was added since: pg_enum is read again as it stands now.  ALTER TYPE
 * sometimes renumbers all the values of an enum to make room.  If that happened in between, keys made before
 * and after do not agree, and the sort ends with an error that asks to retry it.
 */
#include "postgres.h"

#include "key/fixed.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_enum.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#define INITIAL_SLOTS_LOG2 4
#define FIBONACCI_HASH UINT32_C(0x9E3779B1)

typedef struct EnumSlot
{
	Oid value; /* InvalidOid: empty */
	uint32 order;
} EnumSlot;

struct SortKeyEnum
{
	Oid type;
	MemoryContext context;
	EnumSlot *slots; /* open addressing, at most half of them used */
	uint32 nslots;
	uint32 nvalues;
	int shift; /* 32 - log2(nslots) */
};

/* The slot that holds the value, or the empty one where it belongs. */
static inline EnumSlot *
find_slot(const SortKeyEnum *order, Oid value)
{
	uint32 i = (value * FIBONACCI_HASH) >> order->shift;

	while (order->slots[i].value != value && OidIsValid(order->slots[i].value))
		i = (i + 1) & (order->nslots - 1);
	return &order->slots[i];
}

static void
resize_slots(SortKeyEnum *order, int log2)
{
	EnumSlot *old = order->slots;
	uint32 nold = order->nslots;

	order->nslots = UINT32_C(1) << log2;
	order->shift = 32 - log2;
	order->slots = MemoryContextAllocZero(order->context, order->nslots * sizeof(EnumSlot));
	for (uint32 i = 0; i < nold; i++)
	{
		if (OidIsValid(old[i].value))
			*find_slot(order, old[i].value) = old[i];
	}
	if (old)
		pfree(old);
}

static void
add_value(SortKeyEnum *order, Oid value, uint32 position)
{
	EnumSlot *slot = find_slot(order, value);

	if (OidIsValid(slot->value))
	{
		if (slot->order != position)
			ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
							errmsg("values of type %s were renumbered while being sorted",
								   format_type_be(order->type)),
							errhint("Retry the query.")));
		return;
	}

	slot->value = value;
	slot->order = position;
	if (++order->nvalues * 2 > order->nslots)
		resize_slots(order, 32 - order->shift + 1);
}

/* Takes over all the enum's values, as of now. */
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
	order->context = CurrentMemoryContext;
	resize_slots(order, INITIAL_SLOTS_LOG2);
	read_values(order);
	return order;
}

void
sort_key_enum_read(SortKeyEnum *order)
{
	read_values(order);
}

uint32
sort_key_enum_order(SortKeyEnum *order, Oid value)
{
	EnumSlot *slot = find_slot(order, value);

	if (unlikely(slot->value != value))
	{
		read_values(order);
		slot = find_slot(order, value);
		if (slot->value != value)
			elog(ERROR, "enum value %u not found in type %s", value, format_type_be(order->type));
	}
	return slot->order;
}

uint64
sort_key_enum_fingerprint(const SortKeyEnum *order)
{
	uint64 sum = 0;

	for (uint32 i = 0; i < order->nslots; i++)
	{
		const EnumSlot *slot = &order->slots[i];

		if (OidIsValid(slot->value))
			sum += hash_bytes_uint32_extended(slot->value, slot->order);
	}
	return sum;
}
