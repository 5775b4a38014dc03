/*
 * check/owner.c
 *		The rights of a relation's owner, while its queries or expressions are planned.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"

#include "base/pg_compat.h"
#include "check/owner.h"

void
check_begin_as_owner(OwnersRights *before, Relation relation)
{
	before->nest_level = NewGUCNestLevel();
	GetUserIdAndSecContext(&before->user, &before->context);
	SetUserIdAndSecContext(relation->rd_rel->relowner, before->context | SECURITY_RESTRICTED_OPERATION);
	restrict_search_path();
}

void
check_end_as_owner(const OwnersRights *before)
{
	AtEOXact_GUC(false, before->nest_level);
	SetUserIdAndSecContext(before->user, before->context);
}
