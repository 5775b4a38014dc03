/*
 * plan/known_functions.c
 *		What PostgreSQL's own functions do to the number of values.
 *
 * Only functions that people group and sort by are here; the others may do anything to it.
 */
#include "postgres.h"

#include "utils/fmgroids.h"

#include "plan/known_functions.h"

/* ---------------------------------------------------------------- functions */

static const struct
{
	Oid oid;
	KnownFunction kind;
} functions[] = {
	{F_INT2PL, FUNCTION_KEEPS},
	{F_INT2MI, FUNCTION_KEEPS},
	{F_INT4PL, FUNCTION_KEEPS},
	{F_INT4MI, FUNCTION_KEEPS},
	{F_INT8PL, FUNCTION_KEEPS},
	{F_INT8MI, FUNCTION_KEEPS},
	{F_INT24PL, FUNCTION_KEEPS},
	{F_INT24MI, FUNCTION_KEEPS},
	{F_INT42PL, FUNCTION_KEEPS},
	{F_INT42MI, FUNCTION_KEEPS},
	{F_INT48PL, FUNCTION_KEEPS},
	{F_INT48MI, FUNCTION_KEEPS},
	{F_INT84PL, FUNCTION_KEEPS},
	{F_INT84MI, FUNCTION_KEEPS},
	{F_INT2UM, FUNCTION_KEEPS},
	{F_INT4UM, FUNCTION_KEEPS},
	{F_INT8UM, FUNCTION_KEEPS},
	{F_FLOAT8UM, FUNCTION_KEEPS},
	{F_NUMERIC_UMINUS, FUNCTION_KEEPS},
	{F_NUMERIC_ADD, FUNCTION_KEEPS},
	{F_NUMERIC_SUB, FUNCTION_KEEPS},
	{F_FLOAT8PL, FUNCTION_KEEPS},
	{F_FLOAT8MI, FUNCTION_KEEPS},
	{F_DATE_PLI, FUNCTION_KEEPS},
	{F_DATE_MII, FUNCTION_KEEPS},
	{F_TIMESTAMP_PL_INTERVAL, FUNCTION_KEEPS},
	{F_TIMESTAMP_MI_INTERVAL, FUNCTION_KEEPS},
	{F_TIMESTAMPTZ_PL_INTERVAL, FUNCTION_KEEPS},
	{F_TIMESTAMPTZ_MI_INTERVAL, FUNCTION_KEEPS},
	{F_TIMEZONE_TEXT_TIMESTAMP, FUNCTION_KEEPS},
	{F_TIMEZONE_TEXT_TIMESTAMPTZ, FUNCTION_KEEPS},
	{F_TEXTCAT, FUNCTION_KEEPS},
	{F_LOWER_TEXT, FUNCTION_KEEPS},
	{F_UPPER_TEXT, FUNCTION_KEEPS},
	{F_INITCAP, FUNCTION_KEEPS},
	{F_BTRIM_TEXT, FUNCTION_KEEPS},
	{F_LTRIM_TEXT, FUNCTION_KEEPS},
	{F_RTRIM_TEXT, FUNCTION_KEEPS},
	{F_INT2MUL, FUNCTION_MULTIPLIES},
	{F_INT4MUL, FUNCTION_MULTIPLIES},
	{F_INT8MUL, FUNCTION_MULTIPLIES},
	{F_INT24MUL, FUNCTION_MULTIPLIES},
	{F_INT42MUL, FUNCTION_MULTIPLIES},
	{F_INT48MUL, FUNCTION_MULTIPLIES},
	{F_INT84MUL, FUNCTION_MULTIPLIES},
	{F_NUMERIC_MUL, FUNCTION_MULTIPLIES},
	{F_FLOAT8MUL, FUNCTION_MULTIPLIES},
	{F_NUMERIC_DIV, FUNCTION_DIVIDES},
	{F_FLOAT8DIV, FUNCTION_DIVIDES},
	{F_INT2DIV, FUNCTION_QUOTIENT},
	{F_INT4DIV, FUNCTION_QUOTIENT},
	{F_INT8DIV, FUNCTION_QUOTIENT},
	{F_INT24DIV, FUNCTION_QUOTIENT},
	{F_INT42DIV, FUNCTION_QUOTIENT},
	{F_INT48DIV, FUNCTION_QUOTIENT},
	{F_INT84DIV, FUNCTION_QUOTIENT},
	{F_NUMERIC_DIV_TRUNC, FUNCTION_QUOTIENT},
	{F_DIV, FUNCTION_QUOTIENT},
	{F_INT2MOD, FUNCTION_REMAINDER},
	{F_INT4MOD, FUNCTION_REMAINDER},
	{F_INT8MOD, FUNCTION_REMAINDER},
	{F_MOD_INT2_INT2, FUNCTION_REMAINDER},
	{F_MOD_INT4_INT4, FUNCTION_REMAINDER},
	{F_MOD_INT8_INT8, FUNCTION_REMAINDER},
	{F_FLOOR_NUMERIC, FUNCTION_ROUNDS},
	{F_FLOOR_FLOAT8, FUNCTION_ROUNDS},
	{F_CEIL_NUMERIC, FUNCTION_ROUNDS},
	{F_CEIL_FLOAT8, FUNCTION_ROUNDS},
	{F_CEILING_NUMERIC, FUNCTION_ROUNDS},
	{F_CEILING_FLOAT8, FUNCTION_ROUNDS},
	{F_ROUND_NUMERIC, FUNCTION_ROUNDS},
	{F_ROUND_FLOAT8, FUNCTION_ROUNDS},
	{F_TRUNC_NUMERIC, FUNCTION_ROUNDS},
	{F_TRUNC_FLOAT8, FUNCTION_ROUNDS},
	{F_ROUND_NUMERIC_INT4, FUNCTION_ROUNDS},
	{F_TRUNC_NUMERIC_INT4, FUNCTION_ROUNDS},
	{F_DATE_TIMESTAMP, FUNCTION_DAYS},
	{F_DATE_TIMESTAMPTZ, FUNCTION_DAYS},
	{F_DATE_TRUNC_TEXT_TIMESTAMP, FUNCTION_TRUNC},
	{F_DATE_TRUNC_TEXT_TIMESTAMPTZ, FUNCTION_TRUNC},
	{F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT, FUNCTION_TRUNC},
	{F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP, FUNCTION_BIN},
	{F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ, FUNCTION_BIN},
	{F_DATE_PART_TEXT_DATE, FUNCTION_FIELD},
	{F_DATE_PART_TEXT_TIME, FUNCTION_FIELD},
	{F_DATE_PART_TEXT_TIMESTAMP, FUNCTION_FIELD},
	{F_DATE_PART_TEXT_TIMESTAMPTZ, FUNCTION_FIELD},
	{F_EXTRACT_TEXT_DATE, FUNCTION_FIELD},
	{F_EXTRACT_TEXT_TIME, FUNCTION_FIELD},
	{F_EXTRACT_TEXT_TIMESTAMP, FUNCTION_FIELD},
	{F_EXTRACT_TEXT_TIMESTAMPTZ, FUNCTION_FIELD},
	{F_TO_CHAR_TIMESTAMP_TEXT, FUNCTION_TO_CHAR},
	{F_TO_CHAR_TIMESTAMPTZ_TEXT, FUNCTION_TO_CHAR},
	{F_LEFT, FUNCTION_PREFIX},
	{F_BPCHAR_BPCHAR_INT4_BOOL, FUNCTION_SHORTENS},
	{F_VARCHAR_VARCHAR_INT4_BOOL, FUNCTION_SHORTENS},
	{F_SUBSTR_TEXT_INT4_INT4, FUNCTION_SUBSTRING},
	{F_SUBSTRING_TEXT_INT4_INT4, FUNCTION_SUBSTRING},
	{F_JSONB_OBJECT_FIELD, FUNCTION_MEMBER},
	{F_JSONB_OBJECT_FIELD_TEXT, FUNCTION_MEMBER},
};

KnownFunction
known_function(Oid function)
{
	for (int i = 0; i < lengthof(functions); i++)
	{
		if (functions[i].oid == function)
			return functions[i].kind;
	}
	return FUNCTION_OTHER;
}

/* ---------------------------------------------------------------- times */

#define MINUTE 60.0
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define YEAR (365.2425 * DAY)

/* A unit of time, the seconds that it lasts, and how many of it there are in the next larger one. */
typedef struct TimeUnit
{
	const char *name;
	double seconds;
	double values; /* 0: any number */
} TimeUnit;

static const TimeUnit units[] = {
	{"microsecond", 1e-6, 0},
	{"millisecond", 1e-3, 0},
	{"second", 1, 0},
	{"minute", MINUTE, 60},
	{"hour", HOUR, 24},
	{"day", DAY, 31},
	{"dow", DAY, 7},
	{"isodow", DAY, 7},
	{"doy", DAY, 366},
	{"week", 7 * DAY, 53},
	{"month", YEAR / 12, 12},
	{"quarter", YEAR / 4, 4},
	{"year", YEAR, 0},
	{"isoyear", YEAR, 0},
	{"decade", 10 * YEAR, 0},
	{"century", 100 * YEAR, 0},
	{"millennium", 1000 * YEAR, 0},
};

/* Letters of a format, the finest first; none is a part of one before it. */
static const TimeUnit format_units[] = {
	{"US", 1e-6, 0},		{"MS", 1e-3, 0},	   {"SS", 1, 60},
	{"MI", MINUTE, 60},		{"HH", HOUR, 24},	   {"DDD", DAY, 366},
	{"DD", DAY, 31},		{"DAY", DAY, 7},	   {"DY", DAY, 7},
	{"D", DAY, 7},			{"J", DAY, 0},		   {"IW", 7 * DAY, 53},
	{"WW", 7 * DAY, 53},	{"W", 7 * DAY, 5},	   {"MONTH", YEAR / 12, 12},
	{"MON", YEAR / 12, 12}, {"MM", YEAR / 12, 12}, {"RM", YEAR / 12, 12},
	{"Q", YEAR / 4, 4},		{"Y", YEAR, 0},
};

/* Is it this unit's name, or the plural of it? */
static bool
names_unit(const char *word, const char *name)
{
	Size length = strlen(name);

	return pg_strncasecmp(word, name, length) == 0 &&
		   (word[length] == '\0' || pg_strcasecmp(word + length, "s") == 0);
}

static const TimeUnit *
find_unit(const char *word)
{
	for (int i = 0; i < lengthof(units); i++)
	{
		if (names_unit(word, units[i].name))
			return &units[i];
	}
	return NULL;
}

double
seconds_of_unit(const char *unit)
{
	const TimeUnit *found = find_unit(unit);

	return found != NULL ? found->seconds : 0;
}

double
values_of_field(const char *field)
{
	const TimeUnit *found = find_unit(field);

	return found != NULL ? found->values : 0;
}

void
describe_format(const char *format, double *seconds, double *values)
{
	char *rest = pstrdup(format);

	for (char *letter = rest; *letter != '\0'; letter++)
		*letter = (char) pg_toupper((unsigned char) *letter);
	*seconds = 0;
	*values = 1;
	for (int i = 0; i < lengthof(format_units); i++)
	{
		char *found = strstr(rest, format_units[i].name);

		if (found == NULL)
			continue;
		if (*seconds == 0)
			*seconds = format_units[i].seconds;
		*values *= format_units[i].values;
		memset(found, ' ', strlen(format_units[i].name));
	}
}
