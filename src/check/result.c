/*
 * check/result.c
 *		The rows of gpusort_check's result.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "base/result_rows.h"
#include "check/result.h"

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

void
check_begin(Check *check, FunctionCallInfo fcinfo, const char *statement)
{
	*check = (Check){.text = statement, .why_none = "the statement sorts nothing"};
	check->result = result_rows_begin(fcinfo, column_types, COLUMNS);
}
