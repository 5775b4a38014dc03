/*
 * device/place.h
 *		Places: where a sorter has the rows that it was fed.
 *
 * A sorter has a list of places, in the order in which they are asked for room.  A row goes to the first
 * place that has room for it:
 *
 *		cpu device		memory that several processes share, then the process's own memory
 *		cuda device		the card, then runs
 *		parts in turns	the card, then memory, then files, in which rows wait
 *
 * A chunk knows the place that it was taken from, and its caller puts it there, filled.  A place that has no
 * room may be able to make some (drain): it leaves out rows that a bound does not want, or sorts what it has
 * into a run.  Else the next place is asked.  The last place has room for any row.
 *
 * A Place belongs to one process, also where what stands behind it is shared.
 */
#ifndef GPUSORT_DEVICE_PLACE_H
#define GPUSORT_DEVICE_PLACE_H

#include "postgres.h"

#include "sort/chunk.h"

typedef struct Place Place;

struct Place
{
	void *owner; /* whose rows they are, for the functions of the place */
	Place *next; /* NULL: this is the last one */

	/*
	 * A chunk for rows of this part, with room for at least one of so many bytes, entry and all.  NULL: there
	 * is no room here, or the sorter has failed.
	 */
	Chunk *(*take)(Place *place, int part, Size at_least);

	/* Takes back a chunk of this place, filled. */
	void (*put)(Chunk *chunk);

	/*
	 * Makes room for such a row.  False: there is none, here; the sorter may have failed.  NULL: there is
	 * none.
	 */
	bool (*drain)(Place *place, int part, Size at_least);

	/* Frees a chunk of this place; NULL: chunks go with the place. */
	void (*release)(Chunk *chunk);
};

/* A chunk of the first of these places, from one on, that has room or makes some; NULL: none has. */
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

/* Puts a filled chunk where it was taken from. */
static inline void
place_put(Chunk *chunk)
{
	chunk->place->put(chunk);
}

/* Frees a chunk that its place has no more use for. */
static inline void
place_release(Chunk *chunk)
{
	chunk->place->release(chunk);
}

#endif /* GPUSORT_DEVICE_PLACE_H */
