/*
 * device/cuda/parallel_feed.c
 *		The cuda device with several processes that feed one sort.
 *
 * Each process has a connection of its own to a job of gpusortd, and chunks of its own; the first process
 * begins the job and performs it.
 *
 * When the device's memory is full, each process comes to hear of it: its chunk is refused, or it sees that
 * another's was.  Then it leaves the job and closes its connection.  The rows that were refused, and all that
 * it reads later, go to the card's next place.  A process that can't connect or join does the same.  The
 * first process waits for all to have left before it spills the job, for rows of a process that still fed
 * would be lost with the job; the others wait for no process.
 */
#include "postgres.h"

#include "base/spin.h"
#include "base/wait_events.h"
#include "device/cuda/on_card.h"

/* ---------------------------------------------------------------- what all of them do */

bool
cuda_share_is_alive(CudaCard *card)
{
	SortShare *share = card->share != NULL ? &card->share->base : NULL;
	SortFailureReason reason;
	char message[sizeof(share->failure)];

	if (card->base.failure != NULL)
		return false;
	if (share == NULL || !share->failed)
		return true;
	SpinLockAcquire(&share->mutex);
	reason = share->failure_reason;
	strlcpy(message, share->failure, sizeof(message));
	SpinLockRelease(&share->mutex);
	return cuda_fail(card, reason, message);
}

void
cuda_leave_full_job(CudaCard *card)
{
	if (card->stage >= CUDA_LEFT)
		return;
	if (card->share != NULL)
		sort_share_note_overflow(&card->share->base);
	if (cuda_flush(card))
		cuda_leave(card);
}

void
cuda_end_feed(CudaCard *card)
{
	CudaShare *share = card->share;

	if (!cuda_share_is_alive(card) || (card->stage < CUDA_LEFT && !cuda_flush(card)) || share == NULL)
		return;
	if (card->has_refused)
		sort_share_note_overflow(&share->base);
	cuda_leave(card);
	if (!cuda_has_joined(card))
		return;
	SpinLockAcquire(&share->base.mutex);
	share->bytes_in += card->stats.bytes_in;
	SpinLockRelease(&share->base.mutex);
}

/* ---------------------------------------------------------------- reading together */

/* Sorts, in the first process, for all. */
static void
sort_for_all(CudaCard *card)
{
	CudaShare *share = card->share;

	if (!cuda_share_is_alive(card) || !cuda_sort_job(card))
		return;
	card->stage = CUDA_SORTED;
	share->nrows = card->base.nrows;
	share->is_sorted = true;
}

/*
 * Is all that was fed on the device, and can all processes read it there?  Waits for them to be through.  All
 * get the same answer, for a process that took no part in what follows would be waited for: the first process
 * may have failed to sort before another one asks.
 */
static bool
can_be_read_together(CudaCard *card)
{
	CudaShare *share = card->share;

	return share != NULL && share->read_jointly && sort_share_wait_all_fed(&share->base) &&
		   !share->incomplete && !share->base.overflowed;
}

bool
cuda_sort_together(CudaCard *card)
{
	CudaShare *share = card->share;

	if (!can_be_read_together(card))
		return false;
	if (!cuda_has_joined(card))
		sort_for_all(card);
	sort_share_meet(&share->base);
	if (!cuda_share_is_alive(card) || !share->is_sorted)
		return false;
	sorter_begin_reading(&card->base, share->nrows);
	return true;
}

/* ---------------------------------------------------------------- the first process */

/* Rows of lone workers (SortTeam) are for the cpu device, so without memory to share all is. */
void *
cuda_share_create(CudaCard *card, Size header_size, Size more, int processes)
{
	SortShare *share = sort_share_create(header_size + more, header_size, processes);

	if (share == NULL)
	{
		sorter_fail(card->whole, SORT_FAILURE_MEMORY, "there is no memory that the processes can share");
		return NULL;
	}
	card->whole->share = share;
	cuda_let_join(card);
	return share;
}

void
cuda_let_join(CudaCard *card)
{
	CudaShare *share = (CudaShare *) card->whole->share;

	share->number = card->client.job.job;
	share->token = card->client.job.token;
	share->base.overflowed = false;
	card->share = share;
}

bool
cuda_share_take_over(CudaCard *card)
{
	CudaShare *share = card->share;

	if (share == NULL)
		return true;
	sort_share_note_overflow(&share->base);
	cuda_leave(card);
	(void) sort_share_wait_for_none(&share->base, &share->nfeeding);
	return cuda_share_is_alive(card);
}

/* ---------------------------------------------------------------- the others */

/*
 * Counts this process among those that feed the job; false: it is too late, and all are to leave it.  A
 * process that joins when some row has found no room sees that; one that joined before is counted.
 */
static bool
count_in(CudaShare *share)
{
	bool overflowed;

	SpinLockAcquire(&share->base.mutex);
	share->nfeeding++;
	overflowed = share->base.overflowed;
	SpinLockRelease(&share->base.mutex);
	return !overflowed;
}

void
cuda_enter_job(CudaCard *card, CudaShare *share)
{
	card->share = share;
	if (count_in(share) && cuda_join_job(card))
		return;
	share->incomplete = true;
	cuda_leave(card);
}
