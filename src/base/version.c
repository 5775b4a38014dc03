/*
 * base/version.c
 *		The version of the library, which may be another than that of the SQL.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(gpusort_version);

Datum
gpusort_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(GPUSORT_VERSION));
}
