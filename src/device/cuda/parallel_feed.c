/*
 * device/cuda/parallel_feed.c
 *		The cuda device with several processes that feed one sort.
 *
 * Each process has a connection of its own to gpusortd, and chunks of its own; their rows go to one job,
 * which the first process begins and performs.  What the processes share is who is how far, and the job's
 * number and token.
 *
 * When the device's memory is full, each process comes to hear of it: its chunk is refused, or it sees that
 * another's was.  Then it leaves the job: it keeps the rows that were refused, to be returned through the
 * Gather, closes its connection and says that it is through.  The first process waits for that before it
 * performs what is on the device into a run, for rows of a process that still fed would be lost with the job.
 * It never waits for a process that waits for it: who has left needs it only to return rows, and who has not
 * returns none.
 *
 * A process that can't connect or join feeds nothing, and returns all of its rows through the Gather.
 *
 * If all are to read the result, who is through keeps its connection, and reads by it what the first process
 * has had sorted.
 */
#include "postgres.h"

#include "storage/spin.h"
#include "utils/memutils.h"

#include "device/cuda/sorter.h"

/* ---------------------------------------------------------------- what all of them do */

bool
cuda_share_is_alive(CudaSorter *sorter)
{
	SortShare *share = sorter->base.share;
	SortFailureReason reason;
	char message[sizeof(share->failure)];

	if (sorter->base.failure != NULL)
		return false;
	if (share == NULL || !share->failed)
		return true;
	SpinLockAcquire(&share->mutex);
	reason = share->failure_reason;
	strlcpy(message, share->failure, sizeof(message));
	SpinLockRelease(&share->mutex);
	return cuda_fail(sorter, reason, message);
}

/* This process feeds the job no more: once the service has looked at its chunks, if it can still be asked. */
static void
leave(CudaSorter *sorter)
{
	if (cuda_helps(sorter) && sorter->stage < CUDA_LEFT && sorter->client.in_job &&
		sorter->base.failure == NULL)
		(void) cuda_flush(sorter);
	cuda_leave(sorter);
}

void
cuda_share_leave(CudaSorter *sorter)
{
	if (cuda_helps(sorter))
		leave(sorter);
}

Chunk *
cuda_try_chunk(CudaSorter *sorter, Size at_least)
{
	SortShare *share = sorter->base.share;
	bool is_full;
	int number;

	if (!cuda_share_is_alive(sorter))
		return NULL;
	if (share != NULL && share->overflowed)
		leave(sorter);
	if (sorter->stage >= CUDA_LEFT || at_least > sorter->client.job.chunk_bytes)
		return NULL;
	number = cuda_take_chunk(sorter, &is_full);
	if (number >= 0)
		return cuda_open_chunk(sorter, number);
	if (is_full && share != NULL)
	{
		(void) sort_share_note_overflow(share);
		leave(sorter);
	}
	return NULL;
}

/* The first process has its refused rows submitted again by itself. */
void
cuda_finish_feed(Sorter *base, bool others_pass)
{
	CudaSorter *sorter = (CudaSorter *) base;
	CudaShare *share = cuda_share(sorter);

	if (!cuda_share_is_alive(sorter))
		return;
	if (sorter->stage < CUDA_LEFT && !cuda_flush(sorter))
		return;
	if (share == NULL)
		return;
	if (sorter->refused != NULL)
		(void) sort_share_note_overflow(&share->base);
	if (share->read_jointly && !share->base.overflowed)
		cuda_note_through(sorter);
	else
		leave(sorter);
}

/* ---------------------------------------------------------------- reading together */

/* Sorts, in the first process, for all. */
static void
sort_for_all(CudaSorter *sorter)
{
	CudaShare *share = cuda_share(sorter);

	if (!cuda_share_finish(sorter) || !cuda_sort_job(sorter))
		return;
	sorter->stage = CUDA_SORTED;
	share->nrows = sorter->nrows;
	share->is_sorted = true;
}

/*
 * Is all that was fed on the device, and can all processes read it there?  Waits for them to be through.  All
 * get the same answer, for those who do not take part in what follows would be waited for: the first process
 * may have failed to sort before another one asks.
 */
static bool
can_be_read_together(CudaSorter *sorter)
{
	CudaShare *share = cuda_share(sorter);

	return share != NULL && share->read_jointly && sort_share_wait_all_fed(&share->base) &&
		   !share->incomplete;
}

bool
cuda_sort_together(CudaSorter *sorter)
{
	CudaShare *share = cuda_share(sorter);

	if (!can_be_read_together(sorter))
		return false;
	if (!cuda_helps(sorter))
		sort_for_all(sorter);
	sort_share_meet(&share->base);
	if (!cuda_share_is_alive(sorter) || !share->is_sorted)
		return false;
	sorter->base.together = sorter->nrows = sorter->range_end = share->nrows;
	sorter->position = -1;
	return true;
}

/* ---------------------------------------------------------------- the first process */

void
cuda_share_create(CudaSorter *sorter, bool read_jointly)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	CudaShare *share =
		(CudaShare *) sort_share_create(sizeof(CudaShare) + sizeof(SortBound), sizeof(CudaShare), 1);

	MemoryContextSwitchTo(old);
	if (share == NULL)
		return;
	share->base.on_gpu = true;
	share->read_jointly = read_jointly;
	share->job = sorter->client.job.job;
	share->token = sorter->client.job.token;
	sorter->base.share = &share->base;
}

bool
cuda_enter(CudaSorter *sorter)
{
	sorter->process = sort_share_enter(sorter->base.share);
	return sorter->process >= 0;
}

bool
cuda_share_take_over(CudaSorter *sorter)
{
	SortShare *share = sorter->base.share;

	if (share == NULL || sorter->stage >= CUDA_ALONE)
		return true;
	(void) sort_share_note_overflow(share);
	leave(sorter);
	sort_share_wait_others(share);
	sorter->stage = CUDA_ALONE;
	return cuda_share_is_alive(sorter);
}

/* All processes are through with the input. */
bool
cuda_share_finish(CudaSorter *sorter)
{
	const SortShare *share = sorter->base.share;

	if (!cuda_share_is_alive(sorter))
		return false;
	if (share == NULL)
		return true;
	if (share->nfed != share->nentered)
		elog(ERROR, "gpusort: a process left a parallel sort before it had passed on its rows");
	sorter->stats.processes = Max(share->nentered, sorter->stats.processes);
	sorter->stats.bytes_in += cuda_share(sorter)->bytes_in;
	return true;
}

/* ---------------------------------------------------------------- the others */

/* Connects this process to the job; false: it can't, and feeds nothing. */
static bool
join_job(CudaSorter *sorter)
{
	const char *why_not;

	if (!gpu_client_open(&sorter->client, &why_not))
		return false;
	sorter->client.wait_arg = &sorter->wait;
	sorter->wait.event = GPUSORT_WAIT_FEED;
	return gpusortd_join(&sorter->client, cuda_share(sorter)->job, cuda_share(sorter)->token);
}

CudaSorter *
cuda_join(SortShare *share, const SortKey *key)
{
	int process = sort_share_enter(share);
	CudaSorter *sorter;

	if (process < 0)
		return NULL;
	sorter = cuda_sorter_create(key);
	sorter->base.bound = share->bound;
	sorter->base.share = share;
	sorter->process = process;
	/* overflowed: the first process sets it before it looks who has entered */
	if (share->overflowed || !join_job(sorter))
	{
		cuda_share(sorter)->incomplete = true;
		leave(sorter);
	}
	return sorter;
}

/* A part that takes no rows of this process: it returns them through the Gather. */
static CudaSorter *
create_part_not_fed(const SortKey *key)
{
	CudaSorter *part = cuda_sorter_create(key);

	part->stage = CUDA_LEFT;
	return part;
}

CudaSorter *
cuda_join_part(const ArenaHandle *handle, const SortKey *key)
{
	SortShare *share = sort_share_attach(handle);
	CudaSorter *part = share != NULL ? cuda_join(share, key) : NULL;

	return part != NULL ? part : create_part_not_fed(key);
}

/* The i-th row of a chunk, whose keys are of this kind. */
static MinimalTuple
chunk_row(const Chunk *chunk, const SortKey *key, uint64 i)
{
	Size entry_size = chunk_entry_size(key->width, true);
	char *place = chunk->base + *(const uint64 *) (chunk->base + (i + 1) * entry_size - sizeof(uint64));

	return key->variable ? record_row(place) : (MinimalTuple) place;
}

MinimalTuple
cuda_take_back(Sorter *base)
{
	CudaSorter *sorter = (CudaSorter *) base;
	Chunk *chunk;

	if (!cuda_helps(sorter))
		return NULL;
	while ((chunk = sorter->refused) != NULL && sorter->taken_back == chunk->nrows)
	{
		sorter->refused = chunk->next;
		sorter->taken_back = 0;
		cuda_free_chunk(chunk);
	}
	return chunk != NULL ? chunk_row(chunk, sorter->key, sorter->taken_back++) : NULL;
}
