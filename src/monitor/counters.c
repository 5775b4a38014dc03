/*
 * monitor/counters.c
 *		Counters of sorts, for the view pg_stat_gpusort.
 *
 * Without shared_preload_libraries each process has its own, and a parallel worker's are lost.  They are
 * touched once a sort and once a declined sort of a plan, so one spinlock does for all of them.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "base/devices.h"
#include "base/result_rows.h"
#include "base/spin.h"
#include "monitor/counters.h"

PG_FUNCTION_INFO_V1(gpusort_stat_get);
PG_FUNCTION_INFO_V1(gpusort_stat_get_cluster_sorts);
PG_FUNCTION_INFO_V1(gpusort_stat_get_queue);
PG_FUNCTION_INFO_V1(gpusort_stat_reset);

typedef struct DeviceCounters
{
	uint64 sorts;
	uint64 parallel_sorts;
	uint64 index_builds;
	uint64 rows;
	uint64 bytes;
	double device_ms;
	uint64 spills;
	uint64 temp_bytes;
	uint64 corrections;
	uint64 fallbacks[SORT_FAILURE_REASONS];
	uint64 waits; /* in its queue */
	uint64 waits_given_up;
	double wait_ms;
} DeviceCounters;

/* All that a reset sets to zero. */
typedef struct Counters
{
	DeviceCounters devices[DEVICES];
	uint64 declined[DECLINED_REASONS];
	uint64 cluster_sorts;
	TimestampTz reset_at;
} Counters;

typedef struct StatsMemory
{
	slock_t mutex; /* of all the rest */
	Counters counters;
} StatsMemory;

/* Reasons as the view names them; they are not to change. */
static const char *const failure_names[] = {[SORT_FAILURE_NO_SERVICE] = "no service",
											[SORT_FAILURE_DISCONNECTED] = "disconnected",
											[SORT_FAILURE_DEVICE_LOST] = "device lost",
											[SORT_FAILURE_MEMORY] = "memory",
											[SORT_FAILURE_LIMIT] = "limit",
											[SORT_FAILURE_PROTOCOL] = "protocol"};

static const char *const declined_names[] = {
	[DECLINED_MODE_OFF] = "mode", [DECLINED_FEW_ROWS] = "few rows", [DECLINED_LIMIT] = "limit",
	[DECLINED_TYPE] = "type",	  [DECLINED_OPERATOR] = "operator", [DECLINED_COLLATION] = "collation",
	[DECLINED_KIND] = "kind",	  [DECLINED_COST] = "cost",			[DECLINED_TABLE] = "table access method"};

StaticAssertDecl(lengthof(failure_names) == SORT_FAILURE_REASONS, "every failure has a name");
StaticAssertDecl(lengthof(declined_names) == DECLINED_REASONS, "every reason has a name");

static StatsMemory local_memory;
static StatsMemory *memory = &local_memory;

/* ---------------------------------------------------------------- memory */

static void
init_memory(StatsMemory *where)
{
	memset(where, 0, sizeof(*where));
	SpinLockInit(&where->mutex);
	where->counters.reset_at = GetCurrentTimestamp();
}

void
stats_init_local(void)
{
	init_memory(&local_memory);
}

Size
stats_shmem_size(void)
{
	return sizeof(StatsMemory);
}

void
stats_shmem_init(void)
{
	bool found;

	memory = ShmemInitStruct("gpusort statistics", sizeof(StatsMemory), &found);
	if (!found)
		init_memory(memory);
}

/* ---------------------------------------------------------------- counting */

static DeviceCounters *
counters_of(const char *device)
{
	for (int i = 0; i < DEVICES; i++)
	{
		if (strcmp(device_names[i], device) == 0)
			return &memory->counters.devices[i];
	}
	elog(ERROR, "gpusort has no counters for device \"%s\"", device);
}

void
stats_count_sort(const char *device, const SorterStats *stats)
{
	DeviceCounters *counters = counters_of(device);

	SpinLockAcquire(&memory->mutex);
	counters->sorts++;
	counters->parallel_sorts += stats->processes > 1 ? 1 : 0;
	counters->rows += stats->rows + stats->rows_dropped;
	counters->bytes += stats->bytes;
	counters->device_ms += stats->sort_ms;
	counters->spills += stats->disk_bytes > 0 ? 1 : 0;
	counters->temp_bytes += stats->disk_bytes;
	counters->corrections += stats->corrections;
	SpinLockRelease(&memory->mutex);
}

static void
count_one(uint64 *counter)
{
	SpinLockAcquire(&memory->mutex);
	(*counter)++;
	SpinLockRelease(&memory->mutex);
}

void
stats_count_index_build(const char *device)
{
	count_one(&counters_of(device)->index_builds);
}

void
stats_count_fallback(const char *device, SortFailureReason reason)
{
	count_one(&counters_of(device)->fallbacks[reason]);
}

void
stats_count_wait(const char *device, double milliseconds, bool admitted)
{
	DeviceCounters *counters = counters_of(device);

	SpinLockAcquire(&memory->mutex);
	counters->waits++;
	counters->waits_given_up += admitted ? 0 : 1;
	counters->wait_ms += milliseconds;
	SpinLockRelease(&memory->mutex);
}

void
stats_count_declined(DeclinedReason reason)
{
	count_one(&memory->counters.declined[reason]);
}

void
stats_count_cluster_sort(void)
{
	count_one(&memory->counters.cluster_sorts);
}

/* ---------------------------------------------------------------- functions */

static Counters
read_counters(void)
{
	Counters counters;

	SpinLockAcquire(&memory->mutex);
	counters = memory->counters;
	SpinLockRelease(&memory->mutex);
	return counters;
}

static uint64
sum(const uint64 *counts, int n)
{
	uint64 total = 0;

	for (int i = 0; i < n; i++)
		total += counts[i];
	return total;
}

/* The counts that are not zero, with their names, as a jsonb object. */
static Datum
counts_as_jsonb(const uint64 *counts, const char *const *names, int n)
{
	StringInfoData json;

	initStringInfo(&json);
	for (int i = 0; i < n; i++)
	{
		if (counts[i] > 0)
			appendStringInfo(&json, "%s\"%s\": " UINT64_FORMAT, json.len > 0 ? ", " : "", names[i],
							 counts[i]);
	}
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(psprintf("{%s}", json.data)));
}

enum
{
	COLUMN_DEVICE,
	COLUMN_SORTS,
	COLUMN_PARALLEL_SORTS,
	COLUMN_INDEX_BUILDS,
	COLUMN_ROWS,
	COLUMN_BYTES,
	COLUMN_DEVICE_TIME,
	COLUMN_SPILLS,
	COLUMN_TEMP_BYTES,
	COLUMN_CORRECTIONS,
	COLUMN_FALLBACKS,
	COLUMN_FALLBACK_REASONS,
	COLUMN_DECLINED,
	COLUMN_DECLINED_REASONS,
	COLUMN_STATS_RESET,
	COLUMNS
};

static const Oid column_types[COLUMNS] = {TEXTOID, INT8OID,	  INT8OID, INT8OID,	 INT8OID,
										  INT8OID, FLOAT8OID, INT8OID, INT8OID,	 INT8OID,
										  INT8OID, JSONBOID,  INT8OID, JSONBOID, TIMESTAMPTZOID};

static void
put_device(ReturnSetInfo *result, const char *name, const DeviceCounters *counters, TimestampTz reset_at)
{
	Datum values[COLUMNS] = {0};
	bool nulls[COLUMNS] = {false};

	values[COLUMN_DEVICE] = CStringGetTextDatum(name);
	values[COLUMN_SORTS] = Int64GetDatum(counters->sorts);
	values[COLUMN_PARALLEL_SORTS] = Int64GetDatum(counters->parallel_sorts);
	values[COLUMN_INDEX_BUILDS] = Int64GetDatum(counters->index_builds);
	values[COLUMN_ROWS] = Int64GetDatum(counters->rows);
	values[COLUMN_BYTES] = Int64GetDatum(counters->bytes);
	values[COLUMN_DEVICE_TIME] = result_milliseconds(counters->device_ms);
	values[COLUMN_SPILLS] = Int64GetDatum(counters->spills);
	values[COLUMN_TEMP_BYTES] = Int64GetDatum(counters->temp_bytes);
	values[COLUMN_CORRECTIONS] = Int64GetDatum(counters->corrections);
	values[COLUMN_FALLBACKS] = Int64GetDatum(sum(counters->fallbacks, SORT_FAILURE_REASONS));
	values[COLUMN_FALLBACK_REASONS] =
		counts_as_jsonb(counters->fallbacks, failure_names, SORT_FAILURE_REASONS);
	nulls[COLUMN_DECLINED] = nulls[COLUMN_DECLINED_REASONS] = true;
	values[COLUMN_STATS_RESET] = TimestampTzGetDatum(reset_at);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void
put_postgresql(ReturnSetInfo *result, const Counters *counters)
{
	Datum values[COLUMNS] = {0};
	bool nulls[COLUMNS];

	memset(nulls, true, sizeof(nulls));
	nulls[COLUMN_DEVICE] = nulls[COLUMN_DECLINED] = nulls[COLUMN_DECLINED_REASONS] =
		nulls[COLUMN_STATS_RESET] = false;
	values[COLUMN_DEVICE] = CStringGetTextDatum("postgresql");
	values[COLUMN_DECLINED] = Int64GetDatum(sum(counters->declined, DECLINED_REASONS));
	values[COLUMN_DECLINED_REASONS] = counts_as_jsonb(counters->declined, declined_names, DECLINED_REASONS);
	values[COLUMN_STATS_RESET] = TimestampTzGetDatum(counters->reset_at);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
gpusort_stat_get(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = result_rows_begin(fcinfo, column_types, COLUMNS);
	Counters counters = read_counters();

	for (int i = 0; i < DEVICES; i++)
		put_device(result, device_names[i], &counters.devices[i], counters.reset_at);
	put_postgresql(result, &counters);
	return (Datum) 0;
}

Datum
gpusort_stat_get_cluster_sorts(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(read_counters().cluster_sorts);
}

/* One row a device that has a queue, which is the last one alone. */
Datum
gpusort_stat_get_queue(PG_FUNCTION_ARGS)
{
	static const Oid types[] = {TEXTOID, INT8OID, INT8OID, FLOAT8OID};
	ReturnSetInfo *result = result_rows_begin(fcinfo, types, lengthof(types));
	Counters counters = read_counters();
	const DeviceCounters *device = &counters.devices[DEVICES - 1];
	Datum values[] = {CStringGetTextDatum(device_names[DEVICES - 1]), Int64GetDatum(device->waits),
					  Int64GetDatum(device->waits_given_up), result_milliseconds(device->wait_ms)};
	bool nulls[lengthof(types)] = {false};

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	return (Datum) 0;
}

Datum
gpusort_stat_reset(PG_FUNCTION_ARGS)
{
	TimestampTz now = GetCurrentTimestamp();

	SpinLockAcquire(&memory->mutex);
	memset(&memory->counters, 0, sizeof(memory->counters));
	memory->counters.reset_at = now;
	SpinLockRelease(&memory->mutex);
	PG_RETURN_VOID();
}
