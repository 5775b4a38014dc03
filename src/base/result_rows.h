/*
 * base/result_rows.h
 *		The rows of a function that returns a set, and values in them.
 */
#ifndef GPUSORT_BASE_RESULT_ROWS_H
#define GPUSORT_BASE_RESULT_ROWS_H

#include "fmgr.h"
#include "nodes/execnodes.h"

/*
 * Where the rows of this call go, as InitMaterializedSRF() makes it; ncolumns types, of which each row has
 * one value.  An error if the function is declared with other columns: the library would write past its
 * values, or return something as what it is not.
 */
extern ReturnSetInfo *result_rows_begin(FunctionCallInfo fcinfo, const Oid *types, int ncolumns);

/* Milliseconds as a column has them: whole microseconds, without digits that say nothing. */
extern Datum result_milliseconds(double ms);

#endif /* GPUSORT_BASE_RESULT_ROWS_H */
