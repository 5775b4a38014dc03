/*
 * plan/known_functions.h
 *		What PostgreSQL's own functions do to the number of values.
 */
#ifndef GPUSORT_PLAN_KNOWN_FUNCTIONS_H
#define GPUSORT_PLAN_KNOWN_FUNCTIONS_H

#include "postgres.h"

typedef enum KnownFunction
{
	FUNCTION_OTHER,
	FUNCTION_KEEPS,		 /* different arguments have different results: x + y, a || b, lower(a), casts */
	FUNCTION_MULTIPLIES, /* x * y */
	FUNCTION_DIVIDES,	 /* x / y, of numbers with a fraction */
	FUNCTION_QUOTIENT,	 /* x / y, of integers */
	FUNCTION_REMAINDER,	 /* x % y, of integers */
	FUNCTION_ROUNDS,	 /* floor(x), round(x): one result a unit of the argument */
	FUNCTION_DAYS,		 /* the day of a timestamp */
	FUNCTION_TRUNC,		 /* date_trunc(unit, t) */
	FUNCTION_BIN,		 /* date_bin(stride, t, origin) */
	FUNCTION_FIELD,		 /* extract(field from t), date_part(field, t) */
	FUNCTION_TO_CHAR,	 /* to_char(t, format) */
	FUNCTION_PREFIX,	 /* left(s, n) */
	FUNCTION_SHORTENS,	 /* s::varchar(n) */
	FUNCTION_SUBSTRING,	 /* substr(s, from, n) */
	FUNCTION_MEMBER		 /* document -> key, document ->> key, of jsonb */
} KnownFunction;

extern KnownFunction known_function(Oid function);

/* Seconds between two times that date_trunc by this unit tells apart; 0: no unit that is known. */
extern double seconds_of_unit(const char *unit);

/* How many values this field of a time can have; 0: any number. */
extern double values_of_field(const char *field);

/*
 * What to_char tells of a time by this format: seconds between two times that differ in it, and how many
 * different results there can be, 0: any number.
 */
extern void describe_format(const char *format, double *seconds, double *values);

#endif /* GPUSORT_PLAN_KNOWN_FUNCTIONS_H */
