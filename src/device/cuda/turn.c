/*
 * device/cuda/turn.c
 *		A part of a sort whose parts take turns on a GPU (turns.c), for those who feed it: where its rows go.
 *
 * Those of the first part go to the GPU as long as it takes them; all others wait.  So a part never finds no
 * room, and no row is passed to the leader for that; a chunk is NULL only if the GPU has failed, in this
 * process or another one, and then the whole sort has.
 */
#include "postgres.h"

#include "device/cuda/turns.h"

/* A chunk on its way to the GPU, in the first turn; NULL: there is no room, or the GPU has failed. */
static Chunk *
chunk_of_card(TurnsSorter *sorter, Size at_least)
{
	CudaSorter *card = sorter->card;
	Chunk *chunk;

	if (sorter->card_is_full)
		return NULL;
	chunk = cuda_try_chunk(&card->base, at_least);
	if (chunk == NULL && at_least <= card->client.job.chunk_bytes)
		sorter->card_is_full = true;
	return chunk;
}

static Chunk *
turn_get_chunk(Sorter *base, Size at_least)
{
	Turn *turn = (Turn *) base;
	TurnsSorter *sorter = turn->turns;
	Chunk *chunk = turn->number == 0 ? chunk_of_card(sorter, at_least) : NULL;

	if (chunk != NULL)
		return chunk;
	if (!cuda_share_is_alive(sorter->card))
	{
		(void) turns_go_on(sorter);
		sorter_fail_with_part(base, &sorter->card->base);
		return NULL;
	}
	return waiting_get_chunk(&sorter->waiting, turn->number, at_least);
}

static void
turn_put_chunk(Sorter *base, Chunk *chunk)
{
	Turn *turn = (Turn *) base;
	CudaSorter *card = turn->turns->card;

	if (chunk < card->chunks || chunk >= card->chunks + GPUSORTD_MAX_CHUNKS)
		waiting_put_chunk(&turn->turns->waiting, turn->number, chunk);
	else if (!cuda_submit_chunk(card, chunk))
	{
		(void) turns_go_on(turn->turns);
		sorter_fail_with_part(base, &card->base);
	}
}

void
turns_keep_refused(TurnsSorter *sorter, CudaSorter *card, int part)
{
	while (card->helps && card->refused != NULL)
	{
		Chunk *chunk = card->refused;

		waiting_add_copy(&sorter->waiting, part, chunk);
		card->refused = chunk->next;
		cuda_free_chunk(chunk);
	}
}

const SortDevice sort_device_turn = {
	.name = "cuda",
	.keeps_sort_columns = true,
	.keeps_rows = true,
	.get_chunk = turn_get_chunk,
	.try_chunk = turn_get_chunk,
	.put_chunk = turn_put_chunk,
};
