/*
 * plan/window_functions.h
 *		Calls of functions over a window: which kinds a GpuWindow computes.
 */
#ifndef GPUSORT_PLAN_WINDOW_FUNCTIONS_H
#define GPUSORT_PLAN_WINDOW_FUNCTIONS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* The maximum number of rows between the current row and the row whose value lag() or lead() returns. */
#define WINDOW_MAX_OFFSET 100

typedef enum WindowKind
{
	WINDOW_OTHER, /* not computed by a GpuWindow */
	WINDOW_ROW_NUMBER,
	WINDOW_RANK,
	WINDOW_DENSE_RANK,
	WINDOW_NTILE,
	WINDOW_PERCENT_RANK,
	WINDOW_CUME_DIST,
	WINDOW_LAG,		  /* lag() or lead() of a row before, or of the current row */
	WINDOW_LEAD,	  /* the same of a row behind */
	WINDOW_NTH_VALUE, /* also first_value() */
	WINDOW_LAST_VALUE,
	WINDOW_AGGREGATE
} WindowKind;

typedef struct WindowCall
{
	WindowKind kind;
	AttrNumber attno; /* LAG, LEAD, NTH_VALUE, LAST_VALUE: the argument, a column of the input */
	int64 offset;	  /* LAG, LEAD: rows between; NTH_VALUE: the number of the row, from 1; NTILE: buckets */
	const Const *fallback; /* LAG, LEAD: the value if there is no such row; NULL: a NULL */
} WindowCall;

/* Describes the call.  Of a call that a GpuWindow cannot compute, why_not gets the reason; may be NULL. */
extern WindowCall window_call(const WindowFunc *function, const char **why_not);

/* Does the result depend on the frame? */
extern bool window_kind_has_frame(WindowKind kind);

#endif /* GPUSORT_PLAN_WINDOW_FUNCTIONS_H */
