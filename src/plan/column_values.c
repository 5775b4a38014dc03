/*
 * plan/column_values.c
 *		What the values in a column's row of pg_statistic say.
 *
 * These are the most common values and the bounds of a histogram.  Nothing is worked out of them by functions
 * but members of jsonb documents, for which no function can fail.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/pg_compat.h"
#include "plan/column_values.h"
#include "plan/kept_values.h"

/* If this part of a histogram's bounds differ from the one before in their first bytes, all values do. */
#define ALL_DIFFER 0.9

typedef double (*FindInTuple)(HeapTuple tuple, const void *arg);

/* What may be asked of a row of pg_statistic. */
typedef enum Question
{
	LEADING_VALUES,
	LARGEST_SHARE,
	SPAN,
	MEMBER_VALUES
} Question;

/* An answer is kept, with what tells its argument from others. */
typedef struct Asked
{
	Question question;
	FindInTuple find;
	const void *arg;
	uint64 details;
} Asked;

/* What there is to be found in the row of pg_statistic; otherwise: if there is none to be seen. */
static double
read_values(const ColumnStats *stats, const Asked *asked, double otherwise)
{
	KeptValueKey key =
		kept_value_key(stats->table, stats->column, stats->inherited, asked->question, asked->details);
	HeapTuple tuple;
	double result;

	if (!OidIsValid(stats->table))
		return otherwise;
	if (kept_value_find(&key, &result))
		return result;
	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(stats->table), Int16GetDatum(stats->column),
							BoolGetDatum(stats->inherited));
	if (!HeapTupleIsValid(tuple))
		return otherwise;
	result = asked->find(tuple, asked->arg);
	ReleaseSysCache(tuple);
	kept_value_put(&key, result);
	return result;
}

/* ---------------------------------------------------------------- strings */

static bool
same_leading_bytes(Datum a, Datum b, Size bytes)
{
	const struct varlena *string = (const struct varlena *) DatumGetPointer(a);
	const struct varlena *other = (const struct varlena *) DatumGetPointer(b);
	Size size = Min(VARSIZE_ANY_EXHDR(string), bytes);

	return size == Min(VARSIZE_ANY_EXHDR(other), bytes) &&
		   memcmp(VARDATA_ANY(string), VARDATA_ANY(other), size) == 0;
}

/*
 * How many different first bytes strings have, from a histogram of them.  Of b bounds u differ from the one
 * before: where u is small there are about so many, and the more of them differ, the more there must be
 * between two of them.
 */
static double
leading_of_tuple(HeapTuple tuple, const void *bytes)
{
	AttStatsSlot slot;
	double differ = 1;
	double bounds;

	if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES))
		return 0;
	bounds = slot.nvalues;
	for (int i = 1; i < slot.nvalues; i++)
		differ += same_leading_bytes(slot.values[i - 1], slot.values[i], *(const Size *) bytes) ? 0 : 1;
	free_attstatsslot(&slot);
	return differ >= ALL_DIFFER * bounds ? 0 : differ * bounds / (bounds - differ + 1);
}

static bool
is_string(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == BYTEAOID;
}

double
column_leading_values(const ColumnStats *stats, Oid type, Size bytes)
{
	Asked asked = {.question = LEADING_VALUES, .find = leading_of_tuple, .arg = &bytes, .details = bytes};

	return is_string(getBaseType(type)) ? read_values(stats, &asked, 0) : 0;
}

/* ---------------------------------------------------------------- shares */

static double
largest_of_tuple(HeapTuple tuple, const void *arg)
{
	double largest = ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
	bool known = false;
	AttStatsSlot slot;

	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCV, InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		known = slot.nnumbers > 1;
		largest = slot.nnumbers > 0 ? Max(largest, slot.numbers[0]) : largest;
		free_attstatsslot(&slot);
	}
	if (!known && get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, 0))
	{
		known = true;
		free_attstatsslot(&slot);
	}
	return known ? largest : 1;
}

double
column_largest_share(const ColumnStats *stats)
{
	Asked asked = {.question = LARGEST_SHARE, .find = largest_of_tuple};

	/* those of a table with children are not found again when the sort begins */
	return stats->inherited ? 1 : read_values(stats, &asked, 1);
}

/* ---------------------------------------------------------------- numbers and times */

typedef struct ValueRange
{
	double least;
	double greatest; /* less than the least: there is no value */
} ValueRange;

/* The value as a number; not finite: it is none. */
static double
number_of(Datum value, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		case INT8OID:
			return (double) DatumGetInt64(value);
		case FLOAT4OID:
			return DatumGetFloat4(value);
		case FLOAT8OID:
			return DatumGetFloat8(value);
		case NUMERICOID:
			return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value));
		case DATEOID:
			return DATE_NOT_FINITE(DatumGetDateADT(value)) ? NAN
														   : DatumGetDateADT(value) * (double) SECS_PER_DAY;
		case TIMEOID:
			return (double) DatumGetTimeADT(value) / USECS_PER_SEC;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return TIMESTAMP_NOT_FINITE(DatumGetTimestamp(value))
					   ? NAN
					   : (double) DatumGetTimestamp(value) / USECS_PER_SEC;
		default:
			return NAN;
	}
}

static void
widen(ValueRange *range, HeapTuple tuple, int kind)
{
	AttStatsSlot slot;

	if (!get_attstatsslot(&slot, tuple, kind, InvalidOid, ATTSTATSSLOT_VALUES))
		return;
	for (int i = 0; i < slot.nvalues; i++)
	{
		double number = number_of(slot.values[i], slot.valuetype);

		if (!isfinite(number))
			continue;
		range->least = Min(range->least, number);
		range->greatest = Max(range->greatest, number);
	}
	free_attstatsslot(&slot);
}

/* By the bounds of a histogram; without one the most common values are all. */
static double
span_of_tuple(HeapTuple tuple, const void *arg)
{
	ValueRange range = {.least = INFINITY, .greatest = -INFINITY};

	widen(&range, tuple, STATISTIC_KIND_HISTOGRAM);
	if (range.least > range.greatest)
		widen(&range, tuple, STATISTIC_KIND_MCV);
	return range.least <= range.greatest ? range.greatest - range.least : -1;
}

double
column_span(const ColumnStats *stats)
{
	Asked asked = {.question = SPAN, .find = span_of_tuple};

	return read_values(stats, &asked, -1);
}

/* ---------------------------------------------------------------- members of documents */

static Oid
function_of_step(const Node *step)
{
	return IsA(step, OpExpr) ? ((const OpExpr *) step)->opfuncid : ((const FuncExpr *) step)->funcid;
}

static const Const *
key_of_step(const Node *step)
{
	return lsecond_node(Const,
						IsA(step, OpExpr) ? ((const OpExpr *) step)->args : ((const FuncExpr *) step)->args);
}

/* A document's member where the steps lead, hashed; 0: there is none. */
static uint32
hash_member(Datum document, const List *steps)
{
	ListCell *cell;

	foreach(cell, steps)
	{
		FmgrInfo finfo;

		LOCAL_FCINFO(call, 2);

		fmgr_info(function_of_step(lfirst(cell)), &finfo);
		InitFunctionCallInfoData(*call, &finfo, 2, InvalidOid, NULL, NULL);
		call->args[0] = (NullableDatum){.value = document};
		call->args[1] = (NullableDatum){.value = key_of_step(lfirst(cell))->constvalue};
		document = FunctionCallInvoke(call);
		if (call->isnull)
			return 0;
	}
	return datum_image_hash(document, false, -1);
}

static int
compare_hashes(const void *a, const void *b)
{
	uint32 hash = *(const uint32 *) a;
	uint32 other = *(const uint32 *) b;

	return hash < other ? -1 : hash > other;
}

/*
 * How many there are, of so many documents, from a sample of different documents: an estimator of the number
 * of values in a sample, as ANALYZE has one (Haas and Stokes, "Estimating the Number of Classes in a Finite
 * Population", 1998, the estimator Duj1).
 */
static double
estimate_values(uint32 *hashes, int sampled, double all)
{
	double values = 0;
	double once = 0;

	qsort(hashes, sampled, sizeof(uint32), compare_hashes);
	for (int i = 0, same; i < sampled; i += same)
	{
		for (same = 1; i + same < sampled && hashes[i + same] == hashes[i]; same++)
			;
		values++;
		once += same == 1 ? 1 : 0;
	}
	return sampled * values / (sampled - once + once * sampled / Max(all, sampled));
}

/* So many of the most common documents, and of the bounds of a histogram, are looked into. */
#define DOCUMENTS_SAMPLED 32

typedef struct MemberSearch
{
	const List *steps;
	double documents; /* that differ, in all */
} MemberSearch;

static int
add_members(HeapTuple tuple, int kind, const List *steps, uint32 *hashes, int sampled)
{
	AttStatsSlot slot;

	if (!get_attstatsslot(&slot, tuple, kind, InvalidOid, ATTSTATSSLOT_VALUES))
		return sampled;
	if (slot.valuetype == JSONBOID)
	{
		for (int i = 0; i < slot.nvalues; i += 1 + (slot.nvalues - 1) / DOCUMENTS_SAMPLED)
			hashes[sampled++] = hash_member(slot.values[i], steps);
	}
	free_attstatsslot(&slot);
	return sampled;
}

static double
members_of_tuple(HeapTuple tuple, const void *arg)
{
	const MemberSearch *search = arg;
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "gpusort members of jsonb", ALLOCSET_SMALL_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	uint32 hashes[2 * DOCUMENTS_SAMPLED];
	int sampled = add_members(tuple, STATISTIC_KIND_MCV, search->steps, hashes, 0);
	double values;

	sampled = add_members(tuple, STATISTIC_KIND_HISTOGRAM, search->steps, hashes, sampled);
	values = sampled > 0 ? estimate_values(hashes, sampled, search->documents) : 0;
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
	return values;
}

/* What tells it from other ones; two that it does not tell apart have an estimate in common, no more. */
static uint64
hash_search_of(const MemberSearch *search)
{
	uint64 hash = hash_bytes((const unsigned char *) &search->documents, sizeof(search->documents));
	ListCell *cell;

	foreach(cell, search->steps)
	{
		const Const *key = key_of_step(lfirst(cell));

		hash = hash_combine64(hash, function_of_step(lfirst(cell)));
		hash = hash_combine64(hash, datum_image_hash(key->constvalue, key->constbyval, key->constlen));
	}
	return hash;
}

double
column_member_values(const ColumnStats *stats, List *steps)
{
	MemberSearch search = {.steps = steps, .documents = stats->distinct};
	Asked asked = {.question = MEMBER_VALUES,
				   .find = members_of_tuple,
				   .arg = &search,
				   .details = hash_search_of(&search)};

	return read_values(stats, &asked, 0);
}
