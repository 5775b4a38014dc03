/*
 * base/pg_compat.h
 *		The differences between PostgreSQL 15, 16, 17, 18 and 19, in one place.
 *
 * Wrappers carry the name and the shape of the newest release's interface.
 */
#ifndef GPUSORT_BASE_PG_COMPAT_H
#define GPUSORT_BASE_PG_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "gpusort builds on PostgreSQL 15 to 19"
#endif

/* A library tells its name and version from 18 on. */
#if PG_VERSION_NUM < 180000
#define PG_MODULE_MAGIC_EXT(...) PG_MODULE_MAGIC
#endif

/* BufFileWrite takes a pointer to const from 16 on. */
#define buffile_write(file, bytes, size) \
	BufFileWrite((file), unconstify(void *, (const void *) (bytes)), (size))
#define buffile_read(file, bytes, size) BufFileRead((file), (bytes), (size))

/* Ordering operators are described by a CompareType from 18 on, before by a btree strategy. */
#if PG_VERSION_NUM < 180000
#include "access/stratnum.h"
#define CompareType int16
#define COMPARE_GT BTGreaterStrategyNumber
#endif

/* A function's name has its arguments' types from the version on that has another one of that name. */
#if PG_VERSION_NUM < 180000
#define F_REVERSE_TEXT F_REVERSE
#endif

/* Types that are new in 19: no column has them before. */
#if PG_VERSION_NUM < 190000
#define REGDATABASEOID InvalidOid
#define OID8OID InvalidOid
#endif

/* From 18 on a separate struct has the fields of a column for deforming tuples. */
#if PG_VERSION_NUM < 180000
#define CompactAttribute FormData_pg_attribute
#define TupleDescCompactAttr(desc, i) TupleDescAttr(desc, i)
#endif

/* The list of all settings comes with their number from 16 on. */
#if PG_VERSION_NUM >= 160000
#define all_guc_variables(number) get_guc_variables(number)
#else
#define all_guc_variables(number) (*(number) = GetNumConfigOptions(), get_guc_variables())
#endif

/* The name of a database is looked up where the other names are from 19 on. */
#if PG_VERSION_NUM >= 190000
#include "utils/lsyscache.h"
#else
#include "commands/dbcommands.h"
#endif

/* Access to varlenas left postgres.h in 16. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* Does the collation compare bytes?  lc_collate_is_c() became a field in 18. */
#if PG_VERSION_NUM >= 180000
#define pg_collate_is_c(collation) (pg_newlocale_from_collation(collation)->collate_is_c)
#else
#define pg_collate_is_c(collation) lc_collate_is_c(collation)
#endif

/* The collator of an ICU collation; the provider's part of a locale lost its name in 19. */
#if PG_VERSION_NUM >= 190000
#define pg_locale_icu_collator(locale) ((locale)->icu.ucol)
#else
#define pg_locale_icu_collator(locale) ((locale)->info.icu.ucol)
#endif

/* The locale of a collation of the C library. */
#if PG_VERSION_NUM >= 190000
#define pg_locale_libc(locale) ((locale)->lt)
#else
#define pg_locale_libc(locale) ((locale)->info.lt)
#endif

/*
 * Returns a string's sort key by its collation, without the zero byte at its end; new in 16, here only for
 * ICU.
 */
#if PG_VERSION_NUM < 160000 && defined(USE_ICU)
#include "utils/pg_locale.h"

static inline size_t
pg_strnxfrm(char *dest, size_t destsize, const char *src, ssize_t srclen, pg_locale_t locale)
{
	UChar *chars;
	int32_t nchars = icu_to_uchar(&chars, src, srclen);
	int32_t size = ucol_getSortKey(pg_locale_icu_collator(locale), chars, nchars, (uint8_t *) dest,
								   Min(destsize, PG_INT32_MAX));

	pfree(chars);
	return size - 1;
}
#endif

/* Sort orders integers and abbreviated keys in memory by radix from 19 on, without comparing them. */
#define postgres_sorts_by_radix (PG_VERSION_NUM >= 190000)

/* From 17 on extensions name their wait events; before, all share one event. */
#include "utils/wait_event.h"
#if PG_VERSION_NUM < 170000
#define WaitEventExtensionNew(name) ((void) (name), (uint32) PG_WAIT_EXTENSION)
#endif

/* A process's number in shared memory has a name of its own from 17 on. */
#if PG_VERSION_NUM < 170000
#include "storage/proc.h"
#define MyProcNumber (MyProc->pgprocno)
#define GetNumberFromPGProc(proc) ((proc)->pgprocno)
#endif

/*
 * The planner, its hook and what calls them know EXPLAIN's state from 19 on.  planner_hook_parameters are
 * those of a planner_hook, planner_hook_arguments hand the same on.
 */
#if PG_VERSION_NUM >= 190000
#define planner_hook_parameters \
	Query *parse, const char *query_string, int cursor_options, ParamListInfo bound_params, ExplainState *es
#define planner_hook_arguments parse, query_string, cursor_options, bound_params, es
#define pg_plan_unexplained_query(query, query_string, cursor_options, bound_params) \
	pg_plan_query((query), (query_string), (cursor_options), (bound_params), NULL)
#else
#define planner_hook_parameters \
	Query *parse, const char *query_string, int cursor_options, ParamListInfo bound_params
#define planner_hook_arguments parse, query_string, cursor_options, bound_params
#define pg_plan_unexplained_query(query, query_string, cursor_options, bound_params) \
	pg_plan_query((query), (query_string), (cursor_options), (bound_params))
#endif

/* Clocks are set up before they are read from 19 on; the server does so itself, other programs must. */
#include "portability/instr_time.h"
#if PG_VERSION_NUM < 190000
#define pg_initialize_timing() ((void) 0)
#endif

/* The total time of a node when its loops have ended: an instr_time from 19 on, before that seconds. */
#if PG_VERSION_NUM >= 190000
#define node_instrumentation_total_ms(instrument) INSTR_TIME_GET_MILLISEC((instrument)->instr.total)
#else
#define node_instrumentation_total_ms(instrument) ((instrument)->total * 1000.0)
#endif

/* Raises an error if the current user may not execute the plan; from 16 on it takes a separate list. */
#if PG_VERSION_NUM >= 160000
#define plan_check_permissions(stmt) ((void) ExecCheckPermissions((stmt)->rtable, (stmt)->permInfos, true))
#else
#define plan_check_permissions(stmt) ((void) ExecCheckRTPerms((stmt)->rtable, true))
#endif

/*
 * Exchanges the list of an executor's state by which it, and workers that it starts, check permissions, and
 * returns the one before; that list is there from 16 on.  Before, each entry of the range table says itself
 * what it takes.
 */
#include "nodes/execnodes.h"
#if PG_VERSION_NUM >= 160000
static inline List *
estate_exchange_permissions(EState *estate, List *permissions)
{
	List *before = estate->es_rteperminfos;

	estate->es_rteperminfos = permissions;
	return before;
}
#define rte_take_no_permission(rte) ((rte)->perminfoindex = 0)
#else
#define estate_exchange_permissions(estate, permissions) ((void) (estate), (void) (permissions), NIL)
#define rte_take_no_permission(rte) ((rte)->requiredPerms = 0)
#endif

/* Is the column NOT NULL?  From 18 on it may be so without being checked yet (NOT VALID). */
#if PG_VERSION_NUM >= 180000
#define table_forbids_nulls(relation, column) \
	(TupleDescCompactAttr(RelationGetDescr(relation), (column) -1)->attnullability == ATTNULLABLE_VALID)
#else
#define table_forbids_nulls(relation, column) \
	(TupleDescAttr(RelationGetDescr(relation), (column) -1)->attnotnull)
#endif

/*
 * Returns a copy of the catalog row that makes the column NOT NULL, from 18 on a constraint's; NULL: a column
 * of a system catalog.
 */
#if PG_VERSION_NUM >= 180000
#include "catalog/pg_constraint.h"
#define not_null_catalog_row(relid, column) findNotNullConstraintAttnum((relid), (column))
#else
#include "utils/syscache.h"
#define not_null_catalog_row(relid, column) SearchSysCacheCopyAttNum((relid), (column))
#endif

/* Is this column among what find_nonnullable_vars returned?  A list of Vars, from 16 on of bitmaps. */
#if PG_VERSION_NUM >= 160000
#include "nodes/multibitmapset.h"
#define nonnullable_vars_contain(vars, varno, column) \
	mbms_is_member((varno), (column) -FirstLowInvalidHeapAttributeNumber, (vars))
#else
static inline bool
nonnullable_vars_contain(List *vars, Index varno, AttrNumber column)
{
	ListCell *cell;

	foreach(cell, vars)
	{
		const Var *var = lfirst_node(Var, cell);

		if ((Index) var->varno == varno && var->varattno == column && var->varlevelsup == 0)
			return true;
	}
	return false;
}
#endif

/* The ordering operator of a pathkey for columns of this type. */
#if PG_VERSION_NUM >= 180000
#define pathkey_sort_operator(pathkey, type) \
	get_opfamily_member_for_cmptype((pathkey)->pk_opfamily, (type), (type), (pathkey)->pk_cmptype)
#else
#define pathkey_sort_operator(pathkey, type) \
	get_opfamily_member((pathkey)->pk_opfamily, (type), (type), (pathkey)->pk_strategy)
#endif

/* From 18 on a count says that an enable_ setting discourages a path; before, a large cost does. */
#if PG_VERSION_NUM >= 180000
#define path_inherit_disabled(path, input, disabled) \
	((path)->disabled_nodes = (input)->disabled_nodes + ((disabled) ? 1 : 0))
#else
#define path_inherit_disabled(path, input, disabled)        \
	((path)->startup_cost += (disabled) ? disable_cost : 0, \
	 (path)->total_cost += (disabled) ? disable_cost : 0)
#endif

/* The condition, once false in a partition false for its rest, of a path of a window. */
#if PG_VERSION_NUM >= 170000
#define window_path_run_condition(window) ((window)->runCondition)
#else
#define window_path_run_condition(window) ((window)->winclause->runCondition)
#endif

/*
 * Corrects the count of disabled nodes in the copy of a path whose input was replaced; before 18 the costs
 * include it.
 */
#if PG_VERSION_NUM >= 180000
#define path_exchange_disabled(path, old_input, new_input) \
	((path)->disabled_nodes += (new_input)->disabled_nodes - (old_input)->disabled_nodes)
#else
#define path_exchange_disabled(path, old_input, new_input) ((void) 0)
#endif

/* Does the join return only rows of its inner input, each at most once?  From 18 on semi joins may do so. */
#if PG_VERSION_NUM >= 180000
#define join_returns_inner_rows_alone(type) ((type) == JOIN_RIGHT_SEMI || (type) == JOIN_RIGHT_ANTI)
#elif PG_VERSION_NUM >= 160000
#define join_returns_inner_rows_alone(type) ((type) == JOIN_RIGHT_ANTI)
#else
#define join_returns_inner_rows_alone(type) ((void) (type), false)
#endif

/* From 16 on columns of GROUP BY are left out if other columns determine their value. */
#if PG_VERSION_NUM >= 160000
#define processed_group_clause(root) ((root)->processed_groupClause)
#else
#define processed_group_clause(root) ((root)->parse->groupClause)
#endif

/* The path that removes duplicates of sorted rows has its old name up to 18. */
#if PG_VERSION_NUM >= 190000
#define create_upper_unique_path create_unique_path
#define UpperUniquePath UniquePath
#define T_UpperUniquePath T_UniquePath
#endif

/*
 * Does EXPLAIN name a column's table?  It does with more than one table; from 18 on the result of GROUP BY
 * counts as one.
 */
#if PG_VERSION_NUM >= 180000
#include "nodes/parsenodes.h"

#define explain_use_prefix(es) ((es)->rtable_size > 1 || (es)->verbose)

static inline int
explain_rtable_size(const List *rtable)
{
	ListCell *cell;
	int size = 0;

	foreach(cell, rtable)
		size += lfirst_node(RangeTblEntry, cell)->rtekind != RTE_GROUP;
	return size;
}
#else
#define explain_use_prefix(es) (list_length((es)->rtable) > 1 || (es)->verbose)
#define explain_rtable_size(rtable) list_length(rtable)
#endif

/* Does the aggregate sort its input itself?  A sort below it may do that from 16 on. */
#if PG_VERSION_NUM >= 160000
#define aggref_sorts(aggref) \
	(((aggref)->aggorder != NIL || (aggref)->aggdistinct != NIL) && !(aggref)->aggpresorted)
#else
#define aggref_sorts(aggref) ((aggref)->aggorder != NIL || (aggref)->aggdistinct != NIL)
#endif

/* A call of an aggregate that is planned; the pathkeys of GROUP BY without those of aggregates. */
#if PG_VERSION_NUM >= 160000
#define agginfo_call(info) linitial_node(Aggref, ((const AggInfo *) (info))->aggrefs)
#define groupby_pathkeys(root) list_copy_head((root)->group_pathkeys, (root)->num_groupby_pathkeys)
#else
#define agginfo_call(info) (((const AggInfo *) (info))->representative_aggref)
#define groupby_pathkeys(root) list_copy((root)->group_pathkeys)
#endif

/* Sets whether it need not sort; returns the only value of a type that is not NULL, whatever the type. */
#if PG_VERSION_NUM >= 160000
#define aggref_set_presorted(aggref, presorted) ((aggref)->aggpresorted = (presorted))
#define any_value_aggregate F_ANY_VALUE
#else
#define aggref_set_presorted(aggref, presorted) ((void) (aggref))
#define any_value_aggregate InvalidOid
#endif

/* Does the call of a window function say how nulls are treated?  It may from 19 on. */
#if PG_VERSION_NUM >= 190000
#define windowfunc_has_null_treatment(function) ((function)->ignore_nulls != NO_NULLTREATMENT)
#else
#define windowfunc_has_null_treatment(function) ((void) (function), false)
#endif

/* May this user call the function?  From 16 on one function checks that for all objects. */
#if PG_VERSION_NUM >= 160000
#include "catalog/pg_proc.h"
#include "utils/acl.h"

#define proc_aclcheck(function, user) object_aclcheck(ProcedureRelationId, (function), (user), ACL_EXECUTE)
#else
#include "utils/acl.h"

#define proc_aclcheck(function, user) pg_proc_aclcheck((function), (user), ACL_EXECUTE)
#endif

/*
 * May this user refresh the materialized view?  The owner may, and from 17 on a user with the privilege
 * MAINTAIN.
 */
#if PG_VERSION_NUM >= 170000
#define matview_aclcheck(view, user) pg_class_aclcheck((view), (user), ACL_MAINTAIN)
#elif PG_VERSION_NUM >= 160000
#include "catalog/pg_class.h"

#define matview_aclcheck(view, user) \
	(object_ownercheck(RelationRelationId, (view), (user)) ? ACLCHECK_OK : ACLCHECK_NOT_OWNER)
#else
#define matview_aclcheck(view, user) (pg_class_ownercheck((view), (user)) ? ACLCHECK_OK : ACLCHECK_NOT_OWNER)
#endif

/* From 17 on code with another user's rights has a restricted search path. */
#if PG_VERSION_NUM >= 170000
#define restrict_search_path() RestrictSearchPath()
#else
#define restrict_search_path() ((void) 0)
#endif

/* Values of variable length have a header of their own from 16 on. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* EXPLAIN's own header was divided in 18. */
#if PG_VERSION_NUM >= 180000
#define EXPLAIN_HEADERS "commands/explain_format.h"
#else
#define EXPLAIN_HEADERS "commands/explain.h"
#endif

/*
 * A custom scan's kind of scan tuples is in slotOps from 16 on; before, its slot is replaced at the start.
 */
#if PG_VERSION_NUM >= 160000
#define custom_scan_set_slot_ops(css, ops) ((css)->slotOps = (ops))
#define custom_scan_apply_slot_ops(css, estate, ops) ((void) 0)
#else
#define custom_scan_set_slot_ops(css, ops) ((void) 0)
#define custom_scan_apply_slot_ops(css, estate, ops)                            \
	do                                                                          \
	{                                                                           \
		TupleDesc scan_desc_ = (css)->ss.ss_ScanTupleSlot->tts_tupleDescriptor; \
		ExecInitScanTupleSlot((estate), &(css)->ss, scan_desc_, (ops));         \
		ExecAssignScanProjectionInfoWithVarno(&(css)->ss, INDEX_VAR);           \
	} while (0)
#endif

/* Copies of slots as minimal tuples may have room before them from 18 on. */
#if PG_VERSION_NUM >= 180000
#define copy_minimal_tuple_parameters TupleTableSlot *slot, Size extra
#define copy_minimal_tuple_arguments slot, extra
#else
#define copy_minimal_tuple_parameters TupleTableSlot *slot
#define copy_minimal_tuple_arguments slot
#endif

/* The attribute of functions that don't return became a prefix in 18. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* From 17 on wait event sets belong to a resource owner, here to none; before, to a memory context. */
#if PG_VERSION_NUM >= 170000
#define create_wait_event_set(nevents) CreateWaitEventSet(NULL, (nevents))
#else
#define create_wait_event_set(nevents) CreateWaitEventSet(CurrentMemoryContext, (nevents))
#endif

/* From 19 on a constructed tuple descriptor must be finalized. */
#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(desc) ((void) (desc))
#endif

/* Scans of tables take flags from 19 on. */
#if PG_VERSION_NUM >= 190000
#define beginscan_parallel(rel, pscan) table_beginscan_parallel((rel), (pscan), SO_NONE)
#else
#define beginscan_parallel(rel, pscan) table_beginscan_parallel((rel), (pscan))
#endif

/* From 19 on another hook sees a table when the planner has looked it up. */
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#if PG_VERSION_NUM >= 190000
#define relation_info_hook build_simple_rel_hook
#define relation_info_hook_type build_simple_rel_hook_type
#define relation_info_hook_parameters PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define relation_info_hook_arguments root, rel, rte
#define relation_info_hook_relid ((rte)->rtekind == RTE_RELATION ? (rte)->relid : InvalidOid)
#else
#define relation_info_hook get_relation_info_hook
#define relation_info_hook_type get_relation_info_hook_type
#define relation_info_hook_parameters PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel
#define relation_info_hook_arguments root, relid, inhparent, rel
#define relation_info_hook_relid relid
#endif

/* The same for utility statements; CLUSTER became a kind of REPACK in 19. */
#define process_utility_parameters                                                                    \
	PlannedStmt *pstmt, const char *query_string, bool read_only_tree, ProcessUtilityContext context, \
		ParamListInfo params, QueryEnvironment *query_env, DestReceiver *dest, QueryCompletion *qc
#define process_utility_arguments pstmt, query_string, read_only_tree, context, params, query_env, dest, qc
#if PG_VERSION_NUM >= 190000
#define T_ClusterStmt T_RepackStmt
#define ClusterStmt RepackStmt
#define cluster_relation(statement) ((statement)->relation != NULL ? (statement)->relation->relation : NULL)
#define cluster_uses_index(statement) ((statement)->usingindex)
#else
#define cluster_relation(statement) ((statement)->relation)
#define cluster_uses_index(statement) true
#endif

/* A relation's file is named by a locator from 16 on, before by a node. */
#if PG_VERSION_NUM < 160000
#define rd_locator rd_node
#endif

/* The name of a relation's file, palloc'ed; relpathbackend() returns it by value from 18 on. */
#if PG_VERSION_NUM >= 180000
#define relation_path(rel, fork) pstrdup(relpathbackend((rel)->rd_locator, (rel)->rd_backend, (fork)).str)
#else
#define relation_path(rel, fork) relpathbackend((rel)->rd_locator, (rel)->rd_backend, (fork))
#endif

/* Memory for direct I/O has a type from 16 on. */
#if PG_VERSION_NUM < 160000
#define PGIOAlignedBlock PGAlignedBlock
#endif

/*
 * A file can be registered for the next sync from 17 on.  Before, a write of a block registers its segment.
 */
#if PG_VERSION_NUM < 170000
#include "storage/smgr.h"

static inline void
smgrregistersync(SMgrRelation file, ForkNumber fork)
{
	BlockNumber nblocks = smgrnblocks(file, fork);
	PGIOAlignedBlock page;

	for (BlockNumber block = 0; block < nblocks; block += Min(RELSEG_SIZE, nblocks - block))
	{
		smgrread(file, fork, block, page.data);
		smgrwrite(file, fork, block, page.data, false);
	}
}
#endif

/* A page's checksum is always set in place from 19 on. */
#if PG_VERSION_NUM < 190000
#define PageSetChecksum(page, block) PageSetChecksumInplace((page), (block))
#endif

/* Scans of a relation that this transaction has counted: the field's name has changed in 16. */
#if PG_VERSION_NUM >= 160000
#define pgstat_scans(relation) ((relation)->pgstat_info->counts.numscans)
#else
#define pgstat_scans(relation) ((relation)->pgstat_info->t_counts.t_numscans)
#endif

/* The size of a leaf's largest tuple is a constant from 18 on. */
#if PG_VERSION_NUM >= 180000
#define bt_max_item_size(page) BTMaxItemSize
#else
#define bt_max_item_size(page) BTMaxItemSize(page)
#endif

#endif /* GPUSORT_BASE_PG_COMPAT_H */
