/*
 * index/index_name.c
 *		The name of an index that is built, for messages.
 *
 * Nothing in the catalogs tells for which index REINDEX CONCURRENTLY builds another one.  But its name is
 * made of the other's, by makeObjectName and a label with a number.
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "commands/progress.h"
#include "utils/backend_status.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "index/index_name.h"

#define LABEL "_ccnew"

/* PostgreSQL says so of itself, unless track_activities is off. */
static bool
is_reindexed_concurrently(void)
{
	return MyBEEntry != NULL && MyBEEntry->st_progress_command == PROGRESS_COMMAND_CREATE_INDEX &&
		   MyBEEntry->st_progress_param[PROGRESS_CREATEIDX_COMMAND] ==
			   PROGRESS_CREATEIDX_COMMAND_REINDEX_CONCURRENTLY;
}

/* The last label in the name, with its number; NULL: there is none. */
static const char *
find_label(const char *name)
{
	const char *found = NULL;

	for (const char *at = strstr(name, LABEL); at != NULL; at = strstr(at + 1, LABEL))
		found = at + 1;
	return found;
}

const char *
index_name(Relation heap, Relation index)
{
	const char *name = RelationGetRelationName(index);
	const char *label = find_label(name);
	ListCell *cell;

	if (label == NULL || !is_reindexed_concurrently())
		return name;
	foreach(cell, RelationGetIndexList(heap))
	{
		const char *other = get_rel_name(lfirst_oid(cell));

		if (other != NULL && strcmp(makeObjectName(other, NULL, label), name) == 0)
			return other;
	}
	return name;
}
