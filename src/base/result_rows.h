/*
 * base/result_rows.h
 *		The rows of a function that returns a set, and their values.
 */
#ifndef GPUSORT_BASE_RESULT_ROWS_H
#define GPUSORT_BASE_RESULT_ROWS_H

#include "fmgr.h"
#include "nodes/execnodes.h"

/*
 * Returns the place for the rows of this call, made by InitMaterializedSRF().  Each row has ncolumns values
 * of these types.  Raises an error if the function is declared with other columns: the library would then
 * write beyond the values, or return values of wrong types.
 */
extern ReturnSetInfo *result_rows_begin(FunctionCallInfo fcinfo, const Oid *types, int ncolumns);

/* Returns milliseconds for a column, rounded to microseconds. */
extern Datum result_milliseconds(double ms);

#endif /* GPUSORT_BASE_RESULT_ROWS_H */
