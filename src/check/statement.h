/*
 * check/statement.h
 *		The parts of a statement that are planned, or build indexes, for gpusort_check.
 */
#ifndef GPUSORT_CHECK_STATEMENT_H
#define GPUSORT_CHECK_STATEMENT_H

#include "postgres.h"

#include "nodes/params.h"
#include "nodes/parsenodes.h"

#include "check/result.h"

/*
 * Puts the sorts of a query's plan, also of a query in a utility statement.  The plan is made with these
 * cursor options and parameters; params may be NULL.
 */
extern void check_query(Check *check, Query *query, int cursor_options, ParamListInfo params);

/* Puts the index builds of a utility statement; false: the statement is not known to build any. */
typedef bool (*CheckIndexBuilds)(Check *check, Node *statement);

/* Sets the function that reports index builds.  Call once, when the library is loaded. */
extern void check_set_index_builds(CheckIndexBuilds builds);

#endif /* GPUSORT_CHECK_STATEMENT_H */
