/*
 * index/unique.c
 *		The check of a unique index, over tuples in its order.
 *
 * Tuples of dead rows stand among the others and are not shown to the check; so a tuple is compared with the
 * last one that was alive.  Values are compared by the operator class's own function.
 *
 * A violation is PostgreSQL's own error; the check belongs to one process.  Where several processes load
 * ranges, each checks a range up to the first alive tuple behind it (load.c).
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "fmgr.h"

#include "index/unique.h"

struct UniqueCheck
{
	Relation heap;
	Relation index;
	TupleDesc desc;
	int nkeys;
	bool nulls_distinct;
	FmgrInfo *compare[INDEX_MAX_KEYS];
	bool has_last;
	IndexTuple last; /* room for any */
};

UniqueCheck *
unique_check_create(Relation heap, Relation index, bool nulls_distinct)
{
	UniqueCheck *check = palloc0(sizeof(UniqueCheck));

	check->heap = heap;
	check->index = index;
	check->desc = RelationGetDescr(index);
	check->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	check->nulls_distinct = nulls_distinct;
	for (int i = 0; i < check->nkeys; i++)
		check->compare[i] = index_getprocinfo(index, i + 1, BTORDER_PROC);
	check->last = palloc(INDEX_SIZE_MASK + 1);
	return check;
}

static bool
key_has_null(const UniqueCheck *check, IndexTuple tuple)
{
	if (!IndexTupleHasNulls(tuple))
		return false;
	for (int i = 1; i <= check->nkeys; i++)
	{
		bool isnull;

		(void) index_getattr(tuple, i, check->desc, &isnull);
		if (isnull)
			return true;
	}
	return false;
}

/*
 * Have the tuple and the last one the same key?  Looks at the last column first, which differs the soonest.
 */
static bool
equals_last(const UniqueCheck *check, IndexTuple tuple)
{
	for (int i = check->nkeys; i >= 1; i--)
	{
		bool isnull;
		bool last_isnull;
		Datum value = index_getattr(tuple, i, check->desc, &isnull);
		Datum last = index_getattr(check->last, i, check->desc, &last_isnull);

		if (isnull != last_isnull)
			return false;
		if (!isnull &&
			DatumGetInt32(FunctionCall2Coll(check->compare[i - 1], check->index->rd_indcollation[i - 1], last,
											value)) != 0)
			return false;
	}
	return true;
}

static void
report_duplicate(const UniqueCheck *check, IndexTuple tuple)
{
	Datum values[INDEX_MAX_KEYS];
	bool isnull[INDEX_MAX_KEYS];
	char *key;

	index_deform_tuple(tuple, check->desc, values, isnull);
	key = BuildIndexValueDescription(check->index, values, isnull);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("could not create unique index \"%s\"", RelationGetRelationName(check->index)),
			 key != NULL ? errdetail("Key %s is duplicated.", key) : errdetail("Duplicate keys exist."),
			 errtableconstraint(check->heap, RelationGetRelationName(check->index))));
}

void
unique_check_next(UniqueCheck *check, IndexTuple tuple)
{
	if (check->nulls_distinct && key_has_null(check, tuple))
		return;
	if (check->has_last && equals_last(check, tuple))
		report_duplicate(check, tuple);
	memcpy(check->last, tuple, IndexTupleSize(tuple));
	check->has_last = true;
}

void
unique_check_forget(UniqueCheck *check)
{
	check->has_last = false;
}
