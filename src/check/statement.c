/*
 * check/statement.c
 *		What of a statement is planned when it is executed, for gpusort_check.
 *
 * A utility statement may contain a query, name one that was prepared, or have one in the catalogs; and it
 * may build indexes, of which index/check.c knows.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "commands/prepare.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_node.h"
#include "rewrite/prs2lock.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"

#include "base/pg_compat.h"
#include "check/error_text.h"
#include "check/finished_plan.h"
#include "check/owner.h"
#include "check/statement.h"

static CheckIndexBuilds check_index_builds;

void
check_set_index_builds(CheckIndexBuilds builds)
{
	check_index_builds = builds;
}

static void
check_queries(Check *check, List *queries, int cursor_options, ParamListInfo params)
{
	ListCell *cell;

	foreach(cell, queries)
		check_query(check, lfirst_node(Query, cell), cursor_options, params);
}

/* A query that stands in a utility statement, analyzed and not yet rewritten. */
static void
check_contained(Check *check, Node *query, int cursor_options)
{
	check_queries(check, QueryRewrite(copyObject(castNode(Query, query))), cursor_options, NULL);
}

/* ---------------------------------------------------------------- COPY */

static void
check_copy(Check *check, const CopyStmt *copy)
{
	RawStmt *raw = makeNode(RawStmt);

	if (copy->query == NULL)
		return;
	raw->stmt = copyObject(copy->query);
	check_queries(check, pg_analyze_and_rewrite_fixedparams(raw, check->text, NULL, 0, NULL),
				  CURSOR_OPT_PARALLEL_OK, NULL);
}

/* ---------------------------------------------------------------- EXECUTE */

/* The value of a parameter, if nothing has to be executed for it; as an assignment would have it. */
static Const *
constant_of(ParseState *pstate, Node *expression, int number, Oid type)
{
	Node *given = transformExpr(pstate, copyObject(expression), EXPR_KIND_EXECUTE_PARAMETER);
	Node *value = coerce_to_target_type(pstate, given, exprType(given), type, -1, COERCION_ASSIGNMENT,
										COERCE_IMPLICIT_CAST, -1);

	if (value == NULL)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("parameter $%d is of type %s, not %s", number, format_type_be(exprType(given)),
							   format_type_be(type)),
						parser_errposition(pstate, exprLocation(given))));
	assign_expr_collations(pstate, value);
	value = eval_const_expressions(NULL, value);
	return IsA(value, Const) ? (Const *) value : NULL;
}

/* Parameters of which nothing is known have no type: the planner leaves them as they are. */
static ParamListInfo
parameters_of(const Check *check, const ExecuteStmt *execute, const CachedPlanSource *source)
{
	int given = list_length(execute->params);
	ParseState *pstate = make_parsestate(NULL);
	ParamListInfo params;

	if (given != source->num_params)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
						errmsg("the parameters do not match prepared statement \"%s\"", execute->name),
						errdetail("The statement has %d parameters, and %d were given.", source->num_params,
								  given)));
	pstate->p_sourcetext = check->text;
	if (given == 0 || plan_cache_mode == PLAN_CACHE_MODE_FORCE_GENERIC_PLAN)
		return NULL;
	params = makeParamList(given);
	for (int i = 0; i < given; i++)
	{
		const Const *value = constant_of(pstate, list_nth(execute->params, i), i + 1, source->param_types[i]);

		if (value != NULL)
			params->params[i] = (ParamExternData){.value = value->constvalue,
												  .isnull = value->constisnull,
												  .pflags = PARAM_FLAG_CONST,
												  .ptype = value->consttype};
	}
	return params;
}

/* Planned with its parameters, as it is the first times. */
static void
check_prepared(Check *check, const ExecuteStmt *execute)
{
	const CachedPlanSource *source = FetchPreparedStatement(execute->name, true)->plansource;
	ParamListInfo params = parameters_of(check, execute, source);
	const char *text = check->text;
	ErrorContextCallback callback;
	List *queries;

	if (source->raw_parse_tree == NULL)
		return;
	check->text = source->query_string;
	check_begin_text(&callback, check->text);
	queries = pg_analyze_and_rewrite_fixedparams(copyObject(source->raw_parse_tree), check->text,
												 source->param_types, source->num_params, NULL);
	check_queries(check, queries, source->cursor_options, params);
	check_end_text(&callback);
	check->text = text;
}

/* ---------------------------------------------------------------- CREATE TABLE AS */

/* Nothing is planned where the relation is there and IF NOT EXISTS is said. */
static bool
is_skipped(const CreateTableAsStmt *create)
{
	const RangeVar *relation = create->into->rel;
	Oid schema;

	if (!create->if_not_exists)
		return false;
	schema = relation->relpersistence == RELPERSISTENCE_TEMP ? LookupExplicitNamespace("pg_temp", true)
															 : RangeVarGetCreationNamespace(relation);
	return OidIsValid(schema) && OidIsValid(get_relname_relid(relation->relname, schema));
}

/* ---------------------------------------------------------------- REFRESH MATERIALIZED VIEW */

static Query *
query_of_view(Relation view)
{
	Query *query = copyObject(linitial_node(Query, view->rd_rules->rules[0]->actions));

	AcquireRewriteLocks(query, true, false);
	return query;
}

/*
 * With CONCURRENTLY PostgreSQL looks for duplicates among the new rows, by comparing them as a whole.  They
 * are in a temporary table then, which no workers read; here the present rows stand for them.
 */
static void
check_search_for_duplicates(Check *check, Relation view)
{
	const char *name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(view)),
												  RelationGetRelationName(view));
	char *text = psprintf(
		"SELECT a.*::%s FROM %s a WHERE EXISTS (SELECT FROM %s b WHERE b.* OPERATOR(pg_catalog.*=) a.* AND b.ctid "
		"OPERATOR(pg_catalog.<>) a.ctid AND b.* IS NOT NULL) AND a.* IS NOT NULL",
		name, name, name);
	RawStmt *raw = linitial_node(RawStmt, pg_parse_query(text));

	check_queries(check, pg_analyze_and_rewrite_fixedparams(raw, text, NULL, 0, NULL), 0, NULL);
}

/* Planning may evaluate functions of the view's owner, so it is done with his rights, as a refresh is. */
static void
check_queries_of_view(Check *check, Relation view, bool concurrent)
{
	OwnersRights before;

	check_begin_as_owner(&before, view);
	check_queries(check, QueryRewrite(query_of_view(view)), CURSOR_OPT_PARALLEL_OK, NULL);
	if (concurrent)
		check_search_for_duplicates(check, view);
	check_end_as_owner(&before);
}

/* Whoever may refresh the view sees what its query's plan says of tables that he may not read. */
static void
check_refresh(Check *check, RefreshMatViewStmt *refresh)
{
	Relation view = table_openrv(refresh->relation, AccessShareLock);
	AclResult allowed = matview_aclcheck(RelationGetRelid(view), GetUserId());

	if (view->rd_rel->relkind != RELKIND_MATVIEW)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is not a materialized view", RelationGetRelationName(view))));
	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_MATVIEW, RelationGetRelationName(view));
	if (!refresh->skipData)
		check_queries_of_view(check, view, refresh->concurrent);
	if (!refresh->skipData && !refresh->concurrent && check_index_builds != NULL)
		(void) check_index_builds(check, (Node *) refresh);
	table_close(view, NoLock);
}

/* ---------------------------------------------------------------- all */

pg_noreturn static void
refuse_statement(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("this statement has no plan to check"),
			 errdetail("Only planned statements and index builds can contain sorts."),
			 errhint("Give gpusort_check a SELECT, INSERT, UPDATE, DELETE, MERGE or VALUES; a statement that "
					 "contains or executes one; or one that builds the indexes of one table: CREATE INDEX, "
					 "REINDEX, ALTER TABLE with ADD PRIMARY KEY or UNIQUE, REFRESH MATERIALIZED VIEW, "
					 "CLUSTER, REPACK, VACUUM FULL.")));
}

static void
check_utility(Check *check, Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_ExplainStmt:
			check_contained(check, ((ExplainStmt *) statement)->query, CURSOR_OPT_PARALLEL_OK);
			break;
		case T_CreateTableAsStmt:
			if (!is_skipped((CreateTableAsStmt *) statement))
				check_contained(check, ((CreateTableAsStmt *) statement)->query, CURSOR_OPT_PARALLEL_OK);
			break;
		case T_DeclareCursorStmt:
			check_contained(check, ((DeclareCursorStmt *) statement)->query,
							((DeclareCursorStmt *) statement)->options);
			break;
		case T_ExecuteStmt:
			check_prepared(check, (ExecuteStmt *) statement);
			break;
		case T_CopyStmt:
			check_copy(check, (CopyStmt *) statement);
			break;
		case T_RefreshMatViewStmt:
			check_refresh(check, (RefreshMatViewStmt *) statement);
			break;
		default:
			if (check_index_builds == NULL || !check_index_builds(check, statement))
				refuse_statement();
	}
}

void
check_query(Check *check, Query *query, int cursor_options, ParamListInfo params)
{
	check_stack_depth(); /* what was prepared may execute something in its turn */
	if (query->commandType == CMD_UTILITY)
		check_utility(check, query->utilityStmt);
	else
		check_plan(check, query, cursor_options, params);
}
