/*
 * device/cuda/feed.c
 *		The cuda device's way of rows to gpusortd: the connection, the job, and its chunks.
 *
 * A sort has a connection of its own.  The chunks are memory of the service that is mapped here while there
 * is a job; a filled one goes off at once and comes back empty, or refused if the device's memory is full.
 * Refused chunks are copied before the job ends, as its memory goes with it, and submitted again to the next
 * one.
 *
 * Waiting for a job ends after queue_patience, and waiting for anything at an interrupt.  A chunk that
 * gpusortd refuses for want of memory is no failure by itself: spill.c makes room.
 */
#include "postgres.h"

#include <limits.h>

#include "utils/memutils.h"

#include "base/guc.h"
#include "base/stopwatch.h"
#include "device/cuda/sorter.h"
#include "monitor/counters.h"

/* Even a service that has memory takes some milliseconds to answer. */
#define QUEUE_TIMEOUT_MIN_MS 100

/* So long a small sort waits all the same: in that time what idle sorts have can be moved out of its way. */
#define PATIENCE_MIN_MS 250

/* And so long for the device itself, whose first sorts of a size take their time to find memory for it. */
#define BEGIN_MIN_MS 2000

/* ---------------------------------------------------------------- connection */

bool
cuda_connect(CudaSorter *sorter)
{
	const char *why_not;

	if (!sorter->further && gpu_client_count() >= gpusort_max_device_sorts)
		return cuda_fail(sorter, SORT_FAILURE_LIMIT,
						 psprintf("gpusort.max_device_sorts allows a session %d sorts on devices at a time",
								  gpusort_max_device_sorts));
	if (!gpu_client_open(&sorter->client, &why_not))
		return cuda_fail(sorter, SORT_FAILURE_NO_SERVICE, why_not);
	sorter->client.wait_arg = &sorter->wait;
	if (sorter->further)
		gpu_client_note_further(&sorter->client);
	return true;
}

/* ---------------------------------------------------------------- job */

/* From now on it waits for this, and not longer than so many milliseconds. */
static void
set_patience(CudaSorter *sorter, GpuSortWait event, double milliseconds)
{
	sorter->wait.event = event;
	sorter->wait.deadline =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), (int) Min(milliseconds, INT_MAX));
}

/* A step of beginning has failed: because it took too long, or for a reason of its own. */
static bool
fail_to_begin(CudaSorter *sorter, SortFailureReason too_long, const char *message)
{
	if (sorter->client.code == GPUSORTD_DISCONNECTED && GetCurrentTimestamp() >= sorter->wait.deadline)
		return cuda_fail(sorter, too_long, message);
	return cuda_client_failed(sorter);
}

/* ---------------------------------------------------------------- waiting for other sorts */

/*
 * How long it may wait in the queue, in milliseconds: no longer than the cpu device would take.  So a wait is
 * never in vain for long; and it has an end though the deadlock detector knows nothing of it, for those who
 * have the memory may wait for a lock of this process.
 */
static double
queue_patience(const CudaSorter *sorter)
{
	double patience = Max(sorter->request.cpu_ms, PATIENCE_MIN_MS);
	int timeout = guc_queue_timeout();

	if (timeout >= 0)
		patience = Min(patience, Max(timeout, QUEUE_TIMEOUT_MIN_MS));
	return patience;
}

/* How long that took is told apart. */
static bool
wait_in_queue(CudaSorter *sorter)
{
	Stopwatch watch = stopwatch_start();
	double waited;
	bool admitted;

	if (!sorter->client.queued)
		return true;
	set_patience(sorter, GPUSORT_WAIT_QUEUE, queue_patience(sorter));
	admitted = gpusortd_wait_in_queue(&sorter->client);
	waited = stopwatch_ms(watch);
	sorter->stats.queue_ms += waited;
	stats_count_wait(sort_device_cuda.name, waited, admitted);
	return admitted || fail_to_begin(sorter, SORT_FAILURE_MEMORY, "other sorts have the device's memory");
}

/* ---------------------------------------------------------------- job */

/*
 * A step in which the device itself has something to do, as the job is its first of a size, may take as long
 * as the cpu device would for the sort, or for a moment if that is more.
 */
static bool
wait_for_device(CudaSorter *sorter, bool (*step)(CudaSorter *))
{
	set_patience(sorter, GPUSORT_WAIT_BEGIN, Max(sorter->request.cpu_ms, BEGIN_MIN_MS));
	return step(sorter) ||
		   fail_to_begin(sorter, SORT_FAILURE_DISCONNECTED, "the device takes too long to begin");
}

static bool
ask_for_job(CudaSorter *sorter)
{
	return gpusortd_ask(&sorter->client, &sorter->estimate);
}

static bool
receive_job(CudaSorter *sorter)
{
	return gpusortd_receive_job(&sorter->client);
}

/* Which GPU it is, for EXPLAIN. */
static bool
note_card(CudaSorter *sorter)
{
	const GpusortdClient *client = &sorter->client;

	if (client->job.device >= client->welcome.devices)
		return cuda_fail(sorter, SORT_FAILURE_PROTOCOL, "gpusortd has chosen a device that it does not have");
	sorter->card = client->welcome.device[client->job.device].number;
	return true;
}

/*
 * If this process itself has another sort there, or another part of this one, which may be what it would wait
 * for, it doesn't wait in the queue.  A sort that spills goes on in the place of its last job, and waits for
 * nobody, unless that place was given to others while the run was being written.
 */
bool
cuda_begin_job(CudaSorter *sorter)
{
	cuda_forget_window(sorter);
	sorter->client.never_queue = sorter->external == NULL && (sorter->further || gpu_client_count() > 1);
	if (!wait_for_device(sorter, ask_for_job) || !wait_in_queue(sorter) ||
		!wait_for_device(sorter, receive_job))
		return false;
	sorter->wait.deadline = 0;
	sorter_stats_note_memory(&sorter->stats, sorter->client.memory_bytes);
	return note_card(sorter);
}

/* ---------------------------------------------------------------- chunks */

int
cuda_take_chunk(CudaSorter *sorter, bool *is_full)
{
	int number;

	sorter->wait.event = GPUSORT_WAIT_FEED;
	number = gpusortd_take_chunk(&sorter->client);
	*is_full = number < 0 && sorter->client.refused > 0;
	if (number < 0 && !*is_full)
		(void) cuda_client_failed(sorter);
	return number;
}

Chunk *
cuda_open_chunk(CudaSorter *sorter, int number)
{
	Chunk *chunk = &sorter->chunks[number];

	chunk->next = NULL;
	chunk->base = gpusortd_chunk(&sorter->client, number);
	chunk->size = sorter->client.job.chunk_bytes;
	chunk->max_rows = PG_UINT64_MAX;
	chunk_set_layout(chunk, sorter->key);
	chunk_reset(chunk);
	return chunk;
}

bool
cuda_submit_chunk(CudaSorter *sorter, Chunk *chunk)
{
	sorter->wait.event = GPUSORT_WAIT_FEED;
	if (!gpusortd_submit_chunk(&sorter->client, chunk - sorter->chunks, chunk->nrows, chunk->front,
							   chunk->back))
		return cuda_client_failed(sorter);
	sorter->stats.bytes_in += chunk->front + chunk->size - chunk->back;
	return true;
}

/* ---------------------------------------------------------------- refused chunks */

static void
keep_refused(CudaSorter *sorter, const Chunk *chunk)
{
	Chunk *copy = MemoryContextAllocZero(sorter->context, sizeof(Chunk));

	*copy = *chunk;
	/* no more of its memory is touched than the rows take */
	copy->base = MemoryContextAllocHuge(sorter->context, chunk->size);
	chunk_reset(copy);
	chunk_copy(copy, chunk);
	copy->next = sorter->refused;
	sorter->refused = copy;
	sorter->stats.bytes_in -= chunk->front + chunk->size - chunk->back;
}

void
cuda_free_chunk(Chunk *chunk)
{
	pfree(chunk->base);
	pfree(chunk);
}

bool
cuda_flush(CudaSorter *sorter)
{
	Size copied = 0;

	sorter->wait.event = GPUSORT_WAIT_FEED;
	if (!gpusortd_flush(&sorter->client))
		return cuda_client_failed(sorter);
	for (int i = 0; i < GPUSORTD_MAX_CHUNKS; i++)
	{
		if (sorter->client.chunk[i] == GPUSORTD_CHUNK_REFUSED)
			keep_refused(sorter, &sorter->chunks[i]);
	}
	gpusortd_forget_refused(&sorter->client);
	for (const Chunk *chunk = sorter->refused; chunk != NULL; chunk = chunk->next)
		copied += chunk->size;
	sorter_stats_note_memory(&sorter->stats, sorter->client.memory_bytes + copied);
	return true;
}

bool
cuda_submit_refused(CudaSorter *sorter)
{
	while (sorter->refused != NULL)
	{
		Chunk *from = sorter->refused;
		bool is_full;
		int number = cuda_take_chunk(sorter, &is_full);
		Chunk *to;

		if (number < 0)
			return is_full;
		to = cuda_open_chunk(sorter, number);
		if (to->size != from->size)
			return cuda_fail(sorter, SORT_FAILURE_PROTOCOL, "gpusortd changed the size of its chunks");
		chunk_copy(to, from);
		if (!cuda_submit_chunk(sorter, to))
			return false;
		sorter->refused = from->next;
		cuda_free_chunk(from);
	}
	return true;
}
