/*
 * key/type_table.c
 *		The one table of types: what becomes of the values of each, in which order.
 *
 * Only the default ordering of a type that is in the table counts, and the bytewise ones of text_pattern_ops
 * and bpchar_pattern_ops; that of record_image_ops, which asks nothing of the columns' types but how they are
 * stored; and orders by operator classes of others whose comparison is one that is known.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/typcache.h"

#include "base/pg_compat.h"
#include "key/encoders.h"
#include "key/extension.h"
#include "key/type_table.h"

static const SortKeyType sort_key_types[] = {
	{BOOLOID, SORT_KEY_UINT8, 1},
	{CHAROID, SORT_KEY_UINT8, 1},
	{INT2OID, SORT_KEY_INT16, 2},
	{INT4OID, SORT_KEY_INT32, 4},
	{INT8OID, SORT_KEY_INT64, 8},
	{OIDOID, SORT_KEY_UINT32, 4},
	{REGPROCOID, SORT_KEY_UINT32, 4},
	{REGPROCEDUREOID, SORT_KEY_UINT32, 4},
	{REGOPEROID, SORT_KEY_UINT32, 4},
	{REGOPERATOROID, SORT_KEY_UINT32, 4},
	{REGCLASSOID, SORT_KEY_UINT32, 4},
	{REGTYPEOID, SORT_KEY_UINT32, 4},
	{REGCONFIGOID, SORT_KEY_UINT32, 4},
	{REGDICTIONARYOID, SORT_KEY_UINT32, 4},
	{REGNAMESPACEOID, SORT_KEY_UINT32, 4},
	{REGROLEOID, SORT_KEY_UINT32, 4},
	{REGCOLLATIONOID, SORT_KEY_UINT32, 4},
	{REGDATABASEOID, SORT_KEY_UINT32, 4},
	{OID8OID, SORT_KEY_UINT64, 8},
	{XID8OID, SORT_KEY_UINT64, 8},
	{TIDOID, SORT_KEY_TID, 6},
	{PG_LSNOID, SORT_KEY_UINT64, 8},
	{FLOAT4OID, SORT_KEY_FLOAT4, 4},
	{FLOAT8OID, SORT_KEY_FLOAT8, 8},
	{MONEYOID, SORT_KEY_INT64, 8},
	{DATEOID, SORT_KEY_INT32, 4},
	{TIMEOID, SORT_KEY_INT64, 8},
	{TIMETZOID, SORT_KEY_TIMETZ, 12},
	{TIMESTAMPOID, SORT_KEY_INT64, 8},
	{TIMESTAMPTZOID, SORT_KEY_INT64, 8},
	{INTERVALOID, SORT_KEY_INTERVAL, 10},
	{UUIDOID, SORT_KEY_BYTES16, 16},
	{MACADDROID, SORT_KEY_BYTES6, 6},
	{MACADDR8OID, SORT_KEY_BYTES8, 8},
	{TEXTOID, SORT_KEY_TEXT, 0, sort_key_append_text},
	{VARCHAROID, SORT_KEY_TEXT, 0, sort_key_append_text},
	{BPCHAROID, SORT_KEY_BPCHAR, 0, sort_key_append_text},
	{NAMEOID, SORT_KEY_NAME, 0, sort_key_append_text},
	{BYTEAOID, SORT_KEY_BYTEA, 0, sort_key_append_bytea},
	{BITOID, SORT_KEY_BIT, 0, sort_key_append_bit},
	{VARBITOID, SORT_KEY_BIT, 0, sort_key_append_bit},
	{NUMERICOID, SORT_KEY_NUMERIC, 0, sort_key_append_numeric, true},
	{INETOID, SORT_KEY_INET, 0, sort_key_append_inet, true},
	{CIDROID, SORT_KEY_INET, 0, sort_key_append_inet, true},
	{OIDVECTOROID, SORT_KEY_OIDVECTOR, 0, sort_key_append_oidvector},
	{TSVECTOROID, SORT_KEY_TSVECTOR, 0, sort_key_append_tsvector},
	{JSONBOID, SORT_KEY_JSONB, 0, sort_key_append_jsonb, true},
};

/* Types that users make, by the pseudo-type that the operator class of all of their kind is for. */
static const SortKeyType made_types[] = {
	{ANYENUMOID, SORT_KEY_ENUM, 4},
	{ANYARRAYOID, SORT_KEY_ARRAY, 0, sort_key_append_array, true},
	{RECORDOID, SORT_KEY_RECORD, 0, sort_key_append_record, true},
	{ANYRANGEOID, SORT_KEY_RANGE, 0, sort_key_append_range, true},
	{ANYMULTIRANGEOID, SORT_KEY_MULTIRANGE, 0, sort_key_append_multirange, true},
};

/* Composite values in the order of record_image_ops. */
static const SortKeyType record_image = {RECORDOID, SORT_KEY_RECORD_IMAGE, 0, sort_key_append_record, true};

/* Values by value, as PostgreSQL compares their Datums: the bytes of a number without a sign. */
static const SortKeyType numbers[] = {
	{InvalidOid, SORT_KEY_UINT8, 1},
	{InvalidOid, SORT_KEY_UINT16, 2},
	{InvalidOid, SORT_KEY_UINT32, 4},
	{InvalidOid, SORT_KEY_UINT64, 8},
};
static const SortKeyType fixed_image = {InvalidOid, SORT_KEY_IMAGE, 0, sort_key_append_image};
static const SortKeyType varlena_image = {InvalidOid, SORT_KEY_BYTEA, 0, sort_key_append_bytea};

const SortKeyType *
sort_key_find_image(int16 length, bool by_value)
{
	if (!by_value)
		return length == -1 ? &varlena_image : length > 0 ? &fixed_image : NULL;
	for (int i = 0; i < lengthof(numbers); i++)
	{
		if (numbers[i].width == length)
			return &numbers[i];
	}
	return NULL;
}

static const SortKeyType *
find_in(const SortKeyType *types, int count, Oid type)
{
	for (int i = 0; i < count; i++)
	{
		if (types[i].type == type)
			return &types[i];
	}
	return NULL;
}

/* The pseudo-type of those that are made as this one is. */
static Oid
kind_of_made_type(Oid type)
{
	switch (get_typtype(type))
	{
		case TYPTYPE_ENUM:
			return ANYENUMOID;
		case TYPTYPE_COMPOSITE:
			return RECORDOID;
		case TYPTYPE_PSEUDO:
			return type == RECORDOID ? RECORDOID : InvalidOid;
		case TYPTYPE_RANGE:
			return ANYRANGEOID;
		case TYPTYPE_MULTIRANGE:
			return ANYMULTIRANGEOID;
		case TYPTYPE_BASE:
			return OidIsValid(get_element_type(type)) ? ANYARRAYOID : InvalidOid;
		default:
			return InvalidOid;
	}
}

const SortKeyType *
sort_key_find_type(Oid type)
{
	const SortKeyType *entry = find_in(sort_key_types, lengthof(sort_key_types), type);

	if (entry != NULL)
		return entry;
	return find_in(made_types, lengthof(made_types), kind_of_made_type(type));
}

/* The type of PostgreSQL's own that this function compares. */
static const SortKeyType *
find_compared_type(Oid function)
{
	for (int i = 0; i < lengthof(sort_key_types) && OidIsValid(function); i++)
	{
		Oid type = sort_key_types[i].type;

		if (OidIsValid(type) && lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc == function)
			return &sort_key_types[i];
	}
	return NULL;
}

static bool
is_stored_alike(Oid type, Oid other)
{
	int16 length;
	int16 other_length;
	bool by_value;
	bool other_by_value;

	get_typlenbyval(type, &length, &by_value);
	get_typlenbyval(other, &other_length, &other_by_value);
	return length == other_length && by_value == other_by_value;
}

/*
 * What an operator class, of an extension or a user's, makes of this type by its comparison; NULL: unknown.
 */
static const SortKeyType *
find_by_comparison(Oid type, Oid opfamily, Oid opcintype)
{
	Oid function = get_opfamily_proc(opfamily, opcintype, opcintype, BTORDER_PROC);
	const SortKeyType *entry;
	Oid builtin;

	if (!OidIsValid(function))
		return NULL;
	entry = sort_key_find_extension_type(function, &builtin);
	if (entry != NULL)
		return get_typlen(type) == -1 ? entry : NULL;
	if (builtin == F_BTRECORDIMAGECMP)
		return &record_image;
	entry = find_compared_type(builtin);
	return entry != NULL && is_stored_alike(type, entry->type) ? entry : NULL;
}

/* Is this the family of one of the orders that ignore the collation? */
static bool
is_pattern_family(SortKeyKind kind, Oid opfamily)
{
	return (kind == SORT_KEY_TEXT && opfamily == TEXT_PATTERN_BTREE_FAM_OID) ||
		   (kind == SORT_KEY_BPCHAR && opfamily == BPCHAR_PATTERN_BTREE_FAM_OID);
}

/*
 * Is this the order of PostgreSQL's own operator class for all types of this kind?  Somebody may have made
 * another one, for one enum or composite type alone.
 */
static bool
is_default_order(const SortKeyType *entry, Oid opfamily, Oid opcintype)
{
	TypeCacheEntry *typcache = lookup_type_cache(entry->type, TYPECACHE_BTREE_OPFAMILY);

	return opfamily == typcache->btree_opf && opcintype == typcache->btree_opintype;
}

const SortKeyType *
sort_key_find_order(Oid type, Oid opfamily, Oid opcintype, bool *bytewise)
{
	const SortKeyType *entry = sort_key_find_type(type);

	*bytewise = entry != NULL && is_pattern_family(entry->kind, opfamily);
	if (*bytewise || (entry != NULL && is_default_order(entry, opfamily, opcintype)))
		return entry;
	return find_by_comparison(type, opfamily, opcintype);
}
