/*
 * key/describe.c
 *		Which columns can be encoded exactly, and how: the one table of types.
 *
 * A column's order is that of its operator's family for its base type.  Only the default ordering of a type
 * that is in the table counts, and the bytewise ones of text_pattern_ops and bpchar_pattern_ops; for types of
 * text the collation has a say too.  Arrays, ranges and composite types order by the default ordering of
 * their parts, ranges by one of their own, and so are taken if these are.
 */
#include "postgres.h"

#include "key/parts.h"

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_range.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

typedef struct SortKeyType
{
	Oid type;
	SortKeyKind kind;
	uint8 width;		  /* bytes of a value; 0 if variable */
	SortKeyAppend append; /* NULL if fixed */
	bool self_marked;	  /* see SortKeyColumn */
} SortKeyType;

static const SortKeyType sort_key_types[] = {
	{BOOLOID, SORT_KEY_BOOL, 1},
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
};

/* Types that users make, by the pseudo-type that the operator class of all of their kind is for. */
static const SortKeyType made_types[] = {
	{ANYENUMOID, SORT_KEY_ENUM, 4},
	{ANYARRAYOID, SORT_KEY_ARRAY, 0, sort_key_append_array, true},
	{RECORDOID, SORT_KEY_RECORD, 0, sort_key_append_record, true},
	{ANYRANGEOID, SORT_KEY_RANGE, 0, sort_key_append_range, true},
	{ANYMULTIRANGEOID, SORT_KEY_MULTIRANGE, 0, sort_key_append_multirange, true},
};

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

static const SortKeyType *
find_type(Oid type)
{
	const SortKeyType *entry = find_in(sort_key_types, lengthof(sort_key_types), type);

	if (entry != NULL)
		return entry;
	return find_in(made_types, lengthof(made_types), kind_of_made_type(type));
}

static bool
is_made_type(const SortKeyType *entry)
{
	return entry >= made_types && entry < made_types + lengthof(made_types);
}

/* A collation, as the catalogs describe it. */
typedef struct CollationProvider
{
	char letter;  /* COLLPROVIDER_... */
	char *name;	  /* what the person who chose it called it */
	char *locale; /* of the C library's, what that calls it; else maybe NULL */
} CollationProvider;

static char *
text_attribute(int cache, HeapTuple tuple, AttrNumber attribute)
{
	bool isnull;
	Datum value = SysCacheGetAttr(cache, tuple, attribute, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

static CollationProvider
provider_of_database(void)
{
	HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	CollationProvider provider;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	provider.letter = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
	provider.locale = text_attribute(DATABASEOID, tuple, Anum_pg_database_datcollate);
	provider.name = provider.locale != NULL ? provider.locale : pstrdup("default");
	ReleaseSysCache(tuple);
	return provider;
}

/* Who compares by this collation. */
static CollationProvider
collation_provider(Oid collation)
{
	HeapTuple tuple;
	CollationProvider provider;

	if (collation == DEFAULT_COLLATION_OID)
		return provider_of_database();
	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	provider.letter = ((Form_pg_collation) GETSTRUCT(tuple))->collprovider;
	provider.name = pstrdup(NameStr(((Form_pg_collation) GETSTRUCT(tuple))->collname));
	provider.locale = text_attribute(COLLOID, tuple, Anum_pg_collation_collcollate);
	ReleaseSysCache(tuple);
	return provider;
}

/*
 * C.UTF-8 is bytewise in some versions of the C library, and all but bytewise in others.  The name is enough
 * to take it so, for the order is verified.
 */
static bool
is_c_of_encoding(const char *locale)
{
	return locale != NULL && pg_strncasecmp(locale, "C.", 2) == 0;
}

static TextOrder
order_of_provider(const CollationProvider *provider)
{
	if (provider->letter != COLLPROVIDER_LIBC)
		return TEXT_ICU;
	return is_c_of_encoding(provider->locale) ? TEXT_LIBC_BYTEWISE : TEXT_LIBC;
}

TextOrder
sort_key_text_order(Oid collation)
{
	CollationProvider provider;

	if (pg_collate_is_c(collation))
		return TEXT_BYTEWISE;
	provider = collation_provider(collation);
	return order_of_provider(&provider);
}

/* *verified: do keys only guess at the order? */
static bool
describe_collation(Oid collation, TextOrder *order, bool *verified, Declined *why_not)
{
	CollationProvider provider;
	SortKeyTrust trust;
	const char *setting;

	*order = TEXT_BYTEWISE;
	if (!OidIsValid(collation))
		return declined_because(why_not, DECLINED_COLLATION,
								"no collation could be derived for the sort column");
	if (pg_collate_is_c(collation))
		return true;

	provider = collation_provider(collation);
	*order = order_of_provider(&provider);
	*verified = *order != TEXT_ICU;
	if (*verified)
		return true;
	if (provider.letter != COLLPROVIDER_ICU)
		return declined_because(why_not, DECLINED_COLLATION,
								psprintf("collation \"%s\" of provider unknown has no exact sort key",
										 provider.name));
	trust = sort_key_icu_trust(collation, &setting);
	if (trust == SORT_KEY_WRONG)
		return declined_because(why_not, DECLINED_COLLATION,
								psprintf("collation \"%s\" of provider icu has no exact sort key: %s",
										 provider.name, setting));
	*verified = trust == SORT_KEY_GUESS;
	return true;
}

/* Is this the family of one of the orders that ignore the collation? */
static bool
is_pattern_family(SortKeyKind kind, Oid opfamily)
{
	return (kind == SORT_KEY_TEXT && opfamily == TEXT_PATTERN_BTREE_FAM_OID) ||
		   (kind == SORT_KEY_BPCHAR && opfamily == BPCHAR_PATTERN_BTREE_FAM_OID);
}

/*
 * Is this how values of the type are ordered by default?  Somebody may have made an operator class for one
 * enum or composite type alone.
 */
static bool
is_default_order(const SortKeyType *entry, Oid type, Oid opfamily, Oid opcintype)
{
	TypeCacheEntry *typcache = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);

	return opfamily == typcache->btree_opf && opcintype == typcache->btree_opintype &&
		   (!is_made_type(entry) || opcintype == entry->type);
}

static bool
decline_type(Oid type, Declined *why_not)
{
	return declined_because(why_not, DECLINED_TYPE,
							psprintf("type %s has no exact sort key", format_type_be(type)));
}

static bool
decline_guess(Oid collation, Declined *why_not)
{
	CollationProvider provider = collation_provider(collation);

	return declined_because(why_not, DECLINED_COLLATION,
							psprintf("collation \"%s\" of provider %s has no exact sort key", provider.name,
									 provider.letter == COLLPROVIDER_LIBC ? "libc" : "icu"));
}

static bool describe_parts(Oid type, Oid collation, SortKeyColumn *col, Declined *why_not);

/*
 * Fills in how values of a base type become bytes; bytewise: whatever the collation.  Markers are those of
 * NULLs last.
 */
static bool
describe_values(const SortKeyType *entry, Oid type, bool bytewise, Oid collation, SortKeyColumn *col,
				Declined *why_not)
{
	bool is_text =
		entry->kind == SORT_KEY_TEXT || entry->kind == SORT_KEY_BPCHAR || entry->kind == SORT_KEY_NAME;
	TextOrder order = TEXT_BYTEWISE;
	bool verified = false;

	memset(col, 0, sizeof(*col));
	if (is_text && !bytewise && !describe_collation(collation, &order, &verified, why_not))
		return false;
	col->kind = entry->kind;
	col->width = entry->width;
	col->append = order == TEXT_LIBC || (order == TEXT_ICU && verified) ? sort_key_append_imaged
				  : order == TEXT_ICU									? sort_key_append_icu
																		: entry->append;
	col->self_marked = entry->self_marked;
	col->null_marker = col->self_marked ? 0xFF : 1;
	col->type = type;
	col->collation = order != TEXT_BYTEWISE ? collation : InvalidOid;
	col->verified = verified;
	return describe_parts(type, collation, col, why_not);
}

/* ---------------------------------------------------------------- parts */

static SortKeyParts *
create_parts(SortKeyColumn *col, int ncolumns)
{
	col->parts = palloc0(sizeof(SortKeyParts));
	col->parts->columns = palloc0(sizeof(SortKeyColumn) * ncolumns);
	return col->parts;
}

/* Adds a part of this type, in the order of the family, or, InvalidOid, in its default order. */
static bool
add_part(SortKeyParts *parts, Oid type, Oid opfamily, Oid opcintype, Oid collation, Declined *why_not)
{
	SortKeyColumn *part = &parts->columns[parts->ncolumns++];
	Oid base_type = getBaseType(type);
	const SortKeyType *entry = find_type(base_type);
	bool bytewise;

	if (entry == NULL)
		return decline_type(type, why_not);
	if (!OidIsValid(opfamily))
	{
		TypeCacheEntry *typcache = lookup_type_cache(base_type, TYPECACHE_BTREE_OPFAMILY);

		opfamily = typcache->btree_opf;
		opcintype = typcache->btree_opintype;
	}
	bytewise = is_pattern_family(entry->kind, opfamily);
	if (!bytewise && !is_default_order(entry, base_type, opfamily, opcintype))
		return declined_because(why_not, DECLINED_OPERATOR,
								psprintf("values of type %s are ordered by an operator class of another kind",
										 format_type_be(type)));
	if (!describe_values(entry, base_type, bytewise, collation, part, why_not))
		return false;
	if (part->verified)
		return decline_guess(collation, why_not);
	part->self_marked = false;
	part->value_marker = PART_VALUE;
	part->null_marker = PART_ABOVE;
	return true;
}

static bool
describe_elements(Oid type, Oid collation, SortKeyColumn *col, Declined *why_not)
{
	SortKeyParts *parts = create_parts(col, 1);

	parts->element_type = get_element_type(type);
	get_typlenbyvalalign(parts->element_type, &parts->length, &parts->by_value, &parts->align);
	return add_part(parts, parts->element_type, InvalidOid, InvalidOid, collation, why_not);
}

static bool
describe_record(Oid type, SortKeyColumn *col, Declined *why_not)
{
	TupleDesc desc = lookup_rowtype_tupdesc_copy(type, -1);
	SortKeyParts *parts = create_parts(col, desc->natts);

	parts->desc = desc;
	parts->values = palloc(sizeof(Datum) * desc->natts);
	parts->isnull = palloc(sizeof(bool) * desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		if (!add_part(parts, att->atttypid, InvalidOid, InvalidOid, att->attcollation, why_not))
			return false;
		parts->columns[parts->ncolumns - 1].attidx = i;
	}
	return true;
}

/* Bounds are in the order of an operator class that was named when the type was made, or of the default. */
static bool
describe_range(Oid type, SortKeyColumn *col, Declined *why_not)
{
	SortKeyParts *parts = create_parts(col, 1);
	HeapTuple tuple = SearchSysCache1(RANGETYPE, ObjectIdGetDatum(type));
	FormData_pg_range range;
	Oid opfamily;
	Oid opcintype;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for range type %u", type);
	range = *(Form_pg_range) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	parts->range = lookup_type_cache(type, TYPECACHE_RANGE_INFO);
	if (!get_opclass_opfamily_and_input_type(range.rngsubopc, &opfamily, &opcintype))
		elog(ERROR, "cache lookup failed for operator class %u", range.rngsubopc);
	return add_part(parts, range.rngsubtype, opfamily, opcintype, range.rngcollation, why_not);
}

/* What the values of a column are made of. */
static bool
describe_parts(Oid type, Oid collation, SortKeyColumn *col, Declined *why_not)
{
	check_stack_depth();
	switch (col->kind)
	{
		case SORT_KEY_ARRAY:
			return describe_elements(type, collation, col, why_not);
		case SORT_KEY_RECORD:
			return describe_record(type, col, why_not);
		case SORT_KEY_RANGE:
			return describe_range(type, col, why_not);
		case SORT_KEY_MULTIRANGE:
			return describe_range(get_multirange_range(type), col, why_not);
		default:
			return true;
	}
}

/* ---------------------------------------------------------------- columns */

bool
sort_key_describe(const SortColumnSpec *spec, SortKeyColumn *col, Declined *why_not)
{
	Oid type = getBaseType(spec->type);
	const SortKeyType *entry = find_type(type);
	Oid opfamily;
	Oid opcintype;
	CompareType direction;
	bool bytewise;

	if (entry == NULL)
		return decline_type(spec->type, why_not);
	if (!get_ordering_op_properties(spec->sortop, &opfamily, &opcintype, &direction) ||
		!((bytewise = is_pattern_family(entry->kind, opfamily)) ||
		  is_default_order(entry, type, opfamily, opcintype)))
	{
		char *opname = get_opname(spec->sortop);

		return declined_because(why_not, DECLINED_OPERATOR,
								psprintf("operator %s is not the default ordering of type %s",
										 opname ? opname : "(unknown)", format_type_be(spec->type)));
	}

	if (!describe_values(entry, type, bytewise, spec->collation, col, why_not))
	{
		if (col->parts != NULL)
			why_not->words = psprintf("type %s: %s", format_type_be(spec->type), why_not->words);
		return false;
	}
	col->attidx = spec->attno - 1;
	if (spec->nulls_first)
		col->null_marker = 0;
	col->value_marker = spec->nulls_first ? 1 : 0;
	col->descending = direction == COMPARE_GT;
	col->invert = col->descending ? PG_UINT64_MAX : 0;
	return true;
}

bool
sort_key_supported_if_verified(const SortColumnSpec *column, bool *verified, Declined *why_not)
{
	SortKeyColumn col;

	if (!sort_key_describe(column, &col, why_not))
		return false;
	*verified = col.verified;
	return true;
}

bool
sort_key_supported_for_index(const SortColumnSpec *column, Declined *why_not)
{
	SortKeyColumn col;

	if (!sort_key_describe(column, &col, why_not))
		return false;
	return !col.verified || sort_key_text_order(column->collation) != TEXT_ICU ||
		   decline_guess(column->collation, why_not);
}
