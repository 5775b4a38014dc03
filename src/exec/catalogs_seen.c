/*
 * exec/catalogs_seen.c
 *		Are the catalogs those of the executor's start?
 *
 * What the executor makes ready when it starts stays as it is: a cursor's query calls functions as strict as
 * they were, and puts rows of composite types together as these were.  Workers that are started for its first
 * row make all that ready then.  So they are not to be started if the transaction has begun another command,
 * which may have changed something.  Others change things all the time, and in the statement that starts the
 * executor that is as it is in PostgreSQL, whose workers start a moment later, too.  A later statement starts
 * workers if nothing was heard of changes.
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/sinval.h"
#include "utils/inval.h"

#include "exec/catalogs_seen.h"

CatalogsSeen
catalogs_seen(void)
{
	return (CatalogsSeen){
		.command = GetCurrentCommandId(false),
		.messages = SharedInvalidMessageCounter,
		.statement = GetCurrentStatementStartTimestamp(),
	};
}

bool
catalogs_are_unchanged(const CatalogsSeen *seen)
{
	if (GetCurrentCommandId(false) != seen->command)
		return false;
	if (GetCurrentStatementStartTimestamp() == seen->statement)
		return true;
	AcceptInvalidationMessages();
	return SharedInvalidMessageCounter == seen->messages;
}
