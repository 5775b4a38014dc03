/*
 * base/guc.c
 *		The settings, gpusort.*; docs/settings.md describes them for users.
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/plancache.h"

#include "base/guc.h"
#include "base/pg_compat.h"

/* Of a setting for those who work on gpusort: SHOW ALL and pg_settings leave it out. */
#define DEVELOPER_SETTING (GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL)

int gpusort_mode = GPUSORT_MODE_AUTO;
int gpusort_backend = GPUSORT_BACKEND_AUTO;
int gpusort_algorithm = GPUSORT_ALGORITHM_AUTO;
int gpusort_min_rows = 500;
int gpusort_work_mem = -1;
bool gpusort_create_index = true;
char *gpusort_max_device_memory;
int gpusort_staging_memory = 1024;
int gpusort_idle_memory = 4096;
char *gpusort_device_list;
int gpusort_service_timeout = 10000;
int gpusort_dictionary;
int gpusort_spoiled_images;
int gpusort_queue_timeout = 10000;
int gpusort_max_work_mem = -1;
int gpusort_max_kept_memory = -1;
int gpusort_max_queue_timeout = -1;
int gpusort_max_device_sorts = 64;
char *gpusort_max_sort_device_memory;
bool gpusort_log_fallbacks;
char *gpusort_gpusortd_path;
char *gpusort_gpusortd_options;

static const struct config_enum_entry dictionary_options[] = {{"auto", GPUSORT_DICTIONARY_AUTO, false},
															  {"off", GPUSORT_DICTIONARY_OFF, false},
															  {"on", GPUSORT_DICTIONARY_ON, false},
															  {NULL, 0, false}};

static const struct config_enum_entry mode_options[] = {{"auto", GPUSORT_MODE_AUTO, false},
														{"off", GPUSORT_MODE_OFF, false},
														{"force", GPUSORT_MODE_FORCE, false},
														{NULL, 0, false}};

static const struct config_enum_entry backend_options[] = {{"auto", GPUSORT_BACKEND_AUTO, false},
														   {"cpu", GPUSORT_BACKEND_CPU, false},
														   {"cuda", GPUSORT_BACKEND_CUDA, false},
														   {NULL, 0, false}};

static const struct config_enum_entry algorithm_options[] = {{"auto", GPUSORT_ALGORITHM_AUTO, false},
															 {"sample", GPUSORT_ALGORITHM_SAMPLE, false},
															 {"bucket", GPUSORT_ALGORITHM_BUCKET, false},
															 {"radix", GPUSORT_ALGORITHM_RADIX, false},
															 {NULL, 0, false}};

/* The smallest work_mem that PostgreSQL takes. */
#define WORK_MEM_MIN_KB 64

static bool
check_work_mem(int *newval, void **extra, GucSource source)
{
	if (*newval == -1 || *newval >= WORK_MEM_MIN_KB)
		return true;
	GUC_check_errdetail("A sort's memory is -1 (as work_mem) or at least %d kB.", WORK_MEM_MIN_KB);
	return false;
}

/* Plans that are kept were made for the old mode, and for the old times of sorts. */
static void
assign_mode(int newval, void *extra)
{
	if (newval != gpusort_mode)
		ResetPlanCache();
}

static void
assign_dictionary(int newval, void *extra)
{
	if (newval != gpusort_dictionary)
		ResetPlanCache();
}

/* A percentage, or a size; the two results are -1 where they don't apply. */
static bool
parse_device_memory(const char *value, int *percent, int *megabytes, const char **hint)
{
	char *end;
	long number = strtol(value, &end, 10);

	*percent = *megabytes = -1;
	*hint = NULL;
	if (end > value && strcmp(end, "%") == 0)
	{
		*percent = (int) Min(Max(number, 0), 101);
		return *percent >= 1 && *percent <= 100;
	}
	return parse_int(value, megabytes, GUC_UNIT_MB, hint) && *megabytes > 0;
}

/* Of gpusort.max_device_memory, and of a sort's share of it. */
static bool
check_device_memory(char **newval, void **extra, GucSource source)
{
	int percent;
	int megabytes;
	const char *hint;

	if (parse_device_memory(*newval, &percent, &megabytes, &hint))
		return true;
	GUC_check_errdetail(
		"The memory of each device is a percentage from 1%% to 100%%, or a size such as 20GB.");
	if (hint != NULL)
		GUC_check_errhint("%s", _(hint));
	return false;
}

/* Numbers with commas between them, or nothing, or "none". */
static bool
check_devices(char **newval, void **extra, GucSource source)
{
	const char *at = *newval;

	if (*at == '\0' || pg_strcasecmp(at, "none") == 0)
		return true;
	while (*at >= '0' && *at <= '9')
	{
		size_t digits = strspn(at, "0123456789");

		if (digits <= 3 && at[digits] == '\0')
			return true;
		if (digits > 3 || at[digits] != ',')
			break;
		at += digits + 1;
	}
	GUC_check_errdetail(
		"Devices are \"none\", or their numbers, such as \"0,2\", or nothing for all of them.");
	return false;
}

/* What bounds the settings that every user may change, and what a session's sorts may take of others'. */
static void
define_limits(void)
{
	DefineCustomIntVariable("gpusort.max_work_mem", "Maximum host memory of one sort.",
							"Applies to gpusort.work_mem and work_mem. -1: no other limit.",
							&gpusort_max_work_mem, -1, -1, MAX_KILOBYTES, PGC_SUSET, GUC_UNIT_KB,
							check_work_mem, NULL, NULL);
	DefineCustomIntVariable("gpusort.max_queue_timeout", "Maximum effective value of gpusort.queue_timeout.",
							"-1: no limit.", &gpusort_max_queue_timeout, -1, -1, INT_MAX, PGC_SUSET,
							GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.max_device_sorts",
							"Maximum number of simultaneous sorts of a session on GPUs.",
							"Further sorts run on the CPU. 0: all sorts run on the CPU.",
							&gpusort_max_device_sorts, 64, 0, INT_MAX, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("gpusort.max_sort_device_memory", "Maximum memory of a GPU for one sort.",
							   "A percentage of gpusort.max_device_memory, or a size.",
							   &gpusort_max_sort_device_memory, "100%", PGC_SUSET, 0, check_device_memory,
							   NULL, NULL);
}

static void
define_logging(void)
{
	DefineCustomBoolVariable("gpusort.log_fallbacks",
							 "Logs each sort that a device could not complete, and why.",
							 "Also logs index builds that are left to PostgreSQL, except for small tables.",
							 &gpusort_log_fallbacks, false, PGC_SUSET, 0, NULL, NULL, NULL);
}

/* What the launcher starts gpusortd with: a reload is enough to change it. */
static void
define_service_settings(void)
{
	DefineCustomStringVariable("gpusort.max_device_memory", "Memory that sorts may use on each GPU.",
							   "A percentage of the device's memory, or a size.", &gpusort_max_device_memory,
							   "80%", PGC_SIGHUP, 0, check_device_memory, NULL, NULL);
	DefineCustomIntVariable("gpusort.staging_memory", "Host memory for rows on their way to and from GPUs.",
							NULL, &gpusort_staging_memory, 1024, 32, 1024 * 1024, PGC_SIGHUP, GUC_UNIT_MB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.idle_memory",
							"Host memory for results on GPUs that have not been read for a while.",
							"0: such results stay on the GPU.", &gpusort_idle_memory, 4096, 0, 1024 * 1024,
							PGC_SIGHUP, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"gpusort.max_kept_memory",
		"Host memory of a parallel sort that the server keeps for the next parallel sort.",
		"The memory is kept for some seconds. -1: a 32nd of the machine's memory. 0: none.",
		&gpusort_max_kept_memory, -1, -1, MAX_KILOBYTES, PGC_SIGHUP, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomStringVariable("gpusort.devices", "Numbers of the GPUs that sort.",
							   "Empty: all; none: no GPU is used, and gpusortd is not started.",
							   &gpusort_device_list, "", PGC_SIGHUP, 0, check_devices, NULL, NULL);
	DefineCustomIntVariable("gpusort.service_timeout",
							"Time after which a gpusortd that does not answer is killed and restarted.",
							"0: never.", &gpusort_service_timeout, 10000, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomStringVariable("gpusort.gpusortd_path", "Path of the program that sorts on GPUs.",
							   "Empty: gpusortd in the directory of the server's programs.",
							   &gpusort_gpusortd_path, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY, NULL, NULL, NULL);
	DefineCustomStringVariable("gpusort.gpusortd_options", "More options for gpusortd, for tests.", NULL,
							   &gpusort_gpusortd_options, "", PGC_SIGHUP,
							   GUC_SUPERUSER_ONLY | GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}

const char *
guc_taken(void)
{
	int number = 0;
	struct config_generic **all = all_guc_variables(&number);

	for (int i = 0; i < number; i++)
	{
		if (pg_strncasecmp(all[i]->name, "gpusort.", strlen("gpusort.")) == 0 &&
			(all[i]->flags & GUC_CUSTOM_PLACEHOLDER) == 0)
			return all[i]->name;
	}
	return NULL;
}

void
guc_define_all(void)
{
	DefineCustomEnumVariable(
		"gpusort.mode", "Selects which sorts gpusort takes.",
		"auto: sorts for which gpusort is expected to be faster; off: none; force: all sorts that gpusort can do.",
		&gpusort_mode, GPUSORT_MODE_AUTO, mode_options, PGC_USERSET, GUC_EXPLAIN, NULL, assign_mode, NULL);
	DefineCustomEnumVariable("gpusort.backend", "Selects the device that sorts.", NULL, &gpusort_backend,
							 GPUSORT_BACKEND_AUTO, backend_options, PGC_USERSET, GUC_EXPLAIN, NULL, NULL,
							 NULL);
	DefineCustomEnumVariable("gpusort.algorithm", "Selects the algorithm for keys of fixed width.",
							 "Devices without this algorithm use their own.", &gpusort_algorithm,
							 GPUSORT_ALGORITHM_AUTO, algorithm_options, PGC_USERSET, DEVELOPER_SETTING, NULL,
							 NULL, NULL);
	DefineCustomIntVariable("gpusort.min_rows",
							"In mode auto, sorts with fewer expected rows are left to PostgreSQL.", NULL,
							&gpusort_min_rows, 500, 0, INT_MAX, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.work_mem", "Host memory of one sort before it writes temporary files.",
							"-1: work_mem for each process that feeds the sort.", &gpusort_work_mem, -1, -1,
							MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB | GUC_EXPLAIN, check_work_mem, NULL,
							NULL);
	DefineCustomBoolVariable("gpusort.create_index", "Enables builds of B-tree indexes by gpusort.",
							 "gpusort.mode must allow it too.", &gpusort_create_index, true, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.queue_timeout",
							"Maximum time that a sort waits for GPU memory before it runs on the CPU.",
							"A sort never waits longer than the CPU would take. -1: no other limit.",
							&gpusort_queue_timeout, 10000, -1, INT_MAX, PGC_USERSET,
							GUC_UNIT_MS | GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomEnumVariable(
		"gpusort.dictionary",
		"Gives values of text numbers while a sort reads its rows, and sorts each value once.",
		"auto: where statistics say that values repeat.", &gpusort_dictionary, GPUSORT_DICTIONARY_AUTO,
		dictionary_options, PGC_USERSET, DEVELOPER_SETTING, NULL, assign_dictionary, NULL);
	DefineCustomIntVariable(
		"gpusort.spoiled_images",
		"Spoils one image of a string in this number, to test the verification of the order.",
		"0: none. The order of the result stays the same.", &gpusort_spoiled_images, 0, 0, INT_MAX, PGC_SUSET,
		DEVELOPER_SETTING, NULL, NULL, NULL);
	define_limits();
	define_logging();
	define_service_settings();
	MarkGUCPrefixReserved("gpusort");
}

Size
guc_sort_memory(int processes)
{
	Size wanted =
		gpusort_work_mem == -1 ? (Size) work_mem * 1024 * processes : (Size) gpusort_work_mem * 1024;

	return gpusort_max_work_mem == -1 ? wanted : Min(wanted, (Size) gpusort_max_work_mem * 1024);
}

Size
guc_sort_memory_of_each(int processes)
{
	return Max(guc_sort_memory(processes) / processes, (Size) WORK_MEM_MIN_KB * 1024);
}

int
guc_queue_timeout(void)
{
	if (gpusort_max_queue_timeout == -1)
		return gpusort_queue_timeout;
	return gpusort_queue_timeout == -1 ? gpusort_max_queue_timeout
									   : Min(gpusort_queue_timeout, gpusort_max_queue_timeout);
}

uint64
guc_sort_device_memory(uint64 device_memory)
{
	int percent;
	int megabytes;
	uint64 bytes;
	const char *hint;

	(void) parse_device_memory(gpusort_max_sort_device_memory, &percent, &megabytes, &hint);
	if (percent > 0)
		return percent == 100 ? device_memory : device_memory / 100 * percent;
	bytes = (uint64) megabytes * 1024 * 1024;
	return device_memory > 0 ? Min(bytes, device_memory) : bytes;
}

char *
guc_device_memory_argument(void)
{
	int percent;
	int megabytes;
	const char *hint;

	(void) parse_device_memory(gpusort_max_device_memory, &percent, &megabytes, &hint);
	return percent > 0 ? psprintf("%d%%", percent) : psprintf("%dM", megabytes);
}

bool
guc_no_devices(void)
{
	return pg_strcasecmp(gpusort_device_list, "none") == 0;
}
