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

/* Who compares by this collation (a COLLPROVIDER_ letter), and what the person who chose it called it. */
static char
collation_provider(Oid collation, char **name)
{
	char provider;

	if (collation == DEFAULT_COLLATION_OID)
	{
		HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
		Datum collate;
		bool isnull;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
		provider = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
		collate = SysCacheGetAttr(DATABASEOID, tuple, Anum_pg_database_datcollate, &isnull);
		*name = isnull ? pstrdup("default") : TextDatumGetCString(collate);
		ReleaseSysCache(tuple);
	}
	else
	{
		HeapTuple tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
		Form_pg_collation form;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for collation %u", collation);
		form = (Form_pg_collation) GETSTRUCT(tuple);
		provider = form->collprovider;
		*name = pstrdup(NameStr(form->collname));
		ReleaseSysCache(tuple);
	}
	return provider;
}

/* Decides how text is ordered: by its bytes, or, if *icu is set, by an ICU collation. */
static bool
describe_collation(Oid collation, bool *icu, Declined *why_not)
{
	char *name;
	char provider;
	const char *setting;

	*icu = false;
	if (!OidIsValid(collation))
		return declined_because(why_not, DECLINED_COLLATION,
								"no collation could be derived for the sort column");
	if (pg_collate_is_c(collation))
		return true;

	provider = collation_provider(collation, &name);
	if (provider != COLLPROVIDER_ICU)
		return declined_because(why_not, DECLINED_COLLATION,
								psprintf("collation \"%s\" of provider %s has no exact sort key", name,
										 provider == COLLPROVIDER_LIBC ? "libc" : "unknown"));
	if (!sort_key_icu_exact(collation, &setting))
		return declined_because(why_not, DECLINED_COLLATION,
								psprintf("collation \"%s\" of provider icu has no exact sort key: %s", name,
										 setting));
	*icu = true;
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
	bool icu = false;

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

	if (!bytewise && type_is_collatable(type) && !describe_collation(spec->collation, &icu, why_not))
		return false;

	memset(col, 0, sizeof(*col));
	col->attidx = spec->attno - 1;
	col->kind = entry->kind;
	col->width = entry->width;
	col->append = icu ? sort_key_append_icu : entry->append;
	col->self_marked = entry->self_marked;
	col->null_marker = spec->nulls_first ? 0 : (col->self_marked ? 0xFF : 1);
	col->value_marker = spec->nulls_first ? 1 : 0;
	col->descending = direction == COMPARE_GT;
	col->invert = col->descending ? PG_UINT64_MAX : 0;
	col->type = type;
	col->collation = icu ? spec->collation : InvalidOid;
	return true;
}

bool
sort_key_supported(const SortColumnSpec *column, Declined *why_not)
{
	SortKeyColumn col;

	return sort_key_describe(column, &col, why_not);
}
