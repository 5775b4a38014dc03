/*
 * guc.c
 *		The settings, gpusort.*; docs/settings.md describes them for users.
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "utils/guc.h"

#include "guc.h"

int			gpusort_mode = GPUSORT_MODE_AUTO;
int			gpusort_backend = GPUSORT_BACKEND_AUTO;
int			gpusort_algorithm = GPUSORT_ALGORITHM_AUTO;
int			gpusort_min_rows = 50000;
int			gpusort_work_mem = -1;

static const struct config_enum_entry mode_options[] = {
	{"auto", GPUSORT_MODE_AUTO, false},
	{"off", GPUSORT_MODE_OFF, false},
	{"force", GPUSORT_MODE_FORCE, false},
	{NULL, 0, false}
};

static const struct config_enum_entry backend_options[] = {
	{"auto", GPUSORT_BACKEND_AUTO, false},
	{"cpu", GPUSORT_BACKEND_CPU, false},
	{"cuda", GPUSORT_BACKEND_CUDA, false},
	{NULL, 0, false}
};

static const struct config_enum_entry algorithm_options[] = {
	{"auto", GPUSORT_ALGORITHM_AUTO, false},
	{"sample", GPUSORT_ALGORITHM_SAMPLE, false},
	{"bucket", GPUSORT_ALGORITHM_BUCKET, false},
	{"radix", GPUSORT_ALGORITHM_RADIX, false},
	{NULL, 0, false}
};

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

void
guc_define_all(void)
{
	DefineCustomEnumVariable("gpusort.mode", "Whether sorts are taken off PostgreSQL's hands.",
							 "auto: where that is expected to be cheaper; off: never; force: wherever it is possible.",
							 &gpusort_mode, GPUSORT_MODE_AUTO, mode_options, PGC_USERSET, GUC_EXPLAIN, NULL, NULL,
							 NULL);
	DefineCustomEnumVariable("gpusort.backend", "The device that sorts.", NULL, &gpusort_backend,
							 GPUSORT_BACKEND_AUTO, backend_options, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomEnumVariable("gpusort.algorithm", "How keys of fixed width are sorted.",
							 "By devices that know the algorithm; others take the one they have.", &gpusort_algorithm,
							 GPUSORT_ALGORITHM_AUTO, algorithm_options, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.min_rows", "Sorts of fewer rows, by estimate, are left alone in mode auto.", NULL,
							&gpusort_min_rows, 50000, 0, INT_MAX, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.work_mem", "Host memory of one sort before it goes to temporary files.",
							"-1 means as work_mem.", &gpusort_work_mem, -1, -1, MAX_KILOBYTES, PGC_USERSET,
							GUC_UNIT_KB | GUC_EXPLAIN, check_work_mem, NULL, NULL);
	MarkGUCPrefixReserved("gpusort");
}

Size
guc_sort_memory(void)
{
	return (Size) (gpusort_work_mem == -1 ? work_mem : gpusort_work_mem) * 1024;
}
