/*
 * plan/check.h
 *		gpusort_check(query): what of a statement gpusort would take.
 */
#ifndef GPUSORT_PLAN_CHECK_H
#define GPUSORT_PLAN_CHECK_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"

/* A row of gpusort_check's result. */
typedef struct CheckedSort
{
	const char *sort_key; /* in words */
	const char *why_not;  /* NULL: it is taken */
	const char *replaced; /* where it is taken, what it stands in the place of; NULL: of another sort */
	const char *how;	  /* where it is taken, and how large it is expected to be; NULL: not known */
	double expected_ms;	  /* -1: not known */
	double postgres_ms;	  /* the same */
} CheckedSort;

extern void check_put(ReturnSetInfo *result, const CheckedSort *sort);

/* Checks a CREATE INDEX, by check_put; raises PostgreSQL's own errors where the statement would. */
typedef void (*CheckIndexStatement)(IndexStmt *statement, const char *query_string, ReturnSetInfo *result);

/* Once, when the library is loaded: this function knows about builds of indexes. */
extern void check_set_index_statement(CheckIndexStatement check);

#endif /* GPUSORT_PLAN_CHECK_H */
