/*
 * plan/expression_values.c
 *		How many values an expression over columns has.
 *
 * The planner takes an expression to have as many values as its columns have together.  People group and sort
 * by expressions to have few: the quarter of a date, a number divided by a thousand, the kind of a document.
 * What is known of PostgreSQL's own functions and of the columns' statistics says how many there are left.
 *
 * Of each part of the expression there is the number of its values, and the span between the least and the
 * greatest of them: a function that tells numbers or times apart by steps has one value a step, at most.
 * Nothing is evaluated for that, so nothing can fail that would not fail in the query.  A function of which
 * nothing is known has one value at least, and at most as many as its arguments: what is between the two by
 * orders of magnitude is expected then.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "plan/column_values.h"
#include "plan/expression_values.h"
#include "plan/known_functions.h"

#define DAYS_OF_MONTH 30.436875

/* What is known of the values of a part of the expression. */
typedef struct Values
{
	double number; /* 0: not known */
	double span;   /* between the least and the greatest, of numbers, and seconds of times; -1: not known */
	bool doubtful; /* there may be far fewer */
} Values;

#define NOTHING ((Values){.number = 0, .span = -1})

typedef struct Expression
{
	StatsOfVar stats_of;
	void *context;
	bool with_span; /* is the span asked for?  It takes longer than all else. */
} Expression;

static Values values_of(const Expression *expression, Node *node);

/* ---------------------------------------------------------------- constants */

/* The number that a constant argument is, of numbers and intervals, which is in seconds; 0: it is none. */
static double
constant_number(Node *node)
{
	const Const *constant = (const Const *) strip_implicit_coercions(node);
	const Interval *interval;

	if (!IsA(constant, Const) || constant->constisnull)
		return 0;
	switch (constant->consttype)
	{
		case INT2OID:
			return DatumGetInt16(constant->constvalue);
		case INT4OID:
			return DatumGetInt32(constant->constvalue);
		case INT8OID:
			return (double) DatumGetInt64(constant->constvalue);
		case FLOAT8OID:
			return DatumGetFloat8(constant->constvalue);
		case NUMERICOID:
			return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, constant->constvalue));
		case INTERVALOID:
			interval = DatumGetIntervalP(constant->constvalue);
			return (double) interval->time / USECS_PER_SEC +
				   SECS_PER_DAY * (interval->day + DAYS_OF_MONTH * interval->month);
		default:
			return 0;
	}
}

/* The text that a constant argument is; NULL: it is none. */
static char *
constant_text(Node *node)
{
	const Const *constant = (const Const *) node;

	if (!IsA(node, Const) || constant->constisnull || constant->consttype != TEXTOID)
		return NULL;
	return TextDatumGetCString(constant->constvalue);
}

static bool
is_constant(const Node *node)
{
	return IsA(node, Const) || (IsA(node, Param) && ((const Param *) node)->paramkind == PARAM_EXTERN);
}

/* ---------------------------------------------------------------- what functions do */

static Values
at_most(Values values, double number)
{
	if (number > 0 && (values.number == 0 || number < values.number))
		values = (Values){.number = number, .span = values.span};
	return values;
}

/* One value a step of the span; where that is not known there may be few. */
static Values
in_steps(Values values, double step)
{
	if (values.span >= 0 && step > 0)
		return at_most(values, values.span / step + 1);
	values.doubtful = true;
	return values;
}

/* The same values multiplied by a factor. */
static Values
scaled(Values values, double factor)
{
	if (values.span >= 0)
		values.span = factor != 0 ? values.span * fabs(factor) : -1;
	return values;
}

/* Both together, each with each. */
static Values
combined(Values a, Values b)
{
	Values both = {.number = a.number * b.number, .span = -1, .doubtful = a.doubtful || b.doubtful};

	if (a.span >= 0 && b.span >= 0)
		both.span = a.span + b.span;
	return both;
}

/* Either the one or the other. */
static Values
either(Values a, Values b)
{
	if (a.number == 0 || b.number == 0)
		return NOTHING;
	return (Values){.number = a.number + b.number,
					.span = Max(a.span, b.span),
					.doubtful = a.doubtful || b.doubtful};
}

/* The values of all arguments together. */
static Values
values_of_all(const Expression *expression, List *args)
{
	Values all = {.number = 1, .span = 0};
	ListCell *cell;

	foreach(cell, args)
	{
		if (!is_constant(lfirst(cell)))
			all = combined(all, values_of(expression, lfirst(cell)));
	}
	return all;
}

/* The values of all arguments, and how far they are apart. */
static Values
spanned_values_of_all(const Expression *expression, List *args)
{
	Expression spanned = *expression;

	spanned.with_span = true;
	return values_of_all(&spanned, args);
}

/* One of several. */
static Values
values_of_any(const Expression *expression, List *args)
{
	Values any = values_of(expression, linitial(args));
	ListCell *cell;

	for_each_from(cell, args, 1)
		any = either(any, values_of(expression, lfirst(cell)));
	return any;
}

/* ---------------------------------------------------------------- functions */

static Values
values_of_trunc(const Expression *expression, List *args)
{
	char *unit = constant_text(linitial(args));

	return in_steps(spanned_values_of_all(expression, args), unit != NULL ? seconds_of_unit(unit) : 0);
}

/* A field that comes round, as the hour of a day, or a number of years. */
static Values
values_of_field_of(const Expression *expression, List *args)
{
	char *field = constant_text(linitial(args));
	double number = field != NULL ? values_of_field(field) : 0;
	double seconds = field != NULL ? seconds_of_unit(field) : 0;
	Values values;

	if (number > 0)
		return at_most((Values){.number = values_of_all(expression, args).number, .span = number}, number);
	values = spanned_values_of_all(expression, args);
	return seconds >= SECS_PER_DAY ? scaled(in_steps(values, seconds), 1 / seconds) : values;
}

static Values
values_of_to_char(const Expression *expression, List *args)
{
	char *format = constant_text(lsecond(args));
	Values values = spanned_values_of_all(expression, args);
	double seconds = 0;
	double number = 0;

	if (format != NULL)
		describe_format(format, &seconds, &number);
	values = at_most(in_steps(values, seconds), seconds > 0 ? number : 0);
	values.span = -1;
	return values;
}

/* The column that the expression is, perhaps of another type that is represented alike; NULL: it is none. */
static Var *
column_of(Node *node)
{
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return IsA(node, Var) ? (Var *) node : NULL;
}

/* So many characters at the beginning of a string. */
static Values
values_of_prefix(const Expression *expression, Node *string, double characters)
{
	Var *column = column_of(string);
	Values values = values_of(expression, string);
	ColumnStats stats;
	double leading;

	if (column == NULL || characters <= 0)
		return (Values){.number = values.number, .span = -1, .doubtful = true};
	stats = expression->stats_of(column, expression->context);
	leading = column_leading_values(&stats, column->vartype, (Size) characters);
	return at_most((Values){.number = values.number, .span = -1}, leading);
}

/* The steps into the documents of a column of jsonb, the first one first; NULL: it is none of that kind. */
static Var *
find_steps(Node *node, List **steps)
{
	Var *column = column_of(node);
	List *args;
	Oid function;

	if (column != NULL)
		return column->vartype == JSONBOID ? column : NULL;
	if (IsA(node, OpExpr))
	{
		args = ((OpExpr *) node)->args;
		function = ((OpExpr *) node)->opfuncid;
	}
	else if (IsA(node, FuncExpr))
	{
		args = ((FuncExpr *) node)->args;
		function = ((FuncExpr *) node)->funcid;
	}
	else
		return NULL;
	if (known_function(function) != FUNCTION_MEMBER || constant_text(lsecond(args)) == NULL)
		return NULL;
	column = find_steps(linitial(args), steps);
	*steps = lappend(*steps, node);
	return column;
}

static Values
values_of_member(const Expression *expression, Node *node, List *args)
{
	List *steps = NIL;
	Var *column = find_steps(node, &steps);
	Values values = values_of_all(expression, args);
	ColumnStats stats;
	double members = 0;

	if (column != NULL)
	{
		stats = expression->stats_of(column, expression->context);
		members = column_member_values(&stats, steps);
	}
	values.doubtful = members == 0;
	return at_most(values, members);
}

/* A function with two arguments of which the second may be a constant. */
static Values
values_of_arithmetic(const Expression *expression, KnownFunction kind, List *args)
{
	double by = list_length(args) == 2 ? constant_number(lsecond(args)) : 0;
	Values values = kind == FUNCTION_QUOTIENT || kind == FUNCTION_ROUNDS
						? spanned_values_of_all(expression, args)
						: values_of_all(expression, args);

	switch (kind)
	{
		case FUNCTION_KEEPS:
			return values;
		case FUNCTION_MULTIPLIES:
			return scaled(values, by != 0 ? by : constant_number(linitial(args)));
		case FUNCTION_DIVIDES:
			return scaled(values, by != 0 ? 1 / by : 0);
		case FUNCTION_QUOTIENT:
			return scaled(in_steps(values, fabs(by)), by != 0 ? 1 / by : 0);
		case FUNCTION_REMAINDER:
			return by != 0 ? at_most((Values){.number = values.number, .span = fabs(by)}, fabs(by)) : values;
		default:
			return in_steps(values, pow(10, -by));
	}
}

static Values
values_of_function(const Expression *expression, Node *node, Oid function, List *args)
{
	KnownFunction kind = known_function(function);
	Values values;

	switch (kind)
	{
		case FUNCTION_TRUNC:
			return values_of_trunc(expression, args);
		case FUNCTION_BIN:
			return in_steps(spanned_values_of_all(expression, list_make1(lsecond(args))),
							constant_number(linitial(args)));
		case FUNCTION_DAYS:
			return in_steps(spanned_values_of_all(expression, args), SECS_PER_DAY);
		case FUNCTION_FIELD:
			return values_of_field_of(expression, args);
		case FUNCTION_TO_CHAR:
			return values_of_to_char(expression, args);
		case FUNCTION_PREFIX:
			return values_of_prefix(expression, linitial(args), constant_number(lsecond(args)));
		case FUNCTION_SHORTENS:
			return values_of_prefix(expression, linitial(args), constant_number(lsecond(args)) - VARHDRSZ);
		case FUNCTION_SUBSTRING:
			return values_of_prefix(expression, linitial(args),
									constant_number(lsecond(args)) + constant_number(lthird(args)) - 1);
		case FUNCTION_MEMBER:
			return values_of_member(expression, node, args);
		case FUNCTION_OTHER:
			values = values_of_all(expression, args);
			values.doubtful = true;
			return values;
		default:
			return values_of_arithmetic(expression, kind, args);
	}
}

/* ---------------------------------------------------------------- expressions */

static Values
values_of_column(const Expression *expression, Var *column)
{
	ColumnStats stats = expression->stats_of(column, expression->context);

	return (Values){.number = stats.distinct, .span = expression->with_span ? column_span(&stats) : -1};
}

static Values
values_of_case(const Expression *expression, const CaseExpr *expr)
{
	List *results = expr->defresult != NULL ? list_make1(expr->defresult) : NIL;
	ListCell *cell;

	foreach(cell, expr->args)
		results = lappend(results, lfirst_node(CaseWhen, cell)->result);
	return values_of_any(expression, results);
}

static bool
is_cast(const FuncExpr *expr)
{
	return expr->funcformat == COERCE_EXPLICIT_CAST || expr->funcformat == COERCE_IMPLICIT_CAST;
}

static Values
values_of(const Expression *expression, Node *node)
{
	check_stack_depth();
	if (exprType(node) == BOOLOID && !IsA(node, Var))
		return (Values){.number = 2, .span = -1};
	switch (nodeTag(node))
	{
		case T_Var:
			return values_of_column(expression, (Var *) node);
		case T_Const:
			return (Values){.number = 1, .span = 0};
		case T_Param:
			return is_constant(node) ? (Values){.number = 1, .span = 0} : NOTHING;
		case T_RelabelType:
			return values_of(expression, (Node *) ((RelabelType *) node)->arg);
		case T_CoerceViaIO:
			return values_of(expression, (Node *) ((CoerceViaIO *) node)->arg);
		case T_PlaceHolderVar:
			return values_of(expression, (Node *) ((PlaceHolderVar *) node)->phexpr);
		case T_CollateExpr:
			return values_of(expression, (Node *) ((CollateExpr *) node)->arg);
		case T_CaseExpr:
			return values_of_case(expression, (CaseExpr *) node);
		case T_CoalesceExpr:
			return values_of_any(expression, ((CoalesceExpr *) node)->args);
		case T_MinMaxExpr:
			return values_of_any(expression, ((MinMaxExpr *) node)->args);
		case T_NullIfExpr:
			return values_of(expression, linitial(((NullIfExpr *) node)->args));
		case T_OpExpr:
			return values_of_function(expression, node, ((OpExpr *) node)->opfuncid, ((OpExpr *) node)->args);
		case T_FuncExpr:
			if (is_cast((FuncExpr *) node) && known_function(((FuncExpr *) node)->funcid) == FUNCTION_OTHER)
				return values_of_all(expression, ((FuncExpr *) node)->args);
			return values_of_function(expression, node, ((FuncExpr *) node)->funcid,
									  ((FuncExpr *) node)->args);
		default:
			return NOTHING;
	}
}

double
expression_values(Node *expr, StatsOfVar stats_of, void *context)
{
	Expression expression = {.stats_of = stats_of, .context = context};
	Values values = values_of(&expression, expr);

	return values.doubtful ? sqrt(values.number) : values.number;
}
