/*
 * exec/catalogs_seen.c
 *		Are the catalogs those of before?
 *
 * A session's caches change when it hears of what others have done, by messages that are counted, and with
 * each command of its own, or its rollback, which leaves the command's number as it is.
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/sinval.h"

#include "exec/catalogs_seen.h"

CatalogsSeen
catalogs_seen(void)
{
	return (CatalogsSeen){
		.command = GetCurrentCommandId(false),
		.subtransaction = GetCurrentSubTransactionId(),
		.messages = SharedInvalidMessageCounter,
	};
}

bool
catalogs_are_the_same(const CatalogsSeen *seen)
{
	return GetCurrentCommandId(false) == seen->command &&
		   GetCurrentSubTransactionId() == seen->subtransaction &&
		   SharedInvalidMessageCounter == seen->messages;
}
