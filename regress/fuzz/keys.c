/*
 * regress/fuzz/keys.c
 *		Two rows of one to three columns: do their keys compare as PostgreSQL compares the columns?
 *
 * A case says the columns' types and collations, out of the table fuzz_columns that setup.sql makes, the
 * directions, and the values.  The second row is made of bytes of its own, or of the first one's with a few
 * changes, for rows that differ little tell most.  What must hold:
 *
 *	- Keys compare as PostgreSQL's sort compares the rows; keys that only guess do so by their comparison.
 *	- A row has the same key, or at least an equal guess, however it is stored.
 *	- Where rows are made of their keys they are what they were.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/itup.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/typcache.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "key/compare.h"
#include "key/key_row.h"
#include "key/sort_key.h"
#include "memory/arena.h"

#include "fuzz.h"

#define MOST_COLUMNS 3

/* Keys that are kept, as making one asks the catalogs. */
#define MOST_KEYS 512

/* How long a row of the first one's bytes may be. */
#define MOST_BYTES 65536

/* base/guc.c, which is not linked here, has it in the extension. */
int gpusort_spoiled_images = 0;

/* memory/arena.c likewise: the keys of this target have no tables of values. */
void *
arena_alloc(Arena *arena, Size size)
{
	return NULL;
}

/* ---- columns that there are ---- */

typedef struct Column
{
	Oid type;
	Oid collation;
	Oid less;
	Oid greater;
} Column;

static Column *columns;
static int ncolumns;

static Oid
value_of(int row, int number, Oid if_null)
{
	bool isnull;
	Datum value = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, number, &isnull);

	return isnull ? if_null : DatumGetObjectId(value);
}

static void
read_columns(void)
{
	MemoryContext caller = CurrentMemoryContext;

	SPI_connect();
	if (SPI_execute("SELECT type, ordered_by, less, greater FROM fuzz_columns ORDER BY number", true, 0) !=
		SPI_OK_SELECT)
		elog(ERROR, "could not read fuzz_columns");
	ncolumns = SPI_processed;
	columns = MemoryContextAllocZero(caller, sizeof(Column) * ncolumns);
	for (int i = 0; i < ncolumns; i++)
	{
		Column *column = &columns[i];
		TypeCacheEntry *typcache;

		column->type = value_of(i, 1, InvalidOid);
		typcache = lookup_type_cache(getBaseType(column->type), TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
		column->collation = value_of(i, 2, get_typcollation(column->type));
		column->less = value_of(i, 3, typcache->lt_opr);
		column->greater = value_of(i, 4, typcache->gt_opr);
	}
	SPI_finish();
}

/* ---- keys ---- */

/* What a case sorts by, as its first bytes say; these are the same for the same key. */
typedef struct Order
{
	int ncolumns;
	bool of_index; /* the tid is the last column, and rows are index tuples */
	uint8 column[MOST_COLUMNS];
	uint8 flags[MOST_COLUMNS];
} Order;

#define DESCENDING 0x01
#define NULLS_FIRST 0x02
#define NOT_NULL 0x04

typedef struct CachedKey
{
	Order order; /* the hash's key */
	int nall;	 /* columns, the tid included */
	TupleDesc desc;
	TupleDesc index_desc; /* without the tid; of_index */
	SortKey *key;
	KeyRow *rows; /* NULL: no rows are made of keys */
	SortKeyComparer *comparer;
	SortSupportData compare[MOST_COLUMNS + 1];
	TupleTableSlot *slot;
	TupleTableSlot *stored;
} CachedKey;

static MemoryContext keys_context;
static HTAB *keys;

static void
forget_keys(void)
{
	HASHCTL control = {.keysize = sizeof(Order), .entrysize = sizeof(CachedKey)};

	MemoryContextReset(keys_context);
	control.hcxt = keys_context;
	keys = hash_create("keys", MOST_KEYS, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void
prepare(void)
{
	read_columns();
	keys_context = AllocSetContextCreate(CurrentMemoryContext, "keys", ALLOCSET_DEFAULT_SIZES);
	forget_keys();
}

static void
prepare_comparison(SortSupport compare, const SortColumnSpec *spec)
{
	memset(compare, 0, sizeof(*compare));
	compare->ssup_cxt = CurrentMemoryContext;
	compare->ssup_collation = spec->collation;
	compare->ssup_nulls_first = spec->nulls_first;
	compare->ssup_attno = spec->attno;
	PrepareSortSupportFromOrderingOp(spec->sortop, compare);
}

static void
describe(const Order *order, CachedKey *made, SortColumnSpec *specs)
{
	made->nall = order->ncolumns + (order->of_index ? 1 : 0);
	made->desc = CreateTemplateTupleDesc(made->nall);
	for (int i = 0; i < order->ncolumns; i++)
	{
		const Column *column = &columns[order->column[i]];
		bool descending = (order->flags[i] & DESCENDING) != 0;

		TupleDescInitEntry(made->desc, i + 1, "v", column->type, -1, 0);
		TupleDescInitEntryCollation(made->desc, i + 1, column->collation);
		specs[i] = (SortColumnSpec){.attno = i + 1,
									.type = column->type,
									.sortop = descending ? column->greater : column->less,
									.collation = column->collation,
									.nulls_first = (order->flags[i] & NULLS_FIRST) != 0,
									.not_null = (order->flags[i] & NOT_NULL) != 0};
	}
	if (order->of_index)
	{
		TupleDescInitEntry(made->desc, made->nall, "ctid", TIDOID, -1, 0);
		specs[made->nall - 1] =
			(SortColumnSpec){.attno = made->nall, .type = TIDOID, .sortop = TIDLessOperator};
	}
	TupleDescFinalize(made->desc);
}

static void
make_key(const Order *order, CachedKey *made)
{
	SortColumnSpec specs[MOST_COLUMNS + 1];

	describe(order, made, specs);
	made->key = sort_key_create(made->nall, specs);
	if (order->of_index)
	{
		made->index_desc = CreateTemplateTupleDesc(order->ncolumns);
		for (int i = 1; i <= order->ncolumns; i++)
			TupleDescCopyEntry(made->index_desc, i, made->desc, i);
		TupleDescFinalize(made->index_desc);
		made->key->policy.index_rows = made->desc;
		made->key->policy.rows = made->rows = key_row_create_index(made->key, made->desc);
		made->key->policy.alone = made->rows != NULL;
	}
	else if (!made->key->variable)
		made->rows = key_row_create(made->key, made->desc, NULL);
	made->comparer = made->key->verified ? sort_key_comparer_create(made->key) : NULL;
	for (int i = 0; i < made->nall; i++)
		prepare_comparison(&made->compare[i], &specs[i]);
	made->slot = MakeSingleTupleTableSlot(made->desc, &TTSOpsVirtual);
	made->stored = MakeSingleTupleTableSlot(made->desc, &TTSOpsHeapTuple);
}

static CachedKey *
find_key(const Order *order)
{
	MemoryContext caller;
	CachedKey *found;
	bool is_there;

	if (hash_get_num_entries(keys) >= MOST_KEYS)
		forget_keys();
	found = hash_search(keys, order, HASH_ENTER, &is_there);
	if (is_there)
		return found;
	memset((char *) found + sizeof(Order), 0, sizeof(*found) - sizeof(Order));
	caller = MemoryContextSwitchTo(keys_context);
	make_key(order, found);
	MemoryContextSwitchTo(caller);
	return found;
}

/* ---- rows ---- */

typedef struct Row
{
	Datum values[MOST_COLUMNS + 1];
	bool isnull[MOST_COLUMNS + 1];
	const uint8 *key;
	Size size;
} Row;

static void
read_row(FuzzInput *input, const Order *order, const CachedKey *key, Row *row)
{
	for (int i = 0; i < order->ncolumns; i++)
	{
		row->isnull[i] = (order->flags[i] & NOT_NULL) == 0 && fuzz_byte(input) == 0xFF;
		row->values[i] = row->isnull[i] ? 0 : fuzz_value(input, columns[order->column[i]].type);
	}
	if (order->of_index)
	{
		ItemPointer tid = palloc(sizeof(ItemPointerData));
		uint64 place = fuzz_number(input, 3);

		ItemPointerSet(tid, place >> 8, 1 + (place & 0xFF));
		row->values[key->nall - 1] = PointerGetDatum(tid);
		row->isnull[key->nall - 1] = false;
	}
}

/* The first row's bytes, with some set, inserted or left out. */
static FuzzInput
change_bytes(FuzzInput *changes, const uint8 *from, Size size)
{
	uint8 *bytes = palloc(size + UINT8_MAX + 1);

	memcpy(bytes, from, size);
	for (int nchanges = fuzz_byte(changes) % 8; nchanges > 0; nchanges--)
	{
		int kind = fuzz_byte(changes) % 4;
		Size at = size > 0 ? fuzz_number(changes, 2) % size : 0;

		if (kind == 0 && size > 0)
			memmove(bytes + at, bytes + at + 1, --size - at);
		else if (kind == 1)
			memmove(bytes + at + 1, bytes + at, size++ - at);
		if (kind > 0 && size > 0)
			bytes[at] = kind == 3 ? bytes[at] + 1 : fuzz_byte(changes);
	}
	return (FuzzInput){bytes, bytes + size};
}

static Order
read_order(FuzzInput *input)
{
	uint8 form = fuzz_byte(input);
	Order order;

	memset(&order, 0, sizeof(order));
	order.ncolumns = 1 + (form & 0x03) % MOST_COLUMNS;
	order.of_index = (form & 0x04) != 0;
	for (int i = 0; i < order.ncolumns; i++)
	{
		order.column[i] = fuzz_byte(input) % ncolumns;
		order.flags[i] = fuzz_byte(input) & (DESCENDING | NULLS_FIRST | NOT_NULL);
	}
	return order;
}

/* False: the bytes make no rows. */
static bool
read_rows(FuzzInput *input, const Order *order, const CachedKey *key, Row *a, Row *b)
{
	MemoryContext caller = CurrentMemoryContext;
	volatile bool made = false;

	PG_TRY();
	{
		bool of_its_own = fuzz_byte(input) % 2 == 1;
		const uint8 *start = input->at;
		FuzzInput changed;

		read_row(input, order, key, a);
		if (of_its_own)
			read_row(input, order, key, b);
		else
		{
			changed = change_bytes(input, start, input->at - start);
			read_row(&changed, order, key, b);
		}
		made = true;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(caller);
		FlushErrorState();
	}
	PG_END_TRY();
	return made;
}

/* ---- what must hold ---- */

static const char *
in_hex(const uint8 *bytes, Size size)
{
	StringInfoData text;

	initStringInfo(&text);
	for (Size i = 0; i < Min(size, 200); i++)
		appendStringInfo(&text, "%02x", bytes[i]);
	return text.data;
}

static const char *
describe_row(const CachedKey *key, const Row *row)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < key->nall; i++)
	{
		Oid type = TupleDescAttr(key->desc, i)->atttypid;
		Oid function;
		bool is_varlena;

		getTypeOutputInfo(type, &function, &is_varlena);
		appendStringInfo(&text, "%s%s %s", i > 0 ? ", " : "", format_type_be(type),
						 row->isnull[i] ? "NULL" : OidOutputFunctionCall(function, row->values[i]));
	}
	return text.data;
}

/* Fails, saying what the rows were. */
static void
fail_of_rows(const CachedKey *key, const Row *a, const Row *b, const char *what)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < key->order.ncolumns; i++)
		appendStringInfo(&text, " column %d of fuzz_columns, flags %x;", key->order.column[i],
						 key->order.flags[i]);
	fuzz_fail("%s:%s (%s) key %s; (%s) key %s", what, text.data, describe_row(key, a),
			  in_hex(a->key, a->size), describe_row(key, b), in_hex(b->key, b->size));
}

static int
sign_of(int number)
{
	return (number > 0) - (number < 0);
}

static int
compare_as_postgres(const CachedKey *key, const Row *a, const Row *b)
{
	int order = 0;

	for (int i = 0; i < key->nall && order == 0; i++)
		order = ApplySortComparator(a->values[i], a->isnull[i], b->values[i], b->isnull[i],
									(SortSupport) &key->compare[i]);
	return sign_of(order);
}

/* Keys compare as if zeros followed for ever. */
static int
compare_bytes(const Row *a, const Row *b)
{
	for (Size i = 0; i < Max(a->size, b->size); i++)
	{
		uint8 left = i < a->size ? a->key[i] : 0;
		uint8 right = i < b->size ? b->key[i] : 0;

		if (left != right)
			return left < right ? -1 : 1;
	}
	return 0;
}

/* The key of the slot's row, copied. */
static void
encode(SortKey *key, TupleTableSlot *slot, const uint8 **bytes, Size *size)
{
	const uint8 *made;
	uint8 *copy;

	if (key->variable)
		made = sort_key_encode_variable(key, slot, size);
	else
	{
		uint64 fixed[SORT_KEY_MAX_FIXED_WIDTH / sizeof(uint64)];

		sort_key_encode_fixed(key, slot, (uint8 *) fixed);
		*size = key->width;
		made = (const uint8 *) fixed;
		*bytes = memcpy(palloc(*size), made, *size);
		return;
	}
	copy = palloc(*size + 1);
	memcpy(copy, made, *size);
	*bytes = copy;
}

static void
encode_values(CachedKey *key, Row *row)
{
	TupleTableSlot *slot = key->slot;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, row->values, sizeof(Datum) * key->nall);
	memcpy(slot->tts_isnull, row->isnull, sizeof(bool) * key->nall);
	ExecStoreVirtualTuple(slot);
	encode(key->key, slot, &row->key, &row->size);
}

/* Is this the key of the row's values, too?  A guess may be another one, when the library was asked. */
static void
check_same_key(const CachedKey *key, const Row *row, const uint8 *bytes, Size size, const char *what)
{
	Row other = *row;

	other.key = bytes;
	other.size = size;
	if (key->comparer != NULL ? sort_key_compare(key->comparer, row->key, row->size, bytes, size) != 0
							  : size != row->size || memcmp(bytes, row->key, size) != 0)
		fail_of_rows(key, row, &other, what);
}

/*
 * The row as a tuple, in which short values have short headers: in a slot, and as it would stand in a page.
 */
static void
check_stored(CachedKey *key, const Row *row)
{
	HeapTuple tuple = heap_form_tuple(key->desc, (Datum *) row->values, (bool *) row->isnull);
	uint64 fixed[SORT_KEY_MAX_FIXED_WIDTH / sizeof(uint64)];
	const uint8 *bytes;
	Size size;

	ExecStoreHeapTuple(tuple, key->stored, false);
	encode(key->key, key->stored, &bytes, &size);
	check_same_key(key, row, bytes, size, "a tuple has another key");
	ExecClearTuple(key->stored);
	if (!key->key->variable)
	{
		if (sort_key_encode_stored(key->key, key->desc, tuple->t_data, (uint8 *) fixed))
			check_same_key(key, row, (uint8 *) fixed, key->key->width, "a stored tuple has another key");
		return;
	}
	bytes = sort_key_encode_variable_stored(key->key, key->desc, tuple->t_data, &size);
	if (bytes != NULL)
		check_same_key(key, row, bytes, size, "a stored tuple has another key");
}

/* Is the index tuple that is made of the key what it would be made of the values? */
static void
check_index_row(CachedKey *key, const Row *row, MinimalTuple made)
{
	IndexTuple expected = index_form_tuple(key->index_desc, (Datum *) row->values, (bool *) row->isnull);
	IndexTuple tuple = &((IndexRow *) made)->tuple;

	expected->t_tid = *(ItemPointer) DatumGetPointer(row->values[key->nall - 1]);
	if (IndexTupleSize(tuple) != IndexTupleSize(expected) ||
		memcmp(tuple, expected, IndexTupleSize(expected)) != 0)
		fail_of_rows(key, row, row,
					 psprintf("index tuple %s made of the key, not %s",
							  in_hex((uint8 *) tuple, IndexTupleSize(tuple)),
							  in_hex((uint8 *) expected, IndexTupleSize(expected))));
}

static void
check_heap_row(CachedKey *key, const Row *row, MinimalTuple made)
{
	HeapTuple original = heap_form_tuple(key->desc, (Datum *) row->values, (bool *) row->isnull);
	HeapTupleData tuple = {.t_len = made->t_len + MINIMAL_TUPLE_OFFSET};

	/* Of values that stand in a Datum only what is stored counts, so both come from a tuple. */
	tuple.t_data = (HeapTupleHeader) ((char *) made - MINIMAL_TUPLE_OFFSET);
	for (int i = 0; i < key->nall; i++)
	{
		Form_pg_attribute att = TupleDescAttr(key->desc, i);
		bool isnull, expected_isnull;
		Datum value = heap_getattr(&tuple, i + 1, key->desc, &isnull);
		Datum expected = heap_getattr(original, i + 1, key->desc, &expected_isnull);

		if (isnull != expected_isnull ||
			(!isnull && !datumIsEqual(value, expected, att->attbyval, att->attlen)))
			fail_of_rows(key, row, row,
						 psprintf("column %d of the row made of the key is another one", i + 1));
	}
}

/* A tuple that is too long for an index is an error there. */
static bool
fits_into_index(const CachedKey *key, const Row *row)
{
	return heap_compute_data_size(key->index_desc, (Datum *) row->values, (bool *) row->isnull) < 2000;
}

static void
check_made_row(CachedKey *key, const Row *row)
{
	encode_values(key, (Row *) row);
	if (key->rows == NULL || !key_row_tells(key->rows, key->slot))
		return;
	if (!key->order.of_index)
		check_heap_row(key, row, key_row_make(key->rows, row->key));
	else if (fits_into_index(key, row))
		check_index_row(key, row,
						key->key->variable ? key_row_make_variable(key->rows, row->key, row->size)
										   : key_row_make(key->rows, row->key));
}

static void
check_order(const CachedKey *key, const Row *a, const Row *b)
{
	int expected = compare_as_postgres(key, a, b);
	int found = key->comparer != NULL
					? sign_of(sort_key_compare(key->comparer, a->key, a->size, b->key, b->size))
					: compare_bytes(a, b);

	if (found != expected)
		fail_of_rows(key, a, b, psprintf("keys compare as %d, not as %d", found, expected));
}

static void
run(FuzzInput *input)
{
	Order order = read_order(input);
	CachedKey *key = find_key(&order);
	Row a, b;

	if (!read_rows(input, &order, key, &a, &b))
		return;
	encode_values(key, &a);
	encode_values(key, &b);
	check_order(key, &a, &b);
	check_order(key, &b, &a);
	check_order(key, &a, &a);
	check_stored(key, &a);
	check_made_row(key, &b);
}

const FuzzTarget fuzz_keys = {"keys", prepare, run};
