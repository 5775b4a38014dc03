/*
 * check/check.h
 *		gpusort_check(statement): the sorts of a statement that gpusort would take.
 *
 * check.c has the driver and the rows of the result.  statement.c finds the parts of a statement that are
 * planned, or build indexes.  finished_plan.c describes the sorts of a finished plan.
 */
#ifndef GPUSORT_CHECK_CHECK_H
#define GPUSORT_CHECK_CHECK_H

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

/* Put a row for a sort, and a row with a note. */
extern void check_put(Check *check, const CheckedSort *sort);
extern void check_put_note(Check *check, const char *note);

/*
 * Puts the sorts of a query's plan, also of a query in a utility statement.  The plan is made with these
 * cursor options and parameters; params may be NULL.
 */
extern void check_query(Check *check, Query *query, int cursor_options, ParamListInfo params);

/* Puts the sorts of a query for the planner.  A user who may EXPLAIN the query may check it. */
extern void check_plan(Check *check, Query *query, int cursor_options, ParamListInfo params);

/*
 * Until check_end_text, error positions refer to `text`, not to the statement that calls gpusort_check.  The
 * caller owns the callback; check_end_text removes it.
 */
extern void check_begin_text(ErrorContextCallback *callback, const char *text);
extern void check_end_text(const ErrorContextCallback *callback);

/* The state before switching to the rights of a relation's owner. */
typedef struct OwnersRights
{
	Oid user;
	int context;
	int nest_level;
} OwnersRights;

/* Code between these calls has the owner's rights, as in maintenance of a relation. */
extern void check_begin_as_owner(OwnersRights *before, Relation relation);
extern void check_end_as_owner(const OwnersRights *before);

/* Puts the index builds of a utility statement; false: the statement is not known to build any. */
typedef bool (*CheckIndexBuilds)(Check *check, Node *statement);

/* Sets the function that reports index builds.  Call once, when the library is loaded. */
extern void check_set_index_builds(CheckIndexBuilds builds);

#endif /* GPUSORT_CHECK_CHECK_H */
