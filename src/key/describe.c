/*
 * key/describe.c
 *		Which columns can be encoded exactly, and how: the one table of types.
 *
 * A column's order is that of its operator's family for its base type.  Only the default ordering of a type
 * that is in the table counts, and the bytewise ones of text_pattern_ops and bpchar_pattern_ops; for types of
 * text the collation has a say too.
 */
#include "postgres.h"

#include "key/types.h"

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_opfamily.h"
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
	{ANYENUMOID, SORT_KEY_ENUM, 4}, /* stands for all enums */
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
};

static const SortKeyType *
find_type(Oid type)
{
	if (type_is_enum(type))
		type = ANYENUMOID;
	for (int i = 0; i < lengthof(sort_key_types); i++)
	{
		if (sort_key_types[i].type == type)
			return &sort_key_types[i];
	}
	return NULL;
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

bool
sort_key_describe(const SortColumnSpec *spec, SortKeyColumn *col, Declined *why_not)
{
	Oid type = getBaseType(spec->type);
	const SortKeyType *entry = find_type(type);
	TypeCacheEntry *typcache;
	Oid opfamily;
	Oid opcintype;
	CompareType direction;
	bool bytewise;
	bool verified = false;
	TextOrder order = TEXT_BYTEWISE;

	if (entry == NULL)
		return declined_because(why_not, DECLINED_TYPE,
								psprintf("type %s has no exact sort key", format_type_be(spec->type)));

	typcache = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
	if (!get_ordering_op_properties(spec->sortop, &opfamily, &opcintype, &direction) ||
		!((bytewise = is_pattern_family(entry->kind, opfamily)) ||
		  (opfamily == typcache->btree_opf && opcintype == typcache->btree_opintype)))
	{
		char *opname = get_opname(spec->sortop);

		return declined_because(why_not, DECLINED_OPERATOR,
								psprintf("operator %s is not the default ordering of type %s",
										 opname ? opname : "(unknown)", format_type_be(spec->type)));
	}

	if (!bytewise && type_is_collatable(type) &&
		!describe_collation(spec->collation, &order, &verified, why_not))
		return false;

	memset(col, 0, sizeof(*col));
	col->attidx = spec->attno - 1;
	col->kind = entry->kind;
	col->width = entry->width;
	col->append = order == TEXT_LIBC || (order == TEXT_ICU && verified) ? sort_key_append_imaged
				  : order == TEXT_ICU									? sort_key_append_icu
																		: entry->append;
	col->self_marked = entry->self_marked;
	col->null_marker = spec->nulls_first ? 0 : (col->self_marked ? 0xFF : 1);
	col->value_marker = spec->nulls_first ? 1 : 0;
	col->descending = direction == COMPARE_GT;
	col->invert = col->descending ? PG_UINT64_MAX : 0;
	col->type = type;
	col->collation = order != TEXT_BYTEWISE ? spec->collation : InvalidOid;
	col->verified = verified;
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
	if (col.verified && sort_key_text_order(column->collation) == TEXT_ICU)
		return declined_because(why_not, DECLINED_COLLATION,
								psprintf("collation \"%s\" of provider icu has no exact sort key",
										 collation_provider(column->collation).name));
	return true;
}
