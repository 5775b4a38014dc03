/*
 * plan/check.h
 *		gpusort_check(statement): which of a statement's sorts gpusort would take.
 *
 *		check			the driver, and the rows of the result
 *		check_statement		what of a statement is planned, and what builds indexes
 *		check_plan		the sorts of a finished plan
 *		check_how		how a sort is done
 *		advice			what would change that
 */
#ifndef GPUSORT_PLAN_CHECK_H
#define GPUSORT_PLAN_CHECK_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "utils/elog.h"
#include "utils/rel.h"

/* One call of gpusort_check. */
typedef struct Check
{
	ReturnSetInfo *result;
	const char *text;	  /* the statement */
	int sorts;			  /* rows so far that are for a sort */
	const char *why_none; /* what is said if there are none */
} Check;

/* A row of the result. */
typedef struct CheckedSort
{
	const char *sort_key; /* in words */
	const char *why_not;  /* NULL: it is taken */
	const char *advice;	  /* where it is not taken, what would change that; NULL: nothing that is known */
	const char *replaced; /* where it is taken, what it stands in the place of; NULL: of another sort */
	const char *how;	  /* device, processes, memory, files; NULL: nothing is sorted */
	double expected_ms;	  /* -1: not known */
	double postgres_ms;	  /* the same */
} CheckedSort;

/* A row for a sort; and one that says something else. */
extern void check_put(Check *check, const CheckedSort *sort);
extern void check_put_note(Check *check, const char *note);

/*
 * Puts the sorts of a query's plan, of what is in a utility statement too; made with these cursor options and
 * parameters, which may be NULL.
 */
extern void check_query(Check *check, Query *query, int cursor_options, ParamListInfo params);

/* The same of a query that the planner takes.  Whoever may EXPLAIN it may have it checked. */
extern void check_plan(Check *check, Query *query, int cursor_options, ParamListInfo params);

/*
 * While this is in force errors point into the text given, not into the statement that calls gpusort_check.
 * The callback is the caller's, and check_end_text takes it away.
 */
extern void check_begin_text(ErrorContextCallback *callback, const char *text);
extern void check_end_text(const ErrorContextCallback *callback);

/* The rights of a relation's owner, and those that there were before. */
typedef struct OwnersRights
{
	Oid user;
	int context;
	int nest_level;
} OwnersRights;

/* What is between these is done with the owner's rights, as maintenance of a relation is. */
extern void check_begin_as_owner(OwnersRights *before, Relation relation);
extern void check_end_as_owner(const OwnersRights *before);

/* Puts the builds of indexes that a utility statement does; false: it does none that is known. */
typedef bool (*CheckIndexBuilds)(Check *check, Node *statement);

/* Once, when the library is loaded: this function knows about builds of indexes. */
extern void check_set_index_builds(CheckIndexBuilds builds);

#endif /* GPUSORT_PLAN_CHECK_H */
