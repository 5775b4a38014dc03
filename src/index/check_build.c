/*
 * index/check_build.c
 *		gpusort_check of one build of an index: a row that says whether it would be taken, and how it would be
 *		done.
 *
 * An index that there is already is looked at as its build does.
 */
#include "postgres.h"

#include "catalog/pg_am_d.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"

#include "check/advice.h"
#include "check/how.h"
#include "index/check.h"
#include "index/choice.h"
#include "index/index_key.h"

/* ---------------------------------------------------------------- the row */

bool
index_method_is_ours(const char *access_method, Declined *why_not)
{
	return strcmp(access_method, "btree") == 0 ||
		   declined_because(why_not, DECLINED_KIND,
							psprintf("the index is of access method %s, not btree", access_method));
}

static const char *
how_taken(const BuildShape *build)
{
	DeviceKind device = build_device(build);
	double memory = build_memory(build, device);
	SortHow how = {.device = device_names[device], .processes = build->processes, .memory = memory};

	if (device != DEVICE_CPU)
		return check_how_in_words(&how);
	if (build_spills(build))
	{
		how.memory = maintenance_work_mem * 1024.0;
		how.files = build_file_bytes(build);
	}
	else if (advice_memory_is_scarce(memory, maintenance_work_mem * 1024.0, build->processes))
		how.scarce = true;
	else
		return check_how_in_words(&how);
	return psprintf("%s; %s", check_how_in_words(&how),
					advice_on_setting("maintenance_work_mem", memory, build->processes));
}

void
check_put_build(Check *check, const char *key, const BuildShape *build, const Declined *why_not)
{
	CheckedSort sort = {.sort_key = key, .expected_ms = -1, .postgres_ms = -1};

	if (why_not == NULL)
		sort.how = how_taken(build);
	else
	{
		sort.why_not = why_not->words;
		sort.advice = advice_to_take(why_not->reason, NULL);
		sort.how = build != NULL ? check_how_within(build->processes, maintenance_work_mem) : NULL;
	}
	check_put(check, &sort);
}

/* ---------------------------------------------------------------- an index that there is */

/* Its key columns as the statement that made it has them, but for operator classes and collations. */
const char *
index_key_in_words(Relation index)
{
	StringInfoData words;

	initStringInfo(&words);
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Datum column = DirectFunctionCall3(pg_get_indexdef_ext, ObjectIdGetDatum(RelationGetRelid(index)),
										   Int32GetDatum(i + 1), BoolGetDatum(false));
		bool descending = (index->rd_indoption[i] & INDOPTION_DESC) != 0;
		bool nulls_first = (index->rd_indoption[i] & INDOPTION_NULLS_FIRST) != 0;

		appendStringInfo(&words, "%s%s%s", i > 0 ? ", " : "", TextDatumGetCString(column),
						 descending ? " DESC" : "");
		if (nulls_first != descending)
			appendStringInfoString(&words, nulls_first ? " NULLS FIRST" : " NULLS LAST");
	}
	return words.data;
}

static bool
is_taken(Relation heap, Relation index, bool with_others, Declined *why_not)
{
	if (!index_method_is_ours(get_am_name(index->rd_rel->relam), why_not) ||
		!index_build_is_ours(heap, index, why_not))
		return false;
	if (with_others && max_parallel_maintenance_workers == 0)
		return declined_because(
			why_not, DECLINED_KIND,
			"max_parallel_maintenance_workers is 0, and the table has indexes of other access methods");
	return true;
}

static int
count_processes(Relation heap, Relation index)
{
	return 1 +
		   index_build_workers(plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index)));
}

void
check_existing_index(Check *check, Relation heap, Relation index, bool with_others)
{
	const char *key = psprintf("%s: %s", RelationGetRelationName(index), index_key_in_words(index));
	bool is_btree = index->rd_rel->relam == BTREE_AM_OID;
	BuildShape build = {.processes = is_btree ? count_processes(heap, index) : 1};
	Declined why_not;

	if (is_taken(heap, index, with_others, &why_not))
	{
		build = build_shape(heap, index, index_key_create(index), build.processes);
		check_put_build(check, key, &build, NULL);
	}
	else
		check_put_build(check, key, is_btree ? &build : NULL, &why_not);
}
