/*
 * device/cuda/parallel_feed.c
 *		The cuda device with several processes that feed one sort.
 *
 * Each process has a connection of its own to a job of gpusortd, and chunks of its own; the first process
 * begins the job and performs it.  What the processes share is the job's number and token, and how many feed
 * it.
 *
 * When the device's memory is full, each process comes to hear of it: its chunk is refused, or it sees that
 * another's was.  Then it leaves the job and closes its connection.  The rows that were refused, and all that
 * it reads later, it sorts into runs of its own (apart), which the first process merges with its own.  So
 * does a process that can't connect or join.  The first process waits for all to have left before it performs
 * what is on the device into a run, for rows of a process that still fed would be lost with the job; they
 * wait for nobody.
 *
 * If all are to read the result, who is through keeps its connection, and reads by it what the first process
 * has had sorted.
 */
#include "postgres.h"

#include "storage/spin.h"
#include "utils/memutils.h"

#include "base/wait_events.h"
#include "device/cuda/sorter.h"

/* ---------------------------------------------------------------- what all of them do */

bool
cuda_share_is_alive(CudaSorter *sorter)
{
	SortShare *share = sorter->job != NULL ? sorter->whole->share : NULL;
	SortFailureReason reason;
	char message[sizeof(share->failure)];

	if (sorter->failure != NULL)
		return false;
	if (share == NULL || !share->failed)
		return true;
	SpinLockAcquire(&share->mutex);
	reason = share->failure_reason;
	strlcpy(message, share->failure, sizeof(message));
	SpinLockRelease(&share->mutex);
	return cuda_fail(sorter, reason, message);
}

void
cuda_share_leave(CudaSorter *sorter)
{
	if (cuda_helps(sorter) && sorter->stage < CUDA_LEFT && sorter->client.in_job && sorter->failure == NULL)
		(void) cuda_flush(sorter);
	cuda_leave(sorter);
}

/* All are to leave the job.  Who joins it from now on sees that, and who did so before is counted. */
static void
note_overflow(CudaSorter *sorter)
{
	SortShare *share = sorter->whole->share;

	SpinLockAcquire(&share->mutex);
	sorter->job->overflowed = true;
	SpinLockRelease(&share->mutex);
}

Chunk *
cuda_try_chunk(CudaSorter *sorter, Size at_least)
{
	bool is_full;
	int number;

	if (!cuda_share_is_alive(sorter))
		return NULL;
	if (sorter->job != NULL && sorter->job->overflowed)
		cuda_share_leave(sorter);
	if (sorter->stage >= CUDA_LEFT || at_least > sorter->client.job.chunk_bytes)
		return NULL;
	number = cuda_take_chunk(sorter, &is_full);
	if (number >= 0)
		return cuda_open_chunk(sorter, number);
	if (is_full && sorter->job != NULL)
	{
		note_overflow(sorter);
		cuda_share_leave(sorter);
	}
	return NULL;
}

/* ---------------------------------------------------------------- rows for which there is no room */

/* A sorter that makes runs of this process's rows, for the first process. */
static void
begin_apart(CudaSorter *sorter)
{
	CudaShare *share = cuda_share(sorter);
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	SortRequest request = {.key = sorter->key,
						   .desc = sorter->request.desc,
						   .complete_rows = sorter->request.desc != NULL,
						   .memory_limit = share->memory,
						   .files = &share->files};

	SpinLockAcquire(&share->base.mutex);
	request.process = cuda_first_apart(sorter) + sorter->job->napart++;
	SpinLockRelease(&share->base.mutex);
	share->incomplete = true;
	sorter->apart = sort_device_cpu.begin(&request);
	MemoryContextSwitchTo(old);
}

static void
put_refused_apart(CudaSorter *sorter)
{
	while (sorter->refused != NULL)
	{
		Chunk *from = sorter->refused;
		Chunk *to;

		if (sorter->apart == NULL)
			begin_apart(sorter);
		to = sort_device_cpu.get_chunk(sorter->apart, 0, from->size);
		chunk_copy(to, from);
		sort_device_cpu.put_chunk(sorter->apart, 0, to);
		sorter->refused = from->next;
		cuda_free_chunk(from);
	}
}

Chunk *
cuda_apart_chunk(CudaSorter *sorter, Size at_least)
{
	Chunk *chunk = cuda_try_chunk(sorter, at_least);

	if (chunk != NULL || sorter->failure != NULL)
		return chunk;
	put_refused_apart(sorter);
	if (sorter->apart == NULL)
		begin_apart(sorter);
	return sort_device_cpu.get_chunk(sorter->apart, 0, at_least);
}

/* ---------------------------------------------------------------- the end of the feed */

/* The first process has its refused rows submitted again by itself. */
void
cuda_end_feed(CudaSorter *sorter)
{
	CudaShare *share = cuda_share(sorter);

	if (!cuda_share_is_alive(sorter) || (sorter->stage < CUDA_LEFT && !cuda_flush(sorter)) || share == NULL)
		return;
	if (sorter->refused != NULL)
		note_overflow(sorter);
	cuda_leave(sorter);
	if (!cuda_helps(sorter))
		return;
	SpinLockAcquire(&share->base.mutex);
	share->bytes_in += sorter->stats.bytes_in;
	SpinLockRelease(&share->base.mutex);
}

void
cuda_end_apart(CudaSorter *sorter)
{
	if (!cuda_helps(sorter) || sorter->failure != NULL)
		return;
	put_refused_apart(sorter);
	if (sorter->apart != NULL)
		sort_device_cpu.finish_feed(sorter->apart);
}

/* ---------------------------------------------------------------- reading together */

/* Sorts, in the first process, for all. */
static void
sort_for_all(CudaSorter *sorter)
{
	CudaShare *share = cuda_share(sorter);

	if (!cuda_share_is_alive(sorter) || !cuda_sort_job(sorter))
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
		   !share->incomplete && !sorter->job->overflowed;
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
	sorter->whole->together = sorter->nrows = sorter->range_end = share->nrows;
	sorter->position = -1;
	return true;
}

/* ---------------------------------------------------------------- the first process */

void
cuda_let_join(CudaSorter *sorter, int part)
{
	CudaJob *job = &((CudaShare *) sorter->whole->share)->jobs[part];

	job->number = sorter->client.job.job;
	job->token = sorter->client.job.token;
	sorter->job = job;
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
cuda_share_take_over(CudaSorter *sorter)
{
	if (sorter->job == NULL || sorter->stage >= CUDA_ALONE)
		return true;
	note_overflow(sorter);
	cuda_leave(sorter);
	cuda_share_wait_for_none(sorter->whole->share, &sorter->job->nfeeding);
	sorter->stage = CUDA_ALONE;
	return cuda_share_is_alive(sorter);
}

/* ---------------------------------------------------------------- the others */

/* Counts this process among those that feed the job; false: it is too late, and all are to leave it. */
static bool
enter_job(CudaSorter *sorter)
{
	SortShare *share = sorter->whole->share;
	bool overflowed;

	SpinLockAcquire(&share->mutex);
	sorter->job->nfeeding++;
	overflowed = sorter->job->overflowed;
	SpinLockRelease(&share->mutex);
	return !overflowed;
}

/* Connects this process to the job; false: it can't, and feeds nothing. */
static bool
join_job(CudaSorter *sorter)
{
	const char *why_not;

	if (!gpu_client_open(&sorter->client, &why_not))
		return false;
	sorter->client.wait_arg = &sorter->wait;
	sorter->wait.event = GPUSORT_WAIT_FEED;
	return gpusortd_join(&sorter->client, sorter->job->number, sorter->job->token);
}

CudaSorter *
cuda_join(Sorter *whole, int part, const SortKey *key, TupleDesc complete_rows)
{
	CudaSorter *sorter = cuda_sorter_create(whole, key);

	sorter->job = &((CudaShare *) whole->share)->jobs[part];
	sorter->request.desc = complete_rows;
	if (!enter_job(sorter) || !join_job(sorter))
	{
		cuda_share(sorter)->incomplete = true;
		cuda_leave(sorter);
	}
	return sorter;
}
