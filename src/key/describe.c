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
#include "access/nbtree.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_range.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

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
	{TSVECTOROID, SORT_KEY_TSVECTOR, 0, sort_key_append_tsvector},
	{TSQUERYOID, SORT_KEY_TSQUERY, 0, sort_key_append_tsquery},
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
	entry = find_compared_type(builtin);
	return entry != NULL && is_stored_alike(type, entry->type) ? entry : NULL;
}

static bool
is_made_type(const SortKeyType *entry)
{
	return entry >= made_types && entry < made_types + lengthof(made_types);
}

/* Is this the family of one of the orders that ignore the collation? */
static bool
is_pattern_family(SortKeyKind kind, Oid opfamily)
{
	return (kind == SORT_KEY_TEXT && opfamily == TEXT_PATTERN_BTREE_FAM_OID) ||
		   (kind == SORT_KEY_BPCHAR && opfamily == BPCHAR_PATTERN_BTREE_FAM_OID);
}

static bool
is_text(SortKeyKind kind)
{
	switch (kind)
	{
		case SORT_KEY_TEXT:
		case SORT_KEY_BPCHAR:
		case SORT_KEY_NAME:
		case SORT_KEY_CITEXT:
		case SORT_KEY_JSONB_STRING:
			return true;
		default:
			return false;
	}
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

/*
 * What becomes of values of the base type in the order of this operator class; *bytewise: whatever the
 * collation.  NULL: nothing exact.
 */
static const SortKeyType *
find_order(Oid type, Oid opfamily, Oid opcintype, bool *bytewise)
{
	const SortKeyType *entry = find_type(type);

	*bytewise = entry != NULL && is_pattern_family(entry->kind, opfamily);
	if (*bytewise || (entry != NULL && is_default_order(entry, type, opfamily, opcintype)))
		return entry;
	return find_by_comparison(type, opfamily, opcintype);
}

static bool
decline_type(Oid type, Declined *why_not)
{
	return declined_because(why_not, DECLINED_TYPE,
							psprintf("type %s has no exact sort key", format_type_be(type)));
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
	TextOrder order = TEXT_BYTEWISE;
	bool verified = false;

	memset(col, 0, sizeof(*col));
	if (is_text(entry->kind) && !bytewise &&
		!sort_key_describe_collation(collation, &order, &verified, why_not))
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

/* Adds a part, whose values are encoded so. */
static bool
add_part_as(SortKeyColumn *col, const SortKeyType *entry, Oid type, bool bytewise, Oid collation,
			Declined *why_not)
{
	SortKeyColumn *part = &col->parts->columns[col->parts->ncolumns++];

	if (!describe_values(entry, type, bytewise, collation, part, why_not))
		return false;
	part->self_marked = false;
	part->value_marker = PART_VALUE;
	part->null_marker = PART_ABOVE;
	col->verified |= part->verified;
	return true;
}

/* Adds a part of this type, in the order of the family, or, InvalidOid, in its default order. */
static bool
add_part(SortKeyColumn *col, Oid type, Oid opfamily, Oid opcintype, Oid collation, Declined *why_not)
{
	Oid base_type = getBaseType(type);
	const SortKeyType *entry;
	bool bytewise;

	if (!OidIsValid(opfamily))
	{
		TypeCacheEntry *typcache = lookup_type_cache(base_type, TYPECACHE_BTREE_OPFAMILY);

		opfamily = typcache->btree_opf;
		opcintype = typcache->btree_opintype;
	}
	entry = OidIsValid(opfamily) ? find_order(base_type, opfamily, opcintype, &bytewise) : NULL;
	if (entry != NULL)
		return add_part_as(col, entry, base_type, bytewise, collation, why_not);
	if (find_type(base_type) == NULL)
		return decline_type(type, why_not);
	return declined_because(why_not, DECLINED_OPERATOR,
							psprintf("values of type %s are ordered by an operator class of another kind",
									 format_type_be(type)));
}

static bool
describe_elements(Oid type, Oid collation, SortKeyColumn *col, Declined *why_not)
{
	SortKeyParts *parts = create_parts(col, 1);

	parts->element_type = get_element_type(type);
	get_typlenbyvalalign(parts->element_type, &parts->length, &parts->by_value, &parts->align);
	return add_part(col, parts->element_type, InvalidOid, InvalidOid, collation, why_not);
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
		if (!add_part(col, att->atttypid, InvalidOid, InvalidOid, att->attcollation, why_not))
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
	return add_part(col, range.rngsubtype, opfamily, opcintype, range.rngcollation, why_not);
}

/* Strings, in the order of the database's collation, and numbers. */
static bool
describe_jsonb(SortKeyColumn *col, Declined *why_not)
{
	static const SortKeyType string = {TEXTOID, SORT_KEY_JSONB_STRING, 0, sort_key_append_text};
	SortKeyColumn *columns = create_parts(col, 2)->columns;

	if (!add_part_as(col, &string, TEXTOID, false, DEFAULT_COLLATION_OID, why_not) ||
		!add_part(col, NUMERICOID, InvalidOid, InvalidOid, InvalidOid, why_not))
		return false;
	columns[JSONB_STRINGS].value_marker = JSONB_STRING;
	columns[JSONB_NUMBERS].value_marker = JSONB_NUMERIC;
	return true;
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
		case SORT_KEY_JSONB:
			return describe_jsonb(col, why_not);
		case SORT_KEY_TSVECTOR:
		case SORT_KEY_TSQUERY:
			(void) create_parts(col, 0); /* no columns, but fields */
			return true;
		default:
			return true;
	}
}

/* ---------------------------------------------------------------- columns */

static bool
decline_order(const SortColumnSpec *spec, Declined *why_not)
{
	char *opname = get_opname(spec->sortop);

	return declined_because(why_not, DECLINED_OPERATOR,
							psprintf("operator %s is not the default ordering of type %s",
									 opname ? opname : "(unknown)", format_type_be(spec->type)));
}

/* Values made of others that can only be guessed at stand whole behind the guess. */
static void
keep_whole(SortKeyColumn *col, Oid comparison, Oid collation)
{
	col->comparison = comparison;
	col->guess = col->append;
	col->append = sort_key_append_whole;
	col->self_marked = false;
	col->null_marker = 1;
	col->collation = collation;
}

bool
sort_key_describe(const SortColumnSpec *spec, SortKeyColumn *col, Declined *why_not)
{
	Oid type = getBaseType(spec->type);
	const SortKeyType *entry = NULL;
	Oid opfamily;
	Oid opcintype;
	CompareType direction;
	bool bytewise;

	if (get_ordering_op_properties(spec->sortop, &opfamily, &opcintype, &direction))
		entry = find_order(type, opfamily, opcintype, &bytewise);
	if (entry == NULL)
		return find_type(type) == NULL ? decline_type(spec->type, why_not) : decline_order(spec, why_not);
	if (!describe_values(entry, type, bytewise, spec->collation, col, why_not))
	{
		if (col->parts != NULL)
			why_not->words = psprintf("type %s: %s", format_type_be(spec->type), why_not->words);
		return false;
	}
	if (col->verified && col->parts != NULL)
		keep_whole(col, get_opfamily_proc(opfamily, opcintype, opcintype, BTORDER_PROC), spec->collation);
	col->attidx = spec->attno - 1;
	col->unmarked = spec->not_null && col->width > 0;
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

/* The part, or the column itself, whose order ICU's keys guess at; NULL: there is none. */
static const SortKeyColumn *
find_guess_of_icu(const SortKeyColumn *col)
{
	const SortKeyColumn *found = NULL;

	if (!col->verified)
		return NULL;
	if (col->parts == NULL)
		return sort_key_text_order(col->collation) == TEXT_ICU ? col : NULL;
	for (int i = 0; i < col->parts->ncolumns && found == NULL; i++)
		found = find_guess_of_icu(&col->parts->columns[i]);
	return found;
}

bool
sort_key_supported_for_index(const SortColumnSpec *column, Declined *why_not)
{
	SortKeyColumn col;
	const SortKeyColumn *guess;

	if (!sort_key_describe(column, &col, why_not))
		return false;
	guess = find_guess_of_icu(&col);
	return guess == NULL || sort_key_decline_guess(guess->collation, why_not);
}
