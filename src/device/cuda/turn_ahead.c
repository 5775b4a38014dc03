/*
 * device/cuda/turn_ahead.c
 *		While the part of a sort whose turn it is (turns.c) is read, those who stay (turn_help.c) send the
 *		next one, to a job of its own.
 *
 * So the GPU has two parts: one that is sorted, and has given back what the sort alone took, and one that is
 * fed.  There are two connections, each of which has every other part, and begins its job in the place of the
 * one that is over.  Parts are made so small that there is room for both (service/room.h).  If there is none
 * all the same, what finds none waits again, and is sent when the first of the two is over.
 *
 * It is a gain and nothing else: if the second job can't be had, or nobody has stayed, the part is sent when
 * its turn has come.
 */
#include "postgres.h"

#include "device/cuda/turns.h"

/* Makes the other connection's sorter, if it is not there yet. */
static CudaSorter *
other_sorter(TurnsSorter *sorter)
{
	MemoryContext old;

	if (sorter->other != NULL)
		return sorter->other;
	old = MemoryContextSwitchTo(sorter->context);
	sorter->other = cuda_sorter_create(sorter->card->key);
	sorter->other->whole = &sorter->base;
	sorter->other->further = true;
	cuda_note_request(sorter->other, &sorter->of_part);
	MemoryContextSwitchTo(old);
	return sorter->other;
}

void
turns_close_other(TurnsSorter *sorter)
{
	sorter->ahead = 0;
	if (sorter->other != NULL)
		turns_end_sorter(sorter, &sorter->other->base);
	sorter->other = NULL;
}

/* Is there somebody to send it, and a sorted part on the GPU that will be read from there? */
static bool
can_be_ahead(const TurnsSorter *sorter)
{
	return sorter->share != NULL && sorter->share->help.wanted && !sorter->share->help.over &&
		   !sorter->card_is_lost && sorter->card->external == NULL;
}

void
turns_begin_ahead(TurnsSorter *sorter)
{
	int part = turns_next_part(sorter);

	sorter->ahead = 0;
	if (part < sorter->parts.n && can_be_ahead(sorter))
	{
		waiting_rewind(&sorter->waiting, part);
		if (turns_begin_job(sorter, other_sorter(sorter), part) &&
			turns_let_join(sorter, sorter->other, part))
			sorter->ahead = part;
	}
	if (sorter->ahead == 0)
		turns_close_other(sorter);
}

/*
 * What is left of the part, and what waits again, is sent by this process alone, with all the GPU's memory.
 */
static bool
send_rest(TurnsSorter *sorter, int part)
{
	Waiting *waiting = &sorter->waiting;
	CudaSorter *card = sorter->card;
	GpusortdClient *before = &sorter->other->client;

	waiting_rewind(waiting, WAITING_AGAIN);
	if (!waiting_has_more(waiting, part) && !waiting_has_more(waiting, WAITING_AGAIN) &&
		card->refused == NULL)
		return true;
	if (!gpusortd_end(before))
		gpu_client_close(before);
	return waiting_send(waiting, part, &card->base, false) &&
		   waiting_send(waiting, WAITING_AGAIN, &card->base, false);
}

bool
turns_finish_ahead(TurnsSorter *sorter)
{
	int part = sorter->ahead;
	CudaSorter *card = sorter->other;

	sorter->other = sorter->card;
	sorter->card = card;
	sorter->ahead = 0;
	(void) waiting_send(&sorter->waiting, part, &card->base, true);
	cuda_finish_feed(&card->base);
	waiting_finish(&sorter->waiting);
	turns_wait_for_helpers(sorter);
	return cuda_share_is_alive(card) && send_rest(sorter, part);
}
