/*
 * check/check.c
 *		gpusort_check(statement): which of a statement's sorts are taken, why the others are not, how they are
 *		done, and how long they are expected to take.
 *
 * The statement is planned as the session's settings would have it, and the finished plan is read.  Nothing
 * is executed; but the permissions to do so are checked, as EXPLAIN checks them.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "base/pg_compat.h"
#include "base/preload.h"
#include "base/result_rows.h"
#include "check/check.h"

PG_FUNCTION_INFO_V1(gpusort_check);

/* Columns of the result. */
enum
{
	COLUMN_SORT_KEY,
	COLUMN_TAKEN,
	COLUMN_REASON,
	COLUMN_EXPECTED_MS,
	COLUMN_POSTGRESQL_MS,
	COLUMN_HOW,
	COLUMNS
};

static const Oid column_types[COLUMNS] = {TEXTOID, BOOLOID, TEXTOID, FLOAT8OID, FLOAT8OID, TEXTOID};

/* ---------------------------------------------------------------- rows */

static void
put_text(const char *text, int column, Datum *values, bool *nulls)
{
	nulls[column] = text == NULL;
	if (text != NULL)
		values[column] = CStringGetTextDatum(text);
}

static void
put_time(double ms, int column, Datum *values, bool *nulls)
{
	nulls[column] = ms < 0;
	values[column] = result_milliseconds(ms);
}

/* Why it is not taken, or what it stands in the place of. */
static const char *
reason_of(const CheckedSort *sort)
{
	if (sort->why_not == NULL)
		return sort->replaced;
	return sort->advice != NULL ? psprintf("%s; %s", sort->why_not, sort->advice) : sort->why_not;
}

void
check_put(Check *check, const CheckedSort *sort)
{
	Datum values[COLUMNS] = {0};
	bool nulls[COLUMNS] = {false};

	put_text(sort->sort_key, COLUMN_SORT_KEY, values, nulls);
	values[COLUMN_TAKEN] = BoolGetDatum(sort->why_not == NULL);
	put_text(reason_of(sort), COLUMN_REASON, values, nulls);
	put_time(sort->expected_ms, COLUMN_EXPECTED_MS, values, nulls);
	put_time(sort->postgres_ms, COLUMN_POSTGRESQL_MS, values, nulls);
	put_text(sort->how, COLUMN_HOW, values, nulls);
	tuplestore_putvalues(check->result->setResult, check->result->setDesc, values, nulls);
	check->sorts++;
}

void
check_put_note(Check *check, const char *note)
{
	Datum values[COLUMNS] = {0};
	bool nulls[COLUMNS];

	memset(nulls, true, sizeof(nulls));
	put_text(note, COLUMN_REASON, values, nulls);
	tuplestore_putvalues(check->result->setResult, check->result->setDesc, values, nulls);
}

/* ---------------------------------------------------------------- the call */

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

/* PostgreSQL has noted a place in the text as one in the statement of the client. */
static void
move_error_position(void *text)
{
	int position = geterrposition();

	if (position <= 0)
		return;
	errposition(0);
	internalerrposition(position);
	internalerrquery(text);
}

void
check_begin_text(ErrorContextCallback *callback, const char *text)
{
	callback->callback = move_error_position;
	callback->arg = unconstify(char *, text);
	callback->previous = error_context_stack;
	error_context_stack = callback;
}

void
check_end_text(const ErrorContextCallback *callback)
{
	error_context_stack = callback->previous;
}

Datum
gpusort_check(PG_FUNCTION_ARGS)
{
	Check check = {.text = text_to_cstring(PG_GETARG_TEXT_PP(0)), .why_none = "the statement sorts nothing"};
	ErrorContextCallback callback;
	ListCell *cell;

	check.result = result_rows_begin(fcinfo, column_types, COLUMNS);
	put_if_not_preloaded(&check);
	check_begin_text(&callback, check.text);
	foreach(cell, analyze(parse_statement(check.text), check.text))
		check_query(&check, lfirst_node(Query, cell), CURSOR_OPT_PARALLEL_OK, NULL);
	check_end_text(&callback);
	put_if_there_are_none(&check);
	return (Datum) 0;
}
