/*
 * base/result_rows.c
 *		The rows of a function that returns a set: begun only if the SQL declares them as the library makes
 *		them.
 *
 * A library is replaced in all databases at once, the SQL of an extension in each by ALTER EXTENSION, and a
 * backend may have the library of before.
 */
#include "postgres.h"

#include <math.h>

#include "access/tupdesc.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "base/result_rows.h"

static bool
has_types(TupleDesc desc, const Oid *types, int ncolumns)
{
	if (desc->natts != ncolumns)
		return false;
	for (int i = 0; i < ncolumns; i++)
	{
		if (TupleDescAttr(desc, i)->atttypid != types[i])
			return false;
	}
	return true;
}

/* The names of some types, for people; palloc'd. */
static char *
list_types(const Oid *types, int ntypes)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < ntypes; i++)
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "", format_type_be(types[i]));
	return list.data;
}

static pg_noinline void
report_other_version(TupleDesc desc, const Oid *types, int ncolumns)
{
	Oid *declared = palloc(sizeof(Oid) * Max(desc->natts, 1));

	for (int i = 0; i < desc->natts; i++)
		declared[i] = TupleDescAttr(desc, i)->atttypid;
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("the library and the SQL objects of gpusort have different versions"),
			 errdetail("The library returns (%s), the SQL declares (%s).", list_types(types, ncolumns),
					   list_types(declared, desc->natts)),
			 errhint(
				 "Try a new session, then ALTER EXTENSION gpusort UPDATE, or create the extension again.")));
}

ReturnSetInfo *
result_rows_begin(FunctionCallInfo fcinfo, const Oid *types, int ncolumns)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	if (!has_types(result->setDesc, types, ncolumns))
		report_other_version(result->setDesc, types, ncolumns);
	return result;
}

Datum
result_milliseconds(double ms)
{
	return Float8GetDatum(rint(ms * 1000) / 1000);
}
