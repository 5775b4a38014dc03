/*
 * exec/catalogs_seen.h
 *		Are the catalogs those of the executor's start?
 */
#ifndef GPUSORT_EXEC_CATALOGS_SEEN_H
#define GPUSORT_EXEC_CATALOGS_SEEN_H

#include "postgres.h"

#include "datatype/timestamp.h"

/* What had happened to the catalogs by then. */
typedef struct CatalogsSeen
{
	CommandId command; /* of this transaction */
	uint64 messages;   /* that this session has had of others */
	TimestampTz statement;
} CatalogsSeen;

/* To be called when the executor starts. */
extern CatalogsSeen catalogs_seen(void);

/* Has nothing been changed since, as far as can be told? */
extern bool catalogs_are_unchanged(const CatalogsSeen *seen);

#endif /* GPUSORT_EXEC_CATALOGS_SEEN_H */
