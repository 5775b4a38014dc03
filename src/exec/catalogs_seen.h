/*
 * exec/catalogs_seen.h
 *		Are the catalogs those of before?
 */
#ifndef GPUSORT_EXEC_CATALOGS_SEEN_H
#define GPUSORT_EXEC_CATALOGS_SEEN_H

#include "postgres.h"

/* What had happened to the catalogs by then. */
typedef struct CatalogsSeen
{
	CommandId command; /* of this transaction */
	SubTransactionId subtransaction;
	uint64 messages; /* that this session has had of others */
} CatalogsSeen;

extern CatalogsSeen catalogs_seen(void);

/*
 * Is this session certain to look at the same catalogs?  False if it has heard of anything, and if it has
 * begun another command.
 */
extern bool catalogs_are_the_same(const CatalogsSeen *seen);

#endif /* GPUSORT_EXEC_CATALOGS_SEEN_H */
