/*
 * device/place.h
 *		Places: where a sorter keeps the rows that it was fed.
 *
 * A sorter has a list of places, which are asked for room in this order.  A row goes to the first place that
 * has room for it:
 *
 *		cpu device		memory that several processes share, then the process's own memory
 *		cuda device		the card, then runs
 *		parts in turns	the card, then memory, then files, in which rows wait
 *
 * A chunk knows the place that it was taken from.  The caller fills the chunk and puts it there.  A place
 * that has no room may be able to make some (drain): it leaves out rows that a bound does not want, or sorts
 * its rows into a run.  Otherwise the next place is asked.  The last place has room for any row.
 *
 * A Place belongs to one process, even if several processes share the memory behind it.
 */
#ifndef GPUSORT_DEVICE_PLACE_H
#define GPUSORT_DEVICE_PLACE_H

#include "postgres.h"

#include "sort/chunk.h"

typedef struct Place Place;

struct Place
{
	void *owner; /* owner of the rows, for the functions of the place */
	Place *next; /* NULL: this is the last one */

	/*
	 * Returns a chunk for rows of this part, with room for at least one row.  at_least: bytes of this row,
	 * with its entry.  NULL: there is no room here, or the sorter has failed.
	 */
	Chunk *(*take)(Place *place, int part, Size at_least);

	/* Takes back a filled chunk of this place. */
	void (*put)(Chunk *chunk);

	/*
	 * Makes room for a row of this part.  at_least: as in `take`.  False: there is no room here; the sorter
	 * may have failed.  The function is NULL if the place cannot make room.
	 */
	bool (*drain)(Place *place, int part, Size at_least);

	/* Frees a chunk of this place; NULL: chunks are freed with the place. */
	void (*release)(Chunk *chunk);
};

/* Returns a chunk of the first place, from this one on, that has room or makes some; NULL: none has. */
static inline Chunk *
places_take(Place *place, int part, Size at_least)
{
	Chunk *chunk = NULL;

	for (; place != NULL && chunk == NULL; place = place->next)
	{
		do
			chunk = place->take(place, part, at_least);
		while (chunk == NULL && place->drain != NULL && place->drain(place, part, at_least));
	}
	return chunk;
}

/* Puts a filled chunk into the place that it was taken from. */
static inline void
place_put(Chunk *chunk)
{
	chunk->place->put(chunk);
}

/* Frees a chunk that its place no longer needs. */
static inline void
place_release(Chunk *chunk)
{
	chunk->place->release(chunk);
}

#endif /* GPUSORT_DEVICE_PLACE_H */
