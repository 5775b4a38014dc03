/*
 * base/preload.c
 *		By which setting new sessions have the library, and how to make one do so.
 *
 * A function of the extension loads the library into the session that calls it.  Sorts are taken there from
 * then on, and in no other session: that must not look as if gpusort were on.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/tuplestore.h"
#include "utils/varlena.h"

#include "base/pg_compat.h"
#include "base/preload.h"
#include "base/result_rows.h"

PG_FUNCTION_INFO_V1(gpusort_preloaded);

#define LIBRARY "gpusort"
#define SESSION_SETTING "session_preload_libraries"

/* ---------------------------------------------------------------- what the settings say */

/* May this user see what session_preload_libraries says? */
static bool
may_read(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_SETTINGS);
}

/* As a new session would have it: what a SET in this one says loads nothing. */
static const char *
session_libraries(void)
{
	return may_read() ? GetConfigOptionResetString(SESSION_SETTING) : session_preload_libraries_string;
}

/* The libraries in such a list. */
static List *
split(const char *libraries)
{
	List *names = NIL;

	(void) SplitDirectoriesString(pstrdup(libraries), ',', &names);
	return names;
}

/* Is this the library, whether by its name or by a path? */
static bool
is_ours(const char *library)
{
	const char *slash = last_dir_separator(library);
	const char *name = slash != NULL ? slash + 1 : library;

	return strcmp(name, LIBRARY) == 0 || strcmp(name, LIBRARY ".so") == 0;
}

static bool
names_us(const char *libraries)
{
	ListCell *cell;

	foreach(cell, split(libraries))
	{
		if (is_ours(lfirst(cell)))
			return true;
	}
	return false;
}

const char *
preload_setting(void)
{
	if (names_us(shared_preload_libraries_string))
		return "shared_preload_libraries";
	if (names_us(session_libraries()))
		return SESSION_SETTING;
	return names_us(GetConfigOptionResetString("local_preload_libraries")) ? "local_preload_libraries" : NULL;
}

/* ---------------------------------------------------------------- what to do */

/* Where the session's value of the setting came from. */
static GucSource
source_of_setting(void)
{
	int number = 0;
	struct config_generic **all = all_guc_variables(&number);

	for (int i = 0; i < number; i++)
	{
		if (strcmp(all[i]->name, SESSION_SETTING) == 0)
			return all[i]->reset_source;
	}
	return PGC_S_DEFAULT;
}

static const char *
this_role(void)
{
	return quote_identifier(GetUserNameFromId(GetSessionUserId(), false));
}

/* What changes it: a value that a database or a role has of its own goes before the server's. */
static const char *
statement_for(GucSource source)
{
	const char *database = quote_identifier(get_database_name(MyDatabaseId));

	switch (source)
	{
		case PGC_S_GLOBAL:
			return "ALTER ROLE ALL";
		case PGC_S_DATABASE:
			return psprintf("ALTER DATABASE %s", database);
		case PGC_S_USER:
			return psprintf("ALTER ROLE %s", this_role());
		case PGC_S_DATABASE_USER:
			return psprintf("ALTER ROLE %s IN DATABASE %s", this_role(), database);
		default:
			return "ALTER SYSTEM";
	}
}

/* The libraries that are loaded already, and ours; a list in one string would be one name. */
static const char *
with_ours(const char *libraries)
{
	StringInfoData list;
	ListCell *cell;

	initStringInfo(&list);
	foreach(cell, split(libraries))
		appendStringInfo(&list, "%s, ", quote_literal_cstr(lfirst(cell)));
	appendStringInfoString(&list, "'" LIBRARY "'");
	return list.data;
}

static bool
may(AclMode mode)
{
	return pg_parameter_aclcheck(SESSION_SETTING, GetUserId(), mode) == ACLCHECK_OK;
}

const char *
preload_hint(void)
{
	const char *libraries = session_libraries();

	if (may_read() && may(ACL_ALTER_SYSTEM))
	{
		const char *statement = statement_for(source_of_setting());

		return psprintf(
			"ALTER SYSTEM SET shared_preload_libraries = %s, and restart the server; or, without the card, "
			"counters of all sessions and kept memory: %s SET " SESSION_SETTING " = %s%s",
			with_ours(shared_preload_libraries_string), statement, with_ours(libraries),
			strcmp(statement, "ALTER SYSTEM") == 0 ? "; SELECT pg_reload_conf()" : "");
	}
	if (may(ACL_SET) && libraries[0] == '\0')
		return psprintf("ALTER ROLE %s SET " SESSION_SETTING " = '" LIBRARY "'", this_role());
	return "a superuser can add it to shared_preload_libraries, or to " SESSION_SETTING
		   "; LOAD is for superusers as well";
}

/* ---------------------------------------------------------------- SQL */

Datum
gpusort_preloaded(PG_FUNCTION_ARGS)
{
	static const Oid types[] = {TEXTOID, TEXTOID};
	ReturnSetInfo *result = result_rows_begin(fcinfo, types, lengthof(types));
	const char *setting = preload_setting();
	Datum values[] = {0, 0};
	bool nulls[] = {setting == NULL, setting != NULL};

	values[setting != NULL ? 0 : 1] = CStringGetTextDatum(setting != NULL ? setting : preload_hint());
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	return (Datum) 0;
}
