/*
 * service/devices.c
 *		gpusort_devices(): what sorts can run on, and if there is no GPU, why not.
 *
 * gpusortd itself is asked, over a short connection; if there is none, what the launcher knows says why.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "base/pg_compat.h"
#include "base/result_rows.h"
#include "service/connection.h"
#include "service/state.h"

PG_FUNCTION_INFO_V1(gpusort_devices);

/* For gpusortd's answer. */
#define ANSWER_TIMEOUT_MS 2000

/* A row of the result. */
enum
{
	COLUMN_DEVICE,
	COLUMN_NAME,
	COLUMN_MEMORY,
	COLUMN_MAX_MEMORY,
	COLUMN_FREE_MEMORY,
	COLUMN_JOBS,
	COLUMN_STATE,
	COLUMN_REASON,
	COLUMNS
};

static const Oid column_types[COLUMNS] = {TEXTOID, TEXTOID, INT8OID, INT8OID,
										  INT8OID, INT4OID, TEXTOID, TEXTOID};

/* A device of which nothing but this is known. */
static void
put_bare_row(ReturnSetInfo *result, const char *device, const char *state, const char *reason)
{
	Datum values[COLUMNS] = {0};
	bool nulls[COLUMNS];

	memset(nulls, true, sizeof(nulls));
	values[COLUMN_DEVICE] = CStringGetTextDatum(device);
	values[COLUMN_STATE] = CStringGetTextDatum(state);
	nulls[COLUMN_DEVICE] = nulls[COLUMN_STATE] = false;
	if (reason != NULL)
	{
		values[COLUMN_REASON] = CStringGetTextDatum(reason);
		nulls[COLUMN_REASON] = false;
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void
put_gpu_row(ReturnSetInfo *result, const GpusortdDevice *device)
{
	Datum values[COLUMNS] = {0};
	bool nulls[COLUMNS] = {0};

	values[COLUMN_DEVICE] = CStringGetTextDatum(psprintf("cuda %u", device->number));
	values[COLUMN_NAME] =
		CStringGetTextDatum(pnstrdup(device->name, strnlen(device->name, sizeof(device->name))));
	values[COLUMN_MEMORY] = Int64GetDatum((int64) device->memory_bytes);
	values[COLUMN_MAX_MEMORY] = Int64GetDatum((int64) device->limit_bytes);
	values[COLUMN_FREE_MEMORY] = Int64GetDatum((int64) device->free_bytes);
	values[COLUMN_JOBS] = Int32GetDatum((int32) device->jobs);
	values[COLUMN_STATE] = CStringGetTextDatum("ready");
	nulls[COLUMN_REASON] = true;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* The one row for GPUs where there are none. */
static void
put_unavailable_row(ReturnSetInfo *result, const char *why_not)
{
	GpuServiceState service;
	bool starting = gpu_service_state(&service) && service.phase == GPU_SERVICE_STARTING;

	put_bare_row(result, "cuda", starting ? "starting" : "unavailable", why_not);
}

Datum
gpusort_devices(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = result_rows_begin(fcinfo, column_types, COLUMNS);
	GpusortdClient client;
	const char *why_not;

	put_bare_row(result, "cpu", "ready", NULL);
	if (!gpu_client_connect(&client, ANSWER_TIMEOUT_MS, &why_not))
	{
		put_unavailable_row(result, why_not);
		return (Datum) 0;
	}
	gpu_client_close(&client);
	for (uint32 i = 0; i < client.welcome.devices; i++)
		put_gpu_row(result, &client.welcome.device[i]);
	return (Datum) 0;
}
