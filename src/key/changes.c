/*
 * key/changes.c
 *		What a key's columns were when they were described, and what has become of them since.
 *
 * Types, operator classes and collations may be changed after a plan has been made or begun, by the same
 * transaction or by others.  README.md says what is asked when: by a hash of all that decides what the bytes
 * of a key are, and, as PostgreSQL's comparisons do, by the version of a composite type in the type cache.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "key/changes.h"
#include "key/describe.h"
#include "key/enum.h"

static uint64
hash_number(uint64 hash, uint32 number)
{
	return hash_bytes_uint32_extended(number, hash);
}

/*
 * How text becomes bytes is decided by the collation and `verified`, whether values stand whole by the
 * comparison.
 */
static uint64
hash_column(uint64 hash, const SortKeyColumn *col, Oid newest)
{
	int traits = col->self_marked << 3 | col->unmarked << 2 | col->descending << 1 | col->verified;
	uint32 numbers[] = {col->attidx, col->kind, col->width,		col->null_marker, col->value_marker,
						traits,		 col->type, col->collation, col->comparison};

	for (int i = 0; i < lengthof(numbers); i++)
		hash = hash_number(hash, numbers[i]);
	if (OidIsValid(newest) && col->enum_order != NULL)
		hash = hash_combine64(hash, sort_key_enum_fingerprint(col->enum_order, newest));
	for (int i = 0; col->components != NULL && i < col->components->ncolumns; i++)
		hash = hash_column(hash, &col->components->columns[i], newest);
	return hash_number(hash, col->components != NULL ? col->components->ncolumns : 0);
}

uint64
sort_key_hash_columns(int ncols, const SortKeyColumn *cols, Oid newest)
{
	uint64 hash = 0;

	for (int i = 0; i < ncols; i++)
		hash = hash_column(hash, &cols[i], newest);
	return hash;
}

static Oid
newest_value(int ncols, const SortKeyColumn *cols)
{
	Oid newest = InvalidOid;

	for (int i = 0; i < ncols; i++)
	{
		if (cols[i].enum_order != NULL)
			newest = Max(newest, sort_key_enum_newest(cols[i].enum_order));
		if (cols[i].components != NULL)
			newest = Max(newest, newest_value(cols[i].components->ncolumns, cols[i].components->columns));
	}
	return newest;
}

Oid
sort_key_newest_value(const SortKey *key)
{
	return newest_value(key->ncols, key->cols);
}

uint64
sort_key_fingerprint(const SortKey *key, Oid newest)
{
	return sort_key_hash_columns(key->ncols, key->cols, newest);
}

bool
sort_key_is_current(const SortKey *key, const SortColumnSpec *columns)
{
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "gpusort sort columns", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	SortKeyColumn *cols = palloc(sizeof(SortKeyColumn) * key->ncols);
	uint64 hash;

	for (int i = 0; i < key->ncols; i++)
	{
		Declined why_not;

		(void) sort_key_describe_anyhow(&columns[i], &cols[i], &why_not);
	}
	hash = sort_key_hash_columns(key->ncols, cols, InvalidOid);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
	return hash == key->description;
}
