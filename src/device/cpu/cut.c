/*
 * device/cpu/cut.c
 *		A bounded sort of the cpu device: rows that are not wanted any more are taken out of filled chunks.
 *
 * The feed leaves out rows that can't be wanted (sort/bound.h), but the longer it goes on, the more of the
 * rows that it kept at first can't be wanted either.  When there are several times as many rows as are
 * wanted, or when memory is full, they are taken out.  A chunk that has much room then is filled further.
 *
 * shared_chunks.c does the same where several processes feed.
 */
#include "postgres.h"

#include "device/cpu/sorter.h"

/* Takes rows out of all filled chunks, and sets those aside that have room. */
static void
cut_chunks(CpuSorter *sorter)
{
	Chunk *chunks = sorter->chunks;

	sorter->chunks = NULL;
	sorter->chunks_end = &sorter->chunks;
	while (chunks != NULL)
	{
		Chunk *chunk = chunks;
		Chunk **list;

		chunks = chunk->next;
		cpu_count_chunk(sorter, chunk, -1);
		(void) bound_cut_chunk(sorter->base.bound, chunk);
		if (chunk->nrows > 0)
			cpu_count_chunk(sorter, chunk, 1);
		list = chunk->nrows == 0	  ? &sorter->empty_chunks
			   : chunk_is_open(chunk) ? &sorter->open_chunks
									  : sorter->chunks_end;
		chunk->next = *list;
		*list = chunk;
		if (list == sorter->chunks_end)
			sorter->chunks_end = &chunk->next;
	}
}

static bool
cut(CpuSorter *sorter)
{
	uint64 rows = sorter->nrows;

	cpu_close_open_chunks(sorter);
	cut_chunks(sorter);
	sorter->cut_rows = sorter->nrows;
	return sorter->nrows < rows && (sorter->open_chunks != NULL || sorter->empty_chunks != NULL);
}

bool
cpu_cut_many(CpuSorter *sorter)
{
	const SortBound *bound = sorter->base.bound;

	return bound != NULL && sorter->nrows >= bound_rows_to_cut(bound, sorter->cut_rows) && cut(sorter);
}

bool
cpu_cut_for_room(CpuSorter *sorter)
{
	return sorter->base.bound != NULL && sorter->nrows >= bound_rows_to_cut_for_room(sorter->cut_rows) &&
		   cut(sorter);
}

Chunk *
cpu_take_open_chunk(CpuSorter *sorter, Size at_least)
{
	for (Chunk **link = &sorter->open_chunks; *link != NULL; link = &(*link)->next)
	{
		Chunk *chunk = *link;

		if (chunk->back - chunk->front < at_least)
			continue;
		*link = chunk->next;
		cpu_count_chunk(sorter, chunk, -1);
		return chunk;
	}
	return NULL;
}

void
cpu_close_open_chunks(CpuSorter *sorter)
{
	*sorter->chunks_end = sorter->open_chunks;
	while (*sorter->chunks_end != NULL)
		sorter->chunks_end = &(*sorter->chunks_end)->next;
	sorter->open_chunks = NULL;
}
