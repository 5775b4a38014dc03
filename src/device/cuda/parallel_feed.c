/*
 * device/cuda/parallel_feed.c
 *		The cuda device with several processes that feed one sort.
 *
 * Each process has a connection of its own to a job of gpusortd, and chunks of its own; the first process
 * begins the job and performs it.
 *
 * When the device's memory is full, each process comes to hear of it: its chunk is refused, or it sees that
 * another's was.  Then it leaves the job and closes its connection.  The rows that were refused, and all that
 * it reads later, it sorts into runs of its own (apart), which the first process merges with its own.  So
 * does a process that can't connect or join.  The first process waits for all to have left before it performs
 * what is on the device into a run, for rows of a process that still fed would be lost with the job; they
 * wait for nobody.
 */
#include "postgres.h"

#include "storage/spin.h"
#include "utils/memutils.h"

#include "base/wait_events.h"
#include "device/cuda/on_card.h"

/* ---------------------------------------------------------------- what all of them do */

bool
cuda_share_is_alive(CudaCard *card)
{
	SortShare *share = card->share != NULL ? &card->share->base : NULL;
	SortFailureReason reason;
	char message[sizeof(share->failure)];

	if (card->failure != NULL)
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
cuda_share_leave(CudaCard *card)
{
	if (cuda_helps(card) && card->stage < CUDA_LEFT && card->client.in_job && card->failure == NULL)
		(void) cuda_flush(card);
	cuda_leave(card);
}

Chunk *
cuda_try_chunk(CudaCard *card, Size at_least)
{
	bool is_full;
	int number;

	if (!cuda_share_is_alive(card))
		return NULL;
	if (card->share != NULL && card->share->base.overflowed)
		cuda_share_leave(card);
	if (card->stage >= CUDA_LEFT || at_least > card->client.job.chunk_bytes)
		return NULL;
	number = cuda_take_chunk(card, &is_full);
	if (number >= 0)
		return cuda_open_chunk(card, number);
	if (is_full && card->share != NULL)
	{
		sort_share_note_overflow(&card->share->base);
		cuda_share_leave(card);
	}
	return NULL;
}

/* ---------------------------------------------------------------- rows for which there is no room */

/* A card that makes runs of this process's rows, for the first process. */
static void
begin_apart(CudaCard *card)
{
	CudaShare *share = card->share;
	MemoryContext old = MemoryContextSwitchTo(card->context);
	SortRequest request = {.key = card->key,
						   .desc = card->request.desc,
						   .complete_rows = card->request.desc != NULL,
						   .memory_limit = share->memory,
						   .files = &share->files};

	SpinLockAcquire(&share->base.mutex);
	request.process = share->napart++;
	SpinLockRelease(&share->base.mutex);
	share->incomplete = true;
	card->apart = sort_device_cpu.begin(&request);
	MemoryContextSwitchTo(old);
}

static void
put_refused_apart(CudaCard *card)
{
	while (card->refused != NULL)
	{
		Chunk *from = card->refused;
		Chunk *to;

		if (card->apart == NULL)
			begin_apart(card);
		to = sort_device_cpu.get_chunk(card->apart, 0, from->size);
		chunk_copy(to, from);
		sort_device_cpu.put_chunk(card->apart, 0, to);
		cuda_free_first(&card->refused);
	}
}

Chunk *
cuda_apart_chunk(CudaCard *card, Size at_least)
{
	Chunk *chunk = cuda_try_chunk(card, at_least);

	if (chunk != NULL || card->failure != NULL)
		return chunk;
	put_refused_apart(card);
	if (card->apart == NULL)
		begin_apart(card);
	return sort_device_cpu.get_chunk(card->apart, 0, at_least);
}

/* ---------------------------------------------------------------- the end of the feed */

/* The first process has its refused rows submitted again by itself. */
void
cuda_end_feed(CudaCard *card)
{
	CudaShare *share = card->share;

	if (!cuda_share_is_alive(card) || (card->stage < CUDA_LEFT && !cuda_flush(card)) || share == NULL)
		return;
	if (card->refused != NULL)
		sort_share_note_overflow(&share->base);
	cuda_leave(card);
	if (!cuda_helps(card))
		return;
	SpinLockAcquire(&share->base.mutex);
	share->bytes_in += card->stats.bytes_in;
	SpinLockRelease(&share->base.mutex);
}

void
cuda_end_apart(CudaCard *card)
{
	if (!cuda_helps(card) || card->failure != NULL)
		return;
	put_refused_apart(card);
	if (card->apart != NULL)
		sort_device_cpu.finish_feed(card->apart);
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
	share->nrows = card->nrows;
	share->is_sorted = true;
}

/*
 * Is all that was fed on the device, and can all processes read it there?  Waits for them to be through.  All
 * get the same answer, for those who do not take part in what follows would be waited for: the first process
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
	if (!cuda_helps(card))
		sort_for_all(card);
	sort_share_meet(&share->base);
	if (!cuda_share_is_alive(card) || !share->is_sorted)
		return false;
	card->whole->together = card->nrows = card->range_end = share->nrows;
	card->position = -1;
	return true;
}

/* ---------------------------------------------------------------- the first process */

void
cuda_let_join(CudaCard *card)
{
	CudaShare *share = (CudaShare *) card->whole->share;

	share->number = card->client.job.job;
	share->token = card->client.job.token;
	share->base.overflowed = false;
	card->share = share;
}

static bool
is_none(SortShare *share, const int *number)
{
	bool none;

	SpinLockAcquire(&share->mutex);
	none = *number == 0;
	SpinLockRelease(&share->mutex);
	return none;
}

void
cuda_share_wait_for_none(SortShare *share, const int *number)
{
	while (!is_none(share, number))
		ConditionVariableSleep(&share->changed, gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
	ConditionVariableCancelSleep();
}

bool
cuda_share_take_over(CudaCard *card)
{
	CudaShare *share = card->share;

	if (share == NULL || card->stage >= CUDA_ALONE)
		return true;
	sort_share_note_overflow(&share->base);
	cuda_leave(card);
	cuda_share_wait_for_none(&share->base, &share->nfeeding);
	card->stage = CUDA_ALONE;
	return cuda_share_is_alive(card);
}

/* ---------------------------------------------------------------- the others */

/*
 * Counts this process among those that feed the job; false: it is too late, and all are to leave it.  Who
 * joins when some row has found no room sees that, and who did so before is counted.
 */
static bool
enter_job(CudaShare *share)
{
	bool overflowed;

	SpinLockAcquire(&share->base.mutex);
	share->nfeeding++;
	overflowed = share->base.overflowed;
	SpinLockRelease(&share->base.mutex);
	return !overflowed;
}

/* Connects this process to the job; false: it can't, and feeds nothing. */
static bool
join_job(CudaCard *card)
{
	const char *why_not;

	if (!gpu_client_open(&card->client, &why_not))
		return false;
	card->client.wait_arg = &card->wait;
	card->wait.event = GPUSORT_WAIT_FEED;
	return gpusortd_join(&card->client, card->share->number, card->share->token);
}

CudaCard *
cuda_join(Sorter *whole, const SortKey *key, TupleDesc complete_rows)
{
	CudaCard *card = cuda_card_create(whole, key);

	card->share = (CudaShare *) whole->share;
	card->request.desc = complete_rows;
	if (!enter_job(card->share) || !join_job(card))
	{
		card->share->incomplete = true;
		cuda_leave(card);
	}
	return card;
}
