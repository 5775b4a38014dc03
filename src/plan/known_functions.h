/*
 * plan/known_functions.h
 *		The effect of PostgreSQL's functions on the number of values.
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
	FUNCTION_ROUNDS,	 /* floor(x), round(x): one result for each unit of the argument */
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

/* Returns the seconds between two different results of date_trunc with this unit; 0: an unknown unit. */
extern double seconds_of_unit(const char *unit);

/* Returns the number of values of this field of a time; 0: any number. */
extern double values_of_field(const char *field);

/*
 * Describes the results of to_char for a time with this format.  *seconds: seconds between two times with
 * different results.  *values: the number of different results; 0: any number.
 */
extern void describe_format(const char *format, double *seconds, double *values);

#endif /* GPUSORT_PLAN_KNOWN_FUNCTIONS_H */
