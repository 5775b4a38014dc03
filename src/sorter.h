/*
 * sorter.h
 *		The device interface: what takes filled chunks and gives back rows in order.
 *
 * A sort goes through these calls, in this order:
 *
 *		sorter = device->begin(key, ...)
 *		chunk = device->get_chunk(...), filled by the caller, device->put_chunk(...), again and again
 *		device->perform(sorter)
 *		device->next(sorter, forward), rewind, mark, restore, in any order
 *		device->end(sorter)
 *
 * All that a sorter holds belongs to a memory context below the one that was current in begin, and to
 * the current resource owner; so an error or a cancel releases everything
 * without a call to end.
 */
#ifndef GPUSORT_SORTER_H
#define GPUSORT_SORTER_H

#include "postgres.h"

#include "chunk.h"
#include "sort_key.h"

/* What a sort did, for EXPLAIN and for statistics. */
typedef struct SorterStats
{
	const char *method;			/* the algorithm in words */
	uint64		rows;
	Size		peak_memory;	/* bytes of host memory at the highest */
	uint64		disk_bytes;		/* bytes written to temporary files; 0: all in memory */
	int			runs;			/* sorted runs written there */
	int			merge_passes;	/* merges of all of them, the one on the fly included */
	double		sort_ms;		/* sorting in memory */
	double		spill_ms;		/* writing runs */
	double		merge_ms;		/* merging them but for the merge on the fly */
} SorterStats;

/* Memory is in use, so many bytes. */
static inline void
sorter_stats_note_memory(SorterStats *stats, Size bytes)
{
	stats->peak_memory = Max(stats->peak_memory, bytes);
}

typedef struct Sorter Sorter;

typedef struct SortDevice
{
	const char *name;

	/* A sorter for keys of this kind, within memory_limit bytes; random_access: all of next, mark and
	 * rewind will be used, not only next forwards.  The key must live as long as the sorter. */
	Sorter	   *(*begin) (const SortKey *key, Size memory_limit, bool random_access);

	/* An empty chunk with room for at least one row of so many bytes, entry and all. */
	Chunk	   *(*get_chunk) (Sorter *sorter, Size at_least);

	/* Takes back a chunk that get_chunk gave, filled. */
	void		(*put_chunk) (Sorter *sorter, Chunk *chunk);

	/* Sorts.  No chunk may be outstanding. */
	void		(*perform) (Sorter *sorter);

	/* The next row in this direction, or NULL at the end; the row is good until the next call. */
	MinimalTuple (*next) (Sorter *sorter, bool forward);

	/* Back before the first row; remember the position; go back to the one remembered. */
	void		(*rewind) (Sorter *sorter);
	void		(*mark) (Sorter *sorter);
	void		(*restore) (Sorter *sorter);

	/* Can rewind, mark, restore and backward reads be used? Known after perform. */
	bool		(*has_random_access) (const Sorter *sorter);

	void		(*get_stats) (const Sorter *sorter, SorterStats *stats);

	/* Releases everything.  Never called after an error. */
	void		(*end) (Sorter *sorter);
} SortDevice;

/* Every device's sorter begins with this. */
struct Sorter
{
	const SortDevice *device;
};

/* Sorts in the backend's own memory, past its limit in temporary files; always there. */
extern const SortDevice sort_device_cpu;

#endif							/* GPUSORT_SORTER_H */
