/*
 * plan/own_expressions.c
 *		Expressions that workers of a sort's own may evaluate.
 *
 * In a parallel mode no command and no subtransaction may begin, so nobody else's code may run there,
 * whatever its declaration says.  And each row must have the value that it would have in the leader.  This
 * file lists what is known to keep both rules; an expression that is not listed has no workers of the sort's
 * own.
 *
 *		kinds of expressions	here, by is_listed_node: those that call nothing; those that call functions
 *		functions				own_functions.c; none of them hands a value to a function of its type
 *
 * So the types of columns, constants and parameters do not matter.  A value of a domain, a composite type or
 * an array of them is moved, but no listed function takes one apart, and none makes one.  Excluded are
 * therefore, among others: casts of text to arrays and composite types (array_in and record_in call the
 * elements' functions), casts to domains (CHECK constraints), ROW(...), fields, and whole rows, which are put
 * together by the version of their type that a process has looked up.
 *
 * A function on the list is refused all the same if it was declared otherwise since, or if the user may not
 * call it: workers would look at permissions when they start.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "base/pg_compat.h"
#include "plan/own_expressions.h"
#include "plan/own_functions.h"

static bool
is_refused_function(Oid function, void *context)
{
	return !own_function_is_listed(function) || func_volatile(function) == PROVOLATILE_VOLATILE ||
		   func_parallel(function) != PROPARALLEL_SAFE || proc_aclcheck(function, GetUserId()) != ACLCHECK_OK;
}

/* The functions that IN and NOT IN look for a value by; PostgreSQL's walk over functions leaves them out. */
static bool
finds_by_listed(const ScalarArrayOpExpr *in)
{
	return (!OidIsValid(in->hashfuncid) || !is_refused_function(in->hashfuncid, NULL)) &&
		   (!OidIsValid(in->negfuncid) || !is_refused_function(in->negfuncid, NULL));
}

/* The function that GREATEST and LEAST compare by. */
static bool
greatest_is_listed(const MinMaxExpr *greatest)
{
	Oid function = lookup_type_cache(greatest->minmaxtype, TYPECACHE_CMP_PROC)->cmp_proc;

	return !is_refused_function(function, NULL);
}

/* The functions that (a, b) < (c, d) compares by. */
static bool
row_comparison_is_listed(const RowCompareExpr *comparison)
{
	ListCell *op;
	ListCell *family;

	forboth(op, comparison->opnos, family, comparison->opfamilies)
	{
		int strategy;
		Oid left;
		Oid right;

		get_op_opfamily_properties(lfirst_oid(op), lfirst_oid(family), false, &strategy, &left, &right);
		if (is_refused_function(get_opfamily_proc(lfirst_oid(family), left, right, BTORDER_PROC), NULL))
			return false;
	}
	return true;
}

/* An element of an array, or a value in a jsonb; other types have functions of their own. */
static bool
subscript_is_listed(const SubscriptingRef *subscript)
{
	switch (get_typsubscript(subscript->refcontainertype, NULL))
	{
		case F_ARRAY_SUBSCRIPT_HANDLER:
		case F_RAW_ARRAY_SUBSCRIPT_HANDLER:
		case F_JSONB_SUBSCRIPT_HANDLER:
			return subscript->refassgnexpr == NULL;
		default:
			return false;
	}
}

/*
 * The transaction's time and the current user are handed to workers; the session's user and schema are not.
 */
static bool
value_is_listed(const SQLValueFunction *value)
{
	switch (value->op)
	{
		case SVFOP_CURRENT_DATE:
		case SVFOP_CURRENT_TIME:
		case SVFOP_CURRENT_TIME_N:
		case SVFOP_CURRENT_TIMESTAMP:
		case SVFOP_CURRENT_TIMESTAMP_N:
		case SVFOP_LOCALTIME:
		case SVFOP_LOCALTIME_N:
		case SVFOP_LOCALTIMESTAMP:
		case SVFOP_LOCALTIMESTAMP_N:
		case SVFOP_CURRENT_ROLE:
		case SVFOP_CURRENT_USER:
		case SVFOP_USER:
			return true;
		default:
			return false;
	}
}

/* May this node stand in such an expression?  Functions that check_functions_in_node knows are left to it. */
static bool
is_listed_node(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_List:
		case T_TargetEntry:
		case T_PlaceHolderVar:
		case T_Const:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayExpr:
		case T_ArrayCoerceExpr:
		case T_BoolExpr:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			return true;
		case T_Var:
			return ((const Var *) node)->varattno != InvalidAttrNumber;
		case T_Param:
			return ((const Param *) node)->paramkind == PARAM_EXTERN;
		case T_FuncExpr:
			return !((const FuncExpr *) node)->funcretset;
		case T_NullTest:
			return !((const NullTest *) node)->argisrow;
		case T_ScalarArrayOpExpr:
			return finds_by_listed((const ScalarArrayOpExpr *) node);
		case T_MinMaxExpr:
			return greatest_is_listed((const MinMaxExpr *) node);
		case T_RowCompareExpr:
			return row_comparison_is_listed((const RowCompareExpr *) node);
		case T_SubscriptingRef:
			return subscript_is_listed((const SubscriptingRef *) node);
		case T_SQLValueFunction:
			return value_is_listed((const SQLValueFunction *) node);
		default:
			return false;
	}
}

static bool
is_refused(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (!is_listed_node(node) || check_functions_in_node(node, is_refused_function, NULL))
		return true;
	return expression_tree_walker(node, is_refused, context);
}

bool
own_workers_may_evaluate(Node *exprs)
{
	return !is_refused(exprs, NULL);
}
