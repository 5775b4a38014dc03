/*
 * check/check.c
 *		gpusort_check(statement): which of a statement's sorts are taken, why the others are not, how they are
 *		done, and how long they are expected to take.
 *
 * The statement is planned as the session's settings would have it, and the finished plan is read.  Nothing
 * is executed; but the permissions to do so are checked, as EXPLAIN checks them.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"

#include "base/pg_compat.h"
#include "base/preload.h"
#include "check/error_text.h"
#include "check/result.h"
#include "check/statement.h"

PG_FUNCTION_INFO_V1(gpusort_check);

/* This function may have brought the library into this session: what is true here is true nowhere else. */
static void
put_if_not_preloaded(Check *check)
{
	if (preload_setting() == NULL)
		check_put_note(check,
					   psprintf("gpusort is loaded in this session only, because no setting loads it: %s",
								preload_hint()));
}

static void
put_if_there_are_none(Check *check)
{
	if (check->sorts == 0)
		check_put_note(check, check->why_none);
}

static RawStmt *
parse_statement(const char *text)
{
	List *statements = pg_parse_query(text);

	if (statements == NIL)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("gpusort_check needs a statement"),
			 errhint(
				 "Pass the text of one statement: SELECT * FROM gpusort_check('SELECT ... ORDER BY ...').")));
	if (list_length(statements) != 1)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("gpusort_check takes one statement, not %d", list_length(statements)),
			 errhint(
				 "Call gpusort_check for each statement: SELECT c.* FROM unnest(ARRAY['...', '...']) AS query, "
				 "gpusort_check(query) AS c.")));
	return linitial_node(RawStmt, statements);
}

/* Its queries, of which rules may have made several; parameters are of the types that they are used as. */
static List *
analyze(RawStmt *statement, const char *text)
{
	Oid *param_types = NULL;
	int nparams = 0;

	return pg_analyze_and_rewrite_varparams(statement, text, &param_types, &nparams, NULL);
}

Datum
gpusort_check(PG_FUNCTION_ARGS)
{
	Check check;
	ErrorContextCallback callback;
	ListCell *cell;

	check_begin(&check, fcinfo, text_to_cstring(PG_GETARG_TEXT_PP(0)));
	put_if_not_preloaded(&check);
	check_begin_text(&callback, check.text);
	foreach(cell, analyze(parse_statement(check.text), check.text))
		check_query(&check, lfirst_node(Query, cell), CURSOR_OPT_PARALLEL_OK, NULL);
	check_end_text(&callback);
	put_if_there_are_none(&check);
	return (Datum) 0;
}
