/*
 * check/result.h
 *		The rows of gpusort_check's result.
 */
#ifndef GPUSORT_CHECK_RESULT_H
#define GPUSORT_CHECK_RESULT_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/execnodes.h"

/* One call of gpusort_check. */
typedef struct Check
{
	ReturnSetInfo *result;
	const char *text;	  /* the statement */
	int sorts;			  /* rows so far that are for a sort */
	const char *why_none; /* the note if there are no such rows */
} Check;

/* A row of the result. */
typedef struct CheckedSort
{
	const char *sort_key; /* in words */
	const char *why_not;  /* NULL: it is taken */
	const char *advice;	  /* if the sort is not taken, what would change that; NULL: nothing is known */
	/* if the sort is taken, the part of PostgreSQL's plan that it replaces; NULL: a sort */
	const char *replaced;
	const char *how;	/* device, processes, memory, files; NULL: nothing is sorted */
	double expected_ms; /* -1: not known */
	double postgres_ms; /* the same */
} CheckedSort;

/* Begins the result of a call of gpusort_check for this statement. */
extern void check_begin(Check *check, FunctionCallInfo fcinfo, const char *statement);

/* Put a row for a sort, and a row with a note. */
extern void check_put(Check *check, const CheckedSort *sort);
extern void check_put_note(Check *check, const char *note);

#endif /* GPUSORT_CHECK_RESULT_H */
