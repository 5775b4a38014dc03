/*
 * device/cuda/turn_help.c
 *		Processes that have fed parts that take turns on a GPU, and stay to send them.
 *
 * The first process begins a part's job and names the part; each process takes a chunk or a file of what
 * waits after the other, until none is left.  What finds no room waits again (WAITING_AGAIN).  Then the first
 * process names nothing any more, waits for those who send, and sends alone what is left.  A process that
 * helps waits for a turn for a while only: longer than that the reader of the rows is busy with something
 * else.
 */
#include "postgres.h"

#include "storage/condition_variable.h"
#include "utils/memutils.h"

#include "base/spin.h"
#include "base/wait_events.h"
#include "device/cuda/turns.h"

/* A process that helps waits for the next turn so long. */
#define PATIENCE_MS 1000

/* ---------------------------------------------------------------- the first process lets others help */

/* Sets what others may send, a part or 0 for nothing; or, when that is over, has them go. */
static void
set_help(TurnsShare *share, int part, TurnHelpState state)
{
	SpinLockAcquire(&share->base.base.mutex);
	share->help.part = part;
	share->help.state = state;
	SpinLockRelease(&share->base.base.mutex);
	ConditionVariableBroadcast(&share->base.base.changed);
}

bool
turn_help_is_wanted(const TurnsSorter *sorter)
{
	return sorter->base.share != NULL && turns_share(sorter)->help.state == TURN_HELP_WANTED;
}

void
turn_help_dismiss(Sorter *base)
{
	TurnsSorter *sorter = (TurnsSorter *) base;
	TurnsShare *share = turns_share(sorter);

	if (share == NULL || share->help.state == TURN_HELP_OVER)
		return;
	set_help(share, 0, TURN_HELP_OVER);
	waiting_dismiss(&sorter->waiting);
}

void
turn_help_end(TurnsSorter *sorter)
{
	TurnsShare *share = turns_share(sorter);

	set_help(share, 0, share->help.state);
	(void) sort_share_wait_for_none(&share->base.base, &share->help.nsending);
}

bool
turn_help_let_in(TurnsSorter *sorter, CudaCard *card, int part)
{
	if (!turn_help_is_wanted(sorter))
		return false;
	cuda_let_join(card);
	set_help(turns_share(sorter), part, TURN_HELP_WANTED);
	return true;
}

/* All must be through with feeding: nobody waits for that any more once rows are read. */
static bool
others_help(TurnsSorter *sorter)
{
	if (!turn_help_is_wanted(sorter))
		return false;
	if (sort_share_wait_all_fed(sorter->base.share))
		return true;
	(void) cuda_share_is_alive(sorter->card);
	return false;
}

/* ---------------------------------------------------------------- those who help */

/* A part after the last one that this process has sent of, for it to send; 0: not yet, -1: it is to go. */
static int
next_turn(TurnsShare *share, int last)
{
	int part = 0;

	SpinLockAcquire(&share->base.base.mutex);
	if (share->help.state != TURN_HELP_WANTED || share->base.base.failed)
		part = -1;
	else if (share->help.part > last)
	{
		part = share->help.part;
		share->help.nsending++;
	}
	SpinLockRelease(&share->base.base.mutex);
	return part;
}

/* The same, but waits; 0: for too long. */
static int
wait_for_turn(TurnsShare *share, int last)
{
	int part;
	bool timed_out = false;

	while ((part = next_turn(share, last)) == 0 && !timed_out)
		timed_out = ConditionVariableTimedSleep(&share->base.base.changed, PATIENCE_MS,
												gpusort_wait_event(GPUSORT_WAIT_READER));
	ConditionVariableCancelSleep();
	return part;
}

static void
note_sent(TurnsShare *share)
{
	SpinLockAcquire(&share->base.base.mutex);
	share->help.nsending--;
	SpinLockRelease(&share->base.base.mutex);
	ConditionVariableBroadcast(&share->base.base.changed);
}

/* Sends of a part by a connection of its own, for as long as there is room. */
static void
help_send(TurnsSorter *sorter, int part)
{
	MemoryContext context =
		AllocSetContextCreate(sorter->context, "GpuSort cuda turn", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	CudaCard *card = cuda_card_create(&sorter->base, sorter->waiting.key);

	cuda_set_next_place(card, &sorter->waiting.held);
	cuda_enter_job(card, &turns_share(sorter)->base);
	if (card->stage < CUDA_LEFT && card->client.job.chunk_bytes >= sorter->waiting.share->chunk_bytes)
		(void) waiting_send_beside(&sorter->waiting, part, card);
	cuda_end_feed(card);
	waiting_finish(&sorter->waiting);
	note_sent(turns_share(sorter));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

bool
turn_help(Sorter *base)
{
	TurnsSorter *sorter = (TurnsSorter *) base;
	TurnsShare *share = turns_share(sorter);
	int part = 0;

	if (!sort_share_is_joined(sorter->base.share))
		return others_help(sorter);
	while ((part = wait_for_turn(share, part)) > 0)
		help_send(sorter, part);
	return false;
}
