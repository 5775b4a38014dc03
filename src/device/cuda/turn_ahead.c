/*
 * device/cuda/turn_ahead.c
 *		While the part of a sort whose turn it is (turns.c) is read, those who stay (turn_help.c) send the
 *		next one, to a job of its own.
 *
 * So the GPU has two parts: one that is sorted, and has given back what the sort alone took, and one that is
 * fed.  There are two connections, each of which has every other part, and begins its job in the place of the
 * one that is over.  Parts are made so small that there is room for both (base/limits.h).  If there is none
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
	Size both;

	sorter->ahead = 0;
	if (sorter->other == NULL)
		return;
	both = sorter->card->stats.device_memory + sorter->other->stats.device_memory;
	sorter->most_device_memory = Max(sorter->most_device_memory, both);
	turns_end_sorter(sorter, &sorter->other->base);
	sorter->other = NULL;
}

/* Is there somebody to send it, and a sorted part on the GPU that will be read from there? */
static bool
can_be_ahead(const TurnsSorter *sorter)
{
	return turns_want_help(sorter) && sorter->card_state != TURNS_CARD_LOST && sorter->card->external == NULL;
}

void
turns_begin_ahead(TurnsSorter *sorter)
{
	int part = turns_next_part(sorter);

	sorter->ahead = 0;
	if (part < sorter->nparts && can_be_ahead(sorter))
	{
		waiting_rewind(&sorter->waiting, part);
		if (turns_begin_job(sorter, other_sorter(sorter), part) &&
			turns_let_join(sorter, sorter->other, part))
			sorter->ahead = part;
	}
	if (sorter->ahead == 0)
		turns_close_other(sorter);
}

/* The part before is over: what it has of the GPU's memory is the next one's. */
static void
end_part_before(TurnsSorter *sorter)
{
	GpusortdClient *client = &sorter->other->client;

	if (!gpusortd_end(client))
		gpu_client_close(client);
}

/*
 * What is left of the part, and what waits again or was refused, is sent by this process alone, with all the
 * GPU's memory.
 */
static bool
send_rest(TurnsSorter *sorter, int part)
{
	Waiting *waiting = &sorter->waiting;
	CudaSorter *card = sorter->card;

	if (!cuda_flush(card))
		return false;
	waiting_rewind(waiting, WAITING_AGAIN);
	if (!waiting_has_more(waiting, part) && !waiting_has_more(waiting, WAITING_AGAIN) &&
		card->refused == NULL)
		return true;
	end_part_before(sorter);
	return waiting_send(waiting, part, &card->base, false) &&
		   waiting_send(waiting, WAITING_AGAIN, &card->base, false);
}

/*
 * The other connection's part has its turn.  One of the two counts among the session's sorts, and waits for
 * other sorts if it has to: the one whose turn it is.
 */
static void
change_turns(TurnsSorter *sorter)
{
	CudaSorter *card = sorter->other;

	sorter->other = sorter->card;
	sorter->card = card;
	sorter->ahead = 0;
	gpu_client_note_further(&sorter->other->client);
	gpu_client_note_counted(&card->client);
	sorter->other->further = true;
	card->further = false;
}

bool
turns_finish_ahead(TurnsSorter *sorter)
{
	int part = sorter->ahead;
	Sorter *card;

	change_turns(sorter);
	card = &sorter->card->base;
	if (waiting_has_more(&sorter->waiting, part))
		end_part_before(sorter);
	(void) waiting_send(&sorter->waiting, part, card, true);
	cuda_finish_feed(card, false);
	waiting_finish(&sorter->waiting);
	turns_wait_for_helpers(sorter);
	return cuda_share_is_alive(sorter->card) && send_rest(sorter, part);
}
