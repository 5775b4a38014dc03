/*
 * device/team.h
 *		How the workers of a query or a build find the sort of the leader, and take part in it.
 *
 * A SortTeam is in the dynamic shared memory of the query or the build.  The leader sets it before workers
 * start (sort_team_init); each worker joins once (sort_team_join).
 *
 * A lone worker can't map the sort's shared memory, or there is none.  It must not skip its part of the
 * input, which it may be the only one to read: it sorts that by itself, into runs of the leader's files, and
 * the leader merges them when all workers have ended (sort_team_close).  It counts itself before it reads its
 * first row.  So a process that has read its last row, and then finds no lone worker counted, knows that
 * there is none with rows: the parallel scan hands rows out under a lock or an atomic counter.
 *
 * nlone and lone_rows are atomic; nothing else is changed once workers start.
 *
 * On failure: a worker whose key is not the leader's does not take part; if nobody has entered yet it raises
 * an error, for then nobody may read its part of the input.  A device that merges no runs of others
 * (Sorter.files is NULL) fails when there is a lone worker, and the leader begins again.
 */
#ifndef GPUSORT_DEVICE_TEAM_H
#define GPUSORT_DEVICE_TEAM_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/fileset.h"

#include "device/participants.h"

struct SortTeam
{
	ArenaHandle handle; /* of the shared memory; zeros: there is none */
	bool on_gpu;
	uint64 fingerprint;			/* of the leader's key */
	FileSet files;				/* the leader's */
	Size memory;				/* bytes for a lone worker */
	pg_atomic_uint32 nlone;		/* lone workers */
	pg_atomic_uint64 lone_rows; /* in the runs that they have published */
};

/* In the leader: of this sorter, with this key; NULL: there is no sort, and nobody can join. */
extern void sort_team_init(SortTeam *team, const Sorter *sorter, const SortKey *key);

/*
 * In a worker: a sorter to feed, with a layout of the key that is for it; NULL: nothing is left to be fed.
 * complete_rows: of rows that hold all their sort columns, NULL: they don't.
 */
extern Sorter *sort_team_join(SortTeam *team, SortKey *key, TupleDesc complete_rows);

/* In a worker that has not read a row yet: it is a lone one; its number among them. */
extern int sort_team_add_lone(SortTeam *team);

/* In a worker that has published its runs, if it is a lone one: so many rows are in them. */
extern void sort_team_add_lone_rows(SortTeam *team, const Sorter *sorter, uint64 rows);

/* How many there are. */
extern int sort_team_lone(SortTeam *team);

/*
 * In the leader, when all workers have ended: the sorter is told of the lone ones.  NULL: there was no team.
 * has_fed: the leader has entered and read to the end, so a lone worker that reads nothing has left no row
 * out.
 */
extern void sort_team_close(SortTeam *team, Sorter *sorter, bool has_fed);

#endif /* GPUSORT_DEVICE_TEAM_H */
