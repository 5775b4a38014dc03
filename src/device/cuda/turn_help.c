/*
 * device/cuda/turn_help.c
 *		Those who have fed a sort whose parts take turns (turns.c) stay, and send what waits, beside the first
 *		process when its turn has come, or before that while the first process reads (turn_ahead.c).
 *
 * The first process begins a part's job, and lets others join it; each takes a chunk or a file of what waits
 * after the other, as it does itself, until none is left.  Then it lets nobody join any more, and waits for
 * those who have.  Those who find no room, or are refused it, leave that turn: what they had for it waits
 * again, and the first process sends it when they have left, and makes room by spilling.
 *
 * Who helps waits for a turn for a while only: longer than that whoever reads the rows is busy with something
 * else, and the others do without.
 */
#include "postgres.h"

#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "utils/memutils.h"

#include "base/wait_events.h"
#include "device/cuda/turns.h"

/* A process that helps waits for the next turn so long. */
#define PATIENCE_MS 1000

/* ---------------------------------------------------------------- the first process */

/* Sets what others may send, a part or 0 for nothing; or, when that is over, has them go. */
static void
set_help(TurnsShare *share, int part, TurnHelpState state)
{
	SpinLockAcquire(&share->base.mutex);
	share->help.part = part;
	share->help.state = state;
	SpinLockRelease(&share->base.mutex);
	ConditionVariableBroadcast(&share->base.changed);
}

bool
turns_want_help(const TurnsSorter *sorter)
{
	return sorter->base.share != NULL && turns_share(sorter)->help.state == TURN_HELP_WANTED;
}

void
turns_dismiss_helpers(TurnsSorter *sorter)
{
	TurnsShare *share = turns_share(sorter);

	if (share == NULL || share->help.state == TURN_HELP_OVER)
		return;
	set_help(share, 0, TURN_HELP_OVER);
	waiting_dismiss(&sorter->waiting);
}

/* All must be through with feeding: nobody waits for that any more once rows are read. */
static bool
others_help(TurnsSorter *sorter)
{
	if (!turns_want_help(sorter))
		return false;
	if (sort_share_wait_all_fed(sorter->base.share))
		return true;
	(void) cuda_share_is_alive(sorter->card);
	(void) turns_go_on(sorter);
	return false;
}

static int
processes_sending(TurnsShare *share)
{
	int nsending;

	SpinLockAcquire(&share->base.mutex);
	nsending = share->help.nsending;
	SpinLockRelease(&share->base.mutex);
	return nsending;
}

/* Nobody joins any more, and none of those who have still sends. */
void
turns_wait_for_helpers(TurnsSorter *sorter)
{
	TurnsShare *share = turns_share(sorter);

	set_help(share, 0, share->help.state);
	while (processes_sending(share) > 0)
		ConditionVariableSleep(&share->base.changed, gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
	ConditionVariableCancelSleep();
}

/* The job is one that others may join; false: it is not, and nobody will. */
bool
turns_let_join(TurnsSorter *sorter, CudaSorter *card, int part)
{
	if (!turns_want_help(sorter))
		return false;
	cuda_share_create(card, false);
	if (card->base.share == NULL)
		return false;
	(void) cuda_enter(card);
	turns_share(sorter)->card = card->base.share->arena.handle;
	set_help(turns_share(sorter), part, TURN_HELP_WANTED);
	return true;
}

bool
turns_send(TurnsSorter *sorter, int part)
{
	Waiting *waiting = &sorter->waiting;
	Sorter *card = &sorter->card->base;
	bool helped;

	waiting_rewind(waiting, part);
	helped = turns_let_join(sorter, sorter->card, part);
	(void) waiting_send(waiting, part, card, false);
	if (!helped)
		return card->failure == NULL;
	cuda_finish_feed(card, false);
	turns_wait_for_helpers(sorter);
	waiting_rewind(waiting, WAITING_AGAIN);
	return cuda_share_is_alive(sorter->card) && waiting_send(waiting, WAITING_AGAIN, card, false);
}

/* ---------------------------------------------------------------- those who help */

typedef enum HelpWanted
{
	HELP_LATER,
	HELP_SEND,
	HELP_OVER
} HelpWanted;

/* Is there a part after the last one that this process has sent of?  Takes part in sending it then. */
static HelpWanted
help_wanted(TurnsShare *share, int last, int *part)
{
	HelpWanted wanted = HELP_LATER;

	SpinLockAcquire(&share->base.mutex);
	if (share->help.state == TURN_HELP_OVER || share->base.failed)
		wanted = HELP_OVER;
	else if (share->help.part > last)
	{
		wanted = HELP_SEND;
		*part = share->help.part;
		share->help.nsending++;
	}
	SpinLockRelease(&share->base.mutex);
	return wanted;
}

/* Waits for a part after the last one; false: this process is not wanted any more. */
static bool
wait_for_turn(TurnsShare *share, int last, int *part)
{
	HelpWanted wanted;
	bool timed_out = false;

	while ((wanted = help_wanted(share, last, part)) == HELP_LATER && !timed_out)
		timed_out = ConditionVariableTimedSleep(&share->base.changed, PATIENCE_MS,
												gpusort_wait_event(GPUSORT_WAIT_READER));
	ConditionVariableCancelSleep();
	return wanted == HELP_SEND;
}

static void
note_sent(TurnsShare *share)
{
	SpinLockAcquire(&share->base.mutex);
	share->help.nsending--;
	SpinLockRelease(&share->base.mutex);
	ConditionVariableBroadcast(&share->base.changed);
}

/* Sends of a part by a connection of its own, for as long as there is room. */
static void
help_send(TurnsSorter *sorter, int part)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cuda turn", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	TurnsShare *share = turns_share(sorter);
	CudaSorter *card = cuda_join_part(&share->card, sorter->waiting.key);

	if (card->stage < CUDA_LEFT && card->client.job.chunk_bytes >= sorter->waiting.share->chunk_bytes)
		(void) waiting_send(&sorter->waiting, part, &card->base, true);
	cuda_finish_feed(&card->base, false);
	turns_keep_refused(sorter, card, WAITING_AGAIN);
	waiting_finish(&sorter->waiting);
	note_sent(share);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

bool
turns_help(TurnsSorter *sorter)
{
	TurnsShare *share = turns_share(sorter);
	MemoryContext old;
	int part = 0;

	if (!sort_share_is_joined(sorter->base.share))
		return others_help(sorter);
	old = MemoryContextSwitchTo(sorter->context);
	while (share->help.state != TURN_HELP_UNWANTED && wait_for_turn(share, part, &part))
		help_send(sorter, part);
	MemoryContextSwitchTo(old);
	return false;
}
