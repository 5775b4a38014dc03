/*
 * key/describe.c
 *		Which columns can be encoded exactly, and how.
 *
 * A column's order is that of its operator's family for its base type (type_table.c); for types of text the
 * collation has a say too.  Arrays, ranges and composite types order by the default ordering of their
 * components, ranges by one of their own, and so are taken if these are.  In the order of record_image_ops
 * all columns of composite types are taken, by their bytes.
 */
#include "postgres.h"

#include "key/collation.h"
#include "key/describe.h"
#include "key/encoders.h"
#include "key/type_table.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_range.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

static bool
is_text(SortKeyKind kind)
{
	return kind == SORT_KEY_TEXT || kind == SORT_KEY_BPCHAR || kind == SORT_KEY_NAME ||
		   kind == SORT_KEY_CITEXT || kind == SORT_KEY_JSONB_STRING;
}

static bool
is_signed(SortKeyKind kind)
{
	return kind == SORT_KEY_INT16 || kind == SORT_KEY_INT32 || kind == SORT_KEY_INT64;
}

static bool
decline_type(Oid type, Declined *why_not)
{
	return declined_because(why_not, DECLINED_TYPE,
							psprintf("type %s has no exact sort key", format_type_be(type)));
}

static bool describe_components(Oid type, TupleDesc row, Oid collation, SortKeyColumn *col,
								Declined *why_not);

/*
 * Fills in how values of a base type become bytes; row: see SortColumnSpec; bytewise: whatever the collation.
 * Markers are those of NULLs last.
 */
static bool
describe_values(const SortKeyType *entry, Oid type, TupleDesc row, bool bytewise, Oid collation,
				SortKeyColumn *col, Declined *why_not)
{
	TextOrder order = TEXT_BYTEWISE;
	bool verified = false;

	memset(col, 0, sizeof(*col));
	if (is_text(entry->kind) && !bytewise &&
		!sort_key_describe_collation(collation, &order, &verified, why_not))
		return false;
	col->kind = entry->kind;
	col->width = entry->width;
	if (is_signed(entry->kind))
		col->flip = UINT64CONST(1) << (entry->width * BITS_PER_BYTE - 1);
	col->append = order == TEXT_LIBC || (order == TEXT_ICU && verified) ? sort_key_append_imaged
				  : order == TEXT_ICU									? sort_key_append_icu
																		: entry->append;
	col->self_marked = entry->self_marked;
	col->null_marker = col->self_marked ? 0xFF : 1;
	col->type = type;
	col->collation = order != TEXT_BYTEWISE ? collation : InvalidOid;
	col->verified = verified;
	col->uses_icu = col->append == sort_key_append_icu;
	return describe_components(type, row, collation, col, why_not);
}

/* ---------------------------------------------------------------- components */

static SortKeyComponents *
create_components(SortKeyColumn *col, int ncolumns)
{
	col->components = palloc0(sizeof(SortKeyComponents));
	col->components->columns = palloc0(sizeof(SortKeyColumn) * ncolumns);
	return col->components;
}

/* Adds a component, whose values are encoded so. */
static bool
add_component_as(SortKeyColumn *col, const SortKeyType *entry, Oid type, bool bytewise, Oid collation,
				 Declined *why_not)
{
	SortKeyColumn *component = &col->components->columns[col->components->ncolumns++];

	if (!describe_values(entry, type, NULL, bytewise, collation, component, why_not))
		return false;
	component->self_marked = false;
	component->value_marker = COMPONENT_VALUE;
	component->null_marker = COMPONENT_ABOVE;
	col->verified |= component->verified;
	col->uses_icu |= component->uses_icu;
	return true;
}

/* Adds a component of this type, in the order of the family, or, InvalidOid, in its default order. */
static bool
add_component(SortKeyColumn *col, Oid type, Oid opfamily, Oid opcintype, Oid collation, Declined *why_not)
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
	entry = OidIsValid(opfamily) ? sort_key_find_order(base_type, opfamily, opcintype, &bytewise) : NULL;
	if (entry != NULL)
		return add_component_as(col, entry, base_type, bytewise, collation, why_not);
	if (sort_key_find_type(base_type) == NULL)
		return decline_type(type, why_not);
	return declined_because(why_not, DECLINED_OPERATOR,
							psprintf("values of type %s are ordered by an operator class of another kind",
									 format_type_be(type)));
}

/* Adds a component in the order of its bytes. */
static bool
add_image(SortKeyColumn *col, Form_pg_attribute att, Declined *why_not)
{
	const SortKeyType *entry = sort_key_find_image(att->attlen, att->attbyval);

	if (entry == NULL)
		return decline_type(att->atttypid, why_not);
	if (!add_component_as(col, entry, att->atttypid, true, InvalidOid, why_not))
		return false;
	col->components->columns[col->components->ncolumns - 1].length = att->attlen;
	return true;
}

static bool
describe_elements(Oid type, Oid collation, SortKeyColumn *col, Declined *why_not)
{
	SortKeyComponents *components = create_components(col, 1);

	components->element_type = get_element_type(type);
	get_typlenbyvalalign(components->element_type, &components->length, &components->by_value,
						 &components->align);
	return add_component(col, components->element_type, InvalidOid, InvalidOid, collation, why_not);
}

bool
sort_key_describe_record(Oid type, TupleDesc row, SortKeyColumn *col, Declined *why_not)
{
	TypeCacheEntry *typcache = lookup_type_cache(type, TYPECACHE_TUPDESC);
	TupleDesc desc;
	SortKeyComponents *components;

	if (row == NULL)
		row = typcache->tupDesc;
	if (row == NULL)
		return decline_type(type, why_not);
	desc = CreateTupleDescCopyConstr(row);
	components = create_components(col, desc->natts);
	components->composite = typcache;
	components->version = typcache->tupDesc_identifier;
	components->desc = desc;
	components->typmod = -1;
	components->values = palloc(sizeof(Datum) * desc->natts);
	components->isnull = palloc(sizeof(bool) * desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		if (!(col->kind == SORT_KEY_RECORD_IMAGE
				  ? add_image(col, att, why_not)
				  : add_component(col, att->atttypid, InvalidOid, InvalidOid, att->attcollation, why_not)))
			return false;
		components->columns[components->ncolumns - 1].attidx = i;
	}
	return true;
}

/* Bounds are in the order of an operator class that was named when the type was made, or of the default. */
static bool
describe_range(Oid type, SortKeyColumn *col, Declined *why_not)
{
	SortKeyComponents *components = create_components(col, 1);
	HeapTuple tuple = SearchSysCache1(RANGETYPE, ObjectIdGetDatum(type));
	FormData_pg_range range;
	Oid opfamily;
	Oid opcintype;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for range type %u", type);
	range = *(Form_pg_range) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	components->range = lookup_type_cache(type, TYPECACHE_RANGE_INFO);
	if (!get_opclass_opfamily_and_input_type(range.rngsubopc, &opfamily, &opcintype))
		elog(ERROR, "cache lookup failed for operator class %u", range.rngsubopc);
	return add_component(col, range.rngsubtype, opfamily, opcintype, range.rngcollation, why_not);
}

/* Strings, in the order of the database's collation, and numbers. */
static bool
describe_jsonb(SortKeyColumn *col, Declined *why_not)
{
	static const SortKeyType string = {TEXTOID, SORT_KEY_JSONB_STRING, 0, sort_key_append_text};
	SortKeyColumn *columns = create_components(col, 2)->columns;

	if (!add_component_as(col, &string, TEXTOID, false, DEFAULT_COLLATION_OID, why_not) ||
		!add_component(col, NUMERICOID, InvalidOid, InvalidOid, InvalidOid, why_not))
		return false;
	columns[JSONB_STRINGS].value_marker = JSONB_STRING;
	columns[JSONB_NUMBERS].value_marker = JSONB_NUMERIC;
	return true;
}

/* What the values of a column are made of. */
static bool
describe_components(Oid type, TupleDesc row, Oid collation, SortKeyColumn *col, Declined *why_not)
{
	check_stack_depth();
	switch (col->kind)
	{
		case SORT_KEY_ARRAY:
			return describe_elements(type, collation, col, why_not);
		case SORT_KEY_RECORD:
		case SORT_KEY_RECORD_IMAGE:
			return sort_key_describe_record(type, row, col, why_not);
		case SORT_KEY_RANGE:
			return describe_range(type, col, why_not);
		case SORT_KEY_MULTIRANGE:
			return describe_range(get_multirange_range(type), col, why_not);
		case SORT_KEY_JSONB:
			return describe_jsonb(col, why_not);
		case SORT_KEY_TSVECTOR:
			(void) create_components(col, 0); /* no columns, but fields */
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
	get_typlenbyval(col->type, &col->length, &col->by_value);
	col->self_marked = false;
	col->null_marker = 1;
	col->collation = collation;
}

/*
 * Where the column is, and how its values and its NULLs are sorted.  null_marker is that of NULLs last
 * already (describe_values, keep_whole).
 */
static void
set_order(SortKeyColumn *col, const SortColumnSpec *spec, CompareType direction)
{
	col->attidx = spec->attno - 1;
	col->unmarked = spec->not_null && col->width > 0;
	if (spec->nulls_first)
		col->null_marker = 0;
	col->value_marker = spec->nulls_first ? 1 : 0;
	col->descending = direction == COMPARE_GT;
	if (col->descending)
		col->flip = ~col->flip;
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
		entry = sort_key_find_order(type, opfamily, opcintype, &bytewise);
	if (entry == NULL)
		return sort_key_find_type(type) == NULL ? decline_type(spec->type, why_not)
												: decline_order(spec, why_not);
	if (!describe_values(entry, type, spec->row, bytewise, spec->collation, col, why_not))
	{
		if (col->components != NULL)
			why_not->words = psprintf("type %s: %s", format_type_be(spec->type), why_not->words);
		return false;
	}
	if (col->verified && col->components != NULL)
		keep_whole(col, get_opfamily_proc(opfamily, opcintype, opcintype, BTORDER_PROC), spec->collation);
	set_order(col, spec, direction);
	return true;
}

bool
sort_key_describe_anyhow(const SortColumnSpec *spec, SortKeyColumn *col, Declined *why_not)
{
	Oid opfamily;
	Oid opcintype;
	CompareType direction;

	if (sort_key_describe(spec, col, why_not))
		return true;
	if (!get_ordering_op_properties(spec->sortop, &opfamily, &opcintype, &direction))
		elog(ERROR, "operator %u is not a valid ordering operator", spec->sortop);
	memset(col, 0, sizeof(*col));
	col->kind = SORT_KEY_UNKNOWN;
	col->type = getBaseType(spec->type);
	col->verified = true;
	(void) create_components(col, 0);
	keep_whole(col, get_opfamily_proc(opfamily, opcintype, opcintype, BTORDER_PROC), spec->collation);
	set_order(col, spec, direction);
	return false;
}

int
sort_key_fixed_width(int ncols, const SortKeyColumn *cols)
{
	int width = 0;

	for (int i = 0; i < ncols; i++)
	{
		if (cols[i].width == 0)
			return 0;
		width += sort_key_marker_bytes(&cols[i]) + cols[i].width;
	}
	width = TYPEALIGN(8, width);
	return width <= SORT_KEY_MAX_FIXED_WIDTH ? width : 0;
}
