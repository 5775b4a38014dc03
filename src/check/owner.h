/*
 * check/owner.h
 *		The rights of a relation's owner, while its queries or expressions are planned.
 */
#ifndef GPUSORT_CHECK_OWNER_H
#define GPUSORT_CHECK_OWNER_H

#include "postgres.h"

#include "utils/rel.h"

/* The state before switching to the rights of a relation's owner. */
typedef struct OwnersRights
{
	Oid user;
	int context;
	int nest_level;
} OwnersRights;

/* Code between these calls has the owner's rights, as in maintenance of a relation. */
extern void check_begin_as_owner(OwnersRights *before, Relation relation);
extern void check_end_as_owner(const OwnersRights *before);

#endif /* GPUSORT_CHECK_OWNER_H */
