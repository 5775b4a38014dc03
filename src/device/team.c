/*
 * device/team.c
 *		How the workers of a query or a build find the sort of the leader, and take part in it.
 *
 * team.h says what a lone worker is.
 */
#include "postgres.h"

#include "device/team.h"

void
sort_team_init(SortTeam *team, const Sorter *sorter, const SortKey *key)
{
	memset(team, 0, sizeof(*team));
	pg_atomic_init_u32(&team->nlone, 0);
	pg_atomic_init_u64(&team->lone_rows, 0);
	if (sorter == NULL)
		return;
	sort_key_read_values(key);
	team->fingerprint = sort_key_fingerprint(key);
	team->on_gpu = sorter->device != &sort_device_cpu;
	if (sorter->share != NULL)
		team->handle = sorter->share->arena.handle;
	if (sorter->files != NULL)
		team->files = *sorter->files;
	team->memory = sorter->lone_memory;
}

Sorter *
sort_team_join(SortTeam *team, SortKey *key, TupleDesc complete_rows)
{
	const SortDevice *device = team->on_gpu ? &sort_device_cuda : &sort_device_cpu;
	SortShare *share = team->handle.pid != 0 ? sort_share_attach(&team->handle) : NULL;

	if (sort_key_fingerprint(key) != team->fingerprint)
	{
		/* Whoever has entered reads all that is left. */
		if (share != NULL && sort_share_is_entered(share))
			return NULL;
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("a type or an operator that rows are sorted by was changed while a sort began"),
				 errdetail("A parallel worker finds another order than the process that began the sort."),
				 errhint("Retry the query.")));
	}
	sort_device_set_layout(device, key);
	return device->join(team, share, key, complete_rows);
}

int
sort_team_add_lone(SortTeam *team)
{
	return pg_atomic_fetch_add_u32(&team->nlone, 1);
}

void
sort_team_add_lone_rows(SortTeam *team, const Sorter *sorter, uint64 rows)
{
	if (sorter->share == NULL)
		pg_atomic_fetch_add_u64(&team->lone_rows, rows);
}

int
sort_team_lone(SortTeam *team)
{
	return pg_atomic_read_u32(&team->nlone);
}

void
sort_team_close(SortTeam *team, Sorter *sorter, bool has_fed)
{
	if (team == NULL)
		return;
	sorter->nlone = sort_team_lone(team);
	sorter->lone_rows = pg_atomic_read_u64(&team->lone_rows);
	if (sorter->nlone > 0 && sorter->files == NULL && !has_fed)
		sorter_fail(sorter, SORT_FAILURE_MEMORY, "a worker could not map the memory of the sort");
}
