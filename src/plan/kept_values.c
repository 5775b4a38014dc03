/*
 * plan/kept_values.c
 *		What was worked out of the statistics of columns, kept in the process until statistics change.
 *
 * All of it is forgotten when any row of pg_statistic that this process has in its cache may have changed, or
 * when there is too much of it.
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "plan/kept_values.h"

#define KEPT_VALUES_MAX 1024

/* Memory that is named gpusort's belongs to sorts, and tests look for what these leave. */
#define CONTEXT_NAME "values of sort columns' statistics"

typedef struct KeptValue
{
	KeptValueKey key;
	double value;
} KeptValue;

static MemoryContext context;
static HTAB *values; /* NULL: there are none, or they are out of date */

/* Called in the middle of anything: nothing is freed here. */
static void
statistics_changed(Datum arg, int cache, uint32 hash)
{
	values = NULL;
}

static void
begin_again(void)
{
	HASHCTL control = {.keysize = sizeof(KeptValueKey), .entrysize = sizeof(KeptValue)};

	if (context == NULL)
	{
		CacheRegisterSyscacheCallback(STATRELATTINH, statistics_changed, (Datum) 0);
		context = AllocSetContextCreate(CacheMemoryContext, CONTEXT_NAME, ALLOCSET_DEFAULT_SIZES);
	}
	values = NULL;
	MemoryContextReset(context);
	control.hcxt = context;
	values = hash_create(CONTEXT_NAME, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

KeptValueKey
kept_value_key(Oid table, AttrNumber column, bool inherited, uint8 question, uint64 details)
{
	KeptValueKey key;

	memset(&key, 0, sizeof(key));
	key.table = table;
	key.column = column;
	key.inherited = inherited;
	key.question = question;
	key.details = details;
	return key;
}

bool
kept_value_find(const KeptValueKey *key, double *value)
{
	const KeptValue *kept;

	if (values == NULL || hash_get_num_entries(values) >= KEPT_VALUES_MAX)
		begin_again();
	kept = hash_search(values, key, HASH_FIND, NULL);
	if (kept == NULL)
		return false;
	*value = kept->value;
	return true;
}

void
kept_value_put(const KeptValueKey *key, double value)
{
	KeptValue *kept;

	/* statistics have changed since they were read */
	if (values == NULL)
		return;
	kept = hash_search(values, key, HASH_ENTER, NULL);
	kept->value = value;
}
