/*
 * device/cuda/turn.c
 *		A part of a sort whose parts take turns on a GPU (turns.c): where its rows go as they are fed, its
 *		job.
 *
 * Those of the first part go to the GPU as long as it takes them; all others wait.  So a part never finds no
 * room, and no row is passed to the leader for that; a chunk is NULL only if the GPU has failed, in this
 * process or another one, and then the whole sort has.
 */
#include "postgres.h"

#include "device/cuda/turns.h"

bool
turns_go_on(TurnsSorter *sorter)
{
	Sorter *base = &sorter->base;

	sorter_fail_with_part(base, &sorter->card->base);
	if (base->failure != NULL)
		sort_share_fail(base->share, base->failure_reason, base->failure);
	return base->failure == NULL;
}

/* ---------------------------------------------------------------- feeding */

/* A chunk on its way to the GPU, in the first turn; NULL: there is no room, or the GPU has failed. */
static Chunk *
chunk_of_card(TurnsSorter *sorter, Size at_least)
{
	CudaSorter *card = sorter->card;
	Chunk *chunk;

	if (sorter->card_state != TURNS_CARD_TAKES)
		return NULL;
	chunk = cuda_try_chunk(card, at_least);
	if (chunk == NULL && at_least <= card->client.job.chunk_bytes)
		sorter->card_state = TURNS_CARD_FULL;
	return chunk;
}

/* For any row there is room: it waits. */
Chunk *
turns_get_chunk(Sorter *base, int part, Size at_least, bool makes_room)
{
	TurnsSorter *sorter = (TurnsSorter *) base;
	Chunk *chunk = part == 0 ? chunk_of_card(sorter, at_least) : NULL;

	if (chunk != NULL)
		return chunk;
	if (!cuda_share_is_alive(sorter->card))
	{
		(void) turns_go_on(sorter);
		return NULL;
	}
	return waiting_get_chunk(&sorter->waiting, part, at_least);
}

void
turns_put_chunk(Sorter *base, int part, Chunk *chunk)
{
	TurnsSorter *sorter = (TurnsSorter *) base;
	CudaSorter *card = sorter->card;

	if (chunk < card->chunks || chunk >= card->chunks + GPUSORTD_MAX_CHUNKS)
		waiting_put_chunk(&sorter->waiting, part, chunk);
	else if (!cuda_submit_chunk(card, chunk))
		(void) turns_go_on(sorter);
}

void
turns_keep_refused(TurnsSorter *sorter, CudaSorter *card, int part)
{
	while (cuda_helps(card) && card->refused != NULL)
	{
		Chunk *chunk = card->refused;

		waiting_add_copy(&sorter->waiting, part, chunk);
		card->refused = chunk->next;
		cuda_free_chunk(chunk);
	}
}

/* ---------------------------------------------------------------- its turn */

const WaitingPart *
turns_waiting_part(const TurnsSorter *sorter, int part)
{
	return &sorter->waiting.share->parts[part];
}

int
turns_next_part(const TurnsSorter *sorter)
{
	int part = sorter->current + 1;

	while (part < sorter->nparts && turns_waiting_part(sorter, part)->rows == 0)
		part++;
	return part;
}

bool
turns_begin_job(TurnsSorter *sorter, CudaSorter *card, int part)
{
	const WaitingPart *waits = turns_waiting_part(sorter, part);

	card->goes_on = part + 1 < sorter->nparts;
	return cuda_begin_again(card, waits->rows, waits->key_bytes + waits->row_bytes) &&
		   card->client.job.chunk_bytes >= sorter->waiting.share->chunk_bytes;
}

void
turns_end_sorter(TurnsSorter *sorter, Sorter *ended)
{
	SorterStats stats;

	ended->device->get_stats(ended, &stats);
	stats.device_memory = 0; /* of both that there are at a time, or there were */
	cuda_add_stats(&sorter->ended, &stats);
	ended->device->end(ended);
}
