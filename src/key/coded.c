/*
 * key/coded.c
 *		Keys that have codes in the place of values: making them, codes of values, plain keys again.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "key/builder.h"
#include "key/coded.h"
#include "key/compare.h"
#include "key/describe.h"
#include "key/encoders.h"
#include "key/fixed.h"
#include "key/key_row_coded.h"

/* Coding is judged after so many values, and then whenever their number has doubled. */
#ifndef CODES_TIGHT
#define JUDGE_FIRST 4096
#else
#define JUDGE_FIRST 64
#endif

/* Of so many times as many values as expected too many are new. */
#define VALUES_TOO_MANY 1.25

#define CODE_WIDTH 4

/* If values come less often on average, codes do not pay. */
#define TIMES_LEAST 2

/* ---------------------------------------------------------------- description */

static bool
is_codable(const SortKeyColumn *col)
{
	return (col->kind == SORT_KEY_TEXT || col->kind == SORT_KEY_BPCHAR || col->kind == SORT_KEY_NAME ||
			col->kind == SORT_KEY_CITEXT) &&
		   !col->self_marked && !sort_key_is_whole(col);
}

/* The column as the coded key has it. */
static void
describe_code(SortKeyColumn *col, CodedColumn *coded)
{
	col->kind = SORT_KEY_CODE;
	col->width = CODE_WIDTH;
	col->append = NULL;
	col->flip = 0;
	col->verified = false;
	col->coded = coded;
}

int
sort_key_coded_width(int ncols, const SortKeyColumn *plain, uint32 wanted, uint32 *coded)
{
	SortKeyColumn *cols = palloc(sizeof(SortKeyColumn) * ncols);
	int width;
	int n = 0;

	memcpy(cols, plain, sizeof(SortKeyColumn) * ncols);
	*coded = 0;
	for (int i = 0; i < ncols && i < 32; i++)
	{
		if ((wanted >> i & 1) == 0 || !is_codable(&cols[i]) || n == CODED_COLUMNS_MAX)
			continue;
		describe_code(&cols[i], NULL);
		*coded |= (uint32) 1 << i;
		n++;
	}
	width = n > 0 ? sort_key_fixed_width(ncols, cols) : 0;
	pfree(cols);
	return width;
}

uint32
sort_key_codable(const SortKey *plain, uint32 columns)
{
	uint32 codable;

	return plain->variable && sort_key_coded_width(plain->ncols, plain->cols, columns, &codable) > 0 ? codable
																									 : 0;
}

uint32
sort_key_bytewise(const SortKey *plain)
{
	uint32 bytewise = 0;

	for (int i = 0; i < plain->ncols && i < 32; i++)
	{
		if (plain->cols[i].append == sort_key_append_text)
			bytewise |= (uint32) 1 << i;
	}
	return bytewise;
}

SortKeyTables *
sort_key_tables_create(uint32 columns, Arena *arena, Size limit, double expected, double rows)
{
	SortKeyTables *tables = arena_alloc(arena, TYPEALIGN(8, sizeof(SortKeyTables)));

	if (tables == NULL)
		return NULL;
	tables->columns = columns;
	tables->rows = rows;
	tables->values = expected;
	tables->times = TIMES_LEAST;
	pg_atomic_init_u32(&tables->ended, 0);
	pg_atomic_init_u32(&tables->full, 0);
	tables->n = pg_popcount32(columns);
	for (int i = 0; i < tables->n; i++)
	{
		if (!value_table_init(&tables->tables[i], arena, limit / tables->n, expected))
			return NULL;
	}
	return tables;
}

/* The plain key of a column alone. */
static SortKey *
create_single(const SortKeyColumn *col)
{
	SortKey *key = palloc0(sizeof(SortKey));

	key->ncols = 1;
	key->cols = palloc(sizeof(SortKeyColumn));
	*key->cols = *col;
	key->variable = true;
	key->verified = col->verified;
	key->uses_icu = col->uses_icu;
	key->last_attno = col->attidx + 1;
	key->builder.buffer_size = 256;
	key->builder.buffer = palloc(key->builder.buffer_size);
	key->builder.places = palloc(sizeof(uint64));
	key->builder.scratch =
		AllocSetContextCreate(CurrentMemoryContext, "gpusort detoasted values", ALLOCSET_DEFAULT_SIZES);
	return key;
}

/* Has a column strings of whose blanks at the end a key has nothing? */
static bool
has_blanks(const SortKey *plain)
{
	for (int i = 0; i < plain->ncols; i++)
	{
		if (plain->cols[i].kind == SORT_KEY_BPCHAR)
			return true;
	}
	return false;
}

SortKey *
sort_key_create_coded(SortKey *plain, SortKeyTables *tables)
{
	SortKey *key = palloc(sizeof(SortKey));
	SortKeyCoding *coding = palloc0(sizeof(SortKeyCoding));
	Size offset = 0;

	*key = *plain;
	key->cols = palloc(sizeof(SortKeyColumn) * plain->ncols);
	memcpy(key->cols, plain->cols, sizeof(SortKeyColumn) * plain->ncols);
	coding->plain = plain;
	coding->tables = tables;
	coding->judge_at = JUDGE_FIRST;
	for (int i = 0; i < plain->ncols; i++)
	{
		SortKeyColumn *col = &key->cols[i];
		CodedColumn *coded = &coding->coded[coding->ncoded];

		if (i < 32 && (tables->columns >> i & 1) != 0)
		{
			coded->key = create_single(&plain->cols[i]);
			coded->column = i;
			coded->marker = offset;
			coded->value_marker = col->value_marker;
			coded->offset = offset + sort_key_marker_bytes(col);
			coded->full = &coding->full;
			coded->lookups = &coding->lookups;
			coded->reader = (ValueReader){.table = &tables->tables[coding->ncoded++]};
			describe_code(col, coded);
		}
		offset += sort_key_marker_bytes(col) + col->width;
	}
	key->coding = coding;
	key->width = sort_key_fixed_width(key->ncols, key->cols);
	Assert(key->width > 0);
	key->variable = key->verified = key->uses_icu = false;
	key->nplaces = 0;
	key->policy = (SortKeyPolicy){.index_rows = plain->policy.index_rows};
	if (key->policy.index_rows != NULL)
		key->policy.rows = key_row_create_coded(key, plain, key->policy.index_rows);
	coding->plain_tells = key->policy.rows != NULL && plain->policy.alone && !has_blanks(plain);
	memset(&key->builder, 0, sizeof(key->builder));
	return key;
}

/* ---------------------------------------------------------------- codes */

uint32
sort_key_code(CodedColumn *coded, Datum value)
{
	SortKeyBuilder *builder = &coded->key->builder;
	const char *bytes = (const char *) DatumGetPointer(value);
	Size size = NAMEDATALEN;
	uint32 code = 0;

	if (coded->key->cols->kind != SORT_KEY_NAME)
	{
		struct varlena *text = sort_key_detoast(builder, value);

		bytes = VARDATA_ANY(text);
		size = VARSIZE_ANY_EXHDR(text);
	}
	++*coded->lookups;
	if (coded->reader.reserve != NULL && likely(size <= VALUE_LATE_MAX))
	{
		if (unlikely(!value_table_code_late(&coded->reader, bytes, size)))
			*coded->full = true;
	}
	else
	{
		code = value_table_code(&coded->reader, bytes, size);
		if (unlikely(code == VALUE_NONE))
			*coded->full = true;
	}
	if (unlikely(builder->detoasted))
	{
		MemoryContextReset(builder->scratch);
		builder->detoasted = false;
	}
	return code;
}

void
sort_key_allow_late_codes(SortKeyCoding *coding)
{
	for (int i = 0; i < coding->ncoded; i++)
	{
		if (!value_table_allow_late(&coding->coded[i].reader))
			coding->full = true;
	}
}

void
sort_key_place_codes(SortKeyCoding *coding, uint8 *key)
{
	for (int i = 0; i < coding->ncoded; i++)
	{
		CodedColumn *coded = &coding->coded[i];

		if (key[coded->marker] == coded->value_marker)
			value_table_place(&coded->reader, key + coded->offset);
	}
}

void
sort_key_settle_codes(SortKeyCoding *coding)
{
	for (int i = 0; i < coding->ncoded; i++)
	{
		if (!value_table_settle(&coding->coded[i].reader))
			coding->full = true;
	}
}

static uint64
count_added(const SortKeyCoding *coding)
{
	uint64 added = 0;

	for (int i = 0; i < coding->ncoded; i++)
		added += coding->coded[i].reader.added;
	return added;
}

/* Have all columns about as many values as were expected, or fewer? */
static bool
has_expected_values(SortKeyTables *tables)
{
	for (int i = 0; i < tables->n; i++)
	{
		if (value_table_codes(&tables->tables[i]) > tables->values * VALUES_TOO_MANY)
			return false;
	}
	return true;
}

/*
 * Values that come at random out of D are known, after n of them, in n / D of the cases.  So the share that
 * was known lately is compared with n / D, where each of D values comes so often as is too seldom.  Values
 * that other processes have added are known, too; but a process that begins before the others knows its own
 * alone, so it must not expect more.  All values may come one after the other, and then again: as long as
 * there are not more than expected, they do not tell.
 */
bool
sort_key_coding_ends(SortKeyCoding *coding)
{
	uint64 lookups;
	uint64 added;
	double expected;
	double known;

	if (coding->full)
		pg_atomic_write_u32(&coding->tables->full, 1);
	if (coding->full || sort_key_tables_ended(coding->tables))
		return true;
	if (coding->lookups < coding->judge_at)
		return false;
	if (has_expected_values(coding->tables))
	{
		coding->judge_at = coding->lookups + JUDGE_FIRST;
		return false;
	}
	lookups = coding->lookups - coding->judged;
	added = count_added(coding) - coding->added;
	expected = Max(coding->tables->rows * coding->ncoded, coding->lookups);
	known = 1 - (double) added / lookups;
	coding->judged = coding->lookups;
	coding->added += added;
	coding->judge_at = 2 * coding->lookups;
	return known < Min(0.5, coding->tables->times * coding->lookups / expected);
}

Size
sort_key_tables_bytes(SortKeyTables *tables)
{
	Size bytes = 0;

	for (int i = 0; i < tables->n; i++)
		bytes += value_table_bytes(&tables->tables[i]);
	return bytes;
}

uint64
sort_key_tables_values(SortKeyTables *tables)
{
	uint64 values = 0;

	for (int i = 0; i < tables->n; i++)
		values += value_table_codes(&tables->tables[i]);
	return values;
}

/* ---------------------------------------------------------------- plain keys */

bool
sort_key_bytes_tell(const SortKey *column)
{
	const SortKeyColumn *col = &column->cols[0];

	/* blanks at the end of a char(n) don't count */
	return (col->kind == SORT_KEY_TEXT || col->kind == SORT_KEY_NAME) &&
		   (!OidIsValid(col->collation) || get_collation_isdeterministic(col->collation));
}

const uint8 *
sort_key_encode_value(CodedColumn *coded, const ValueEntry *entry, Size *size)
{
	SortKeyBuilder *builder = &coded->key->builder;
	bool is_name = coded->key->cols->kind == SORT_KEY_NAME;

	builder->length = 0;
	sort_key_append_column(builder, coded->key->cols,
						   PointerGetDatum(is_name ? (const void *) entry->bytes : &entry->header), false);
	if (unlikely(builder->detoasted))
	{
		MemoryContextReset(builder->scratch);
		builder->detoasted = false;
	}
	*size = builder->length;
	return builder->buffer;
}

const uint8 *
sort_key_encode_null(CodedColumn *coded, Size *size)
{
	SortKeyBuilder *builder = &coded->key->builder;

	builder->length = 0;
	sort_key_append_column(builder, coded->key->cols, (Datum) 0, true);
	*size = builder->length;
	return builder->buffer;
}

static void
append_bytes(SortKeyBuilder *builder, const uint8 *bytes, Size size)
{
	memcpy(sort_key_reserve(builder, size), bytes, size);
	builder->length += size;
}

/* Appends a coded column's bytes of the plain key. */
static void
append_coded(SortKeyBuilder *builder, const SortKeyColumn *plain, const CodedColumn *coded, int number,
			 const uint8 *bytes, FindValueKey find, void *arg)
{
	ValueKey value;
	Size zeros;

	if (bytes[coded->marker] != plain->value_marker)
	{
		sort_key_append_byte(builder, plain->null_marker);
		return;
	}
	value = find(arg, number, sort_key_load32(bytes + coded->offset));
	append_bytes(builder, value.bytes, value.stored);
	zeros = value.size - value.stored;
	memset(sort_key_reserve(builder, zeros), 0, zeros);
	builder->length += zeros;
}

/* Appends another column's bytes, which stand in the coded key; returns the bytes that they take there. */
static Size
append_fixed(SortKeyBuilder *builder, const SortKeyColumn *plain, const uint8 *bytes)
{
	bool is_null = bytes[0] != plain->value_marker;

	append_bytes(builder, bytes, is_null ? 1 : 1 + plain->width);
	return 1 + plain->width;
}

const uint8 *
sort_key_expand(SortKey *plain, const SortKeyCoding *coding, const uint8 *bytes, FindValueKey find, void *arg,
				Size *size)
{
	SortKeyBuilder *builder = &plain->builder;
	Size offset = 0;
	int ncoded = 0;
	int nplaces = 0;

	builder->length = 0;
	builder->tail = NULL;
	for (int i = 0; i < plain->ncols; i++)
	{
		const SortKeyColumn *col = &plain->cols[i];
		const CodedColumn *coded = &coding->coded[ncoded];

		if (col->verified)
			builder->places[nplaces++] = builder->length;
		if (ncoded < coding->ncoded && coded->column == i)
		{
			append_coded(builder, col, coded, ncoded++, bytes, find, arg);
			offset = coded->offset + CODE_WIDTH;
		}
		else
			offset += append_fixed(builder, col, bytes + offset);
	}
	if (plain->nplaces > 0)
		sort_key_append_places(plain);
	while (!plain->policy.alone && builder->length > 0 && builder->buffer[builder->length - 1] == 0)
		builder->length--;
	*size = builder->length;
	return builder->buffer;
}
