/*
 * device/cuda/feed.c
 *		The cuda device's way of rows to gpusortd: the connection, the job, and its chunks.
 *
 * A sort has a connection of its own.  The chunks are memory of the service that is mapped here while there
 * is a job; a filled one goes off at once and comes back empty, or refused if the device's memory is full.
 * The rows of a refused chunk are copied to the next place (place.h) before the job ends, as the chunk's
 * memory goes with the job.
 *
 * The connection is closed, and with it all ended that the service does for the sort, by a callback of a
 * memory context: after errors, too.  A chunk that gpusortd refuses for want of memory is no failure.
 */
#include "postgres.h"

#include <limits.h>

#include "utils/memutils.h"

#include "base/guc.h"
#include "base/spin.h"
#include "base/stopwatch.h"
#include "device/cuda/on_card.h"
#include "monitor/counters.h"
#include "service/state.h"

/* Even a service that has memory takes some milliseconds to answer. */
#define QUEUE_TIMEOUT_MIN_MS 100

/* So long a small sort waits all the same: in that time what idle sorts have can be moved out of its way. */
#define PATIENCE_MIN_MS 250

/* And so long for the device itself, whose first sorts of a size take their time to find memory for it. */
#define BEGIN_MIN_MS 2000

/* ---------------------------------------------------------------- failure */

static SortFailureReason
failure_reason(GpusortdCode code)
{
	switch (code)
	{
		case GPUSORTD_DISCONNECTED:
		case GPUSORTD_JOB_OVER:
			return SORT_FAILURE_DISCONNECTED;
		case GPUSORTD_DEVICE_LOST:
			return SORT_FAILURE_DEVICE_LOST;
		case GPUSORTD_MEMORY_FULL:
		case GPUSORTD_STAGING_FULL:
		case GPUSORTD_NO_RESOURCES:
			return SORT_FAILURE_MEMORY;
		default:
			return SORT_FAILURE_PROTOCOL;
	}
}

void
cuda_leave(CudaCard *card)
{
	CudaShare *share = card->share;

	if (card->stage >= CUDA_LEFT)
		return;
	card->stage = CUDA_LEFT;
	if (!cuda_has_joined(card))
		return;
	if (!share->read_jointly || share->base.overflowed)
		gpu_client_close(&card->client);
	SpinLockAcquire(&share->base.mutex);
	share->nfeeding--;
	SpinLockRelease(&share->base.mutex);
	ConditionVariableBroadcast(&share->base.changed);
}

bool
cuda_fail(CudaCard *card, SortFailureReason reason, const char *message)
{
	Sorter *sorter = &card->base;

	if (sorter->failure == NULL)
		sorter_fail(sorter, reason, MemoryContextStrdup(card->context, message));
	if (!card->replaceable)
		sorter_fail(card->whole, sorter->failure_reason, sorter->failure);
	if (card->share != NULL)
		sort_share_fail(&card->share->base, sorter->failure_reason, sorter->failure);
	cuda_leave(card);
	return false;
}

bool
cuda_client_failed(CudaCard *card)
{
	return cuda_fail(card, failure_reason(card->client.code), card->client.message);
}

/* ---------------------------------------------------------------- connection */

bool
cuda_connect(CudaCard *card)
{
	const char *why_not;

	if (!card->further && gpu_client_count() >= gpusort_max_device_sorts)
		return cuda_fail(card, SORT_FAILURE_LIMIT,
						 psprintf("gpusort.max_device_sorts allows a session %d sorts on devices at a time",
								  gpusort_max_device_sorts));
	if (!gpu_client_open(&card->client, &why_not))
		return cuda_fail(card, SORT_FAILURE_NO_SERVICE, why_not);
	card->client.wait_arg = &card->wait;
	if (card->further)
		gpu_client_set_further(&card->client, true);
	return true;
}

/* ---------------------------------------------------------------- job */

/* From now on it waits for this, and not longer than so many milliseconds. */
static void
set_patience(CudaCard *card, GpuSortWait event, double milliseconds)
{
	card->wait.event = event;
	card->wait.deadline =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), (int) Min(milliseconds, INT_MAX));
}

/*
 * Has a step of beginning succeeded?  Else the card fails: as it took too long, or for a reason of its own.
 */
static bool
check_step(CudaCard *card, bool done, SortFailureReason too_long, const char *message)
{
	if (done)
		return true;
	if (card->client.code == GPUSORTD_DISCONNECTED && GetCurrentTimestamp() >= card->wait.deadline)
		return cuda_fail(card, too_long, message);
	return cuda_client_failed(card);
}

/*
 * How long it may wait in the queue, in milliseconds: no longer than the cpu device would take.  So a wait is
 * never in vain for long; and it has an end though the deadlock detector knows nothing of it, for those who
 * have the memory may wait for a lock of this process.
 */
static double
queue_patience(const CudaCard *card)
{
	double patience = Max(card->request.expected.cpu_ms, PATIENCE_MIN_MS);
	int timeout = guc_queue_timeout();

	if (timeout >= 0)
		patience = Min(patience, Max(timeout, QUEUE_TIMEOUT_MIN_MS));
	return patience;
}

/* How long that took is told apart. */
static bool
wait_in_queue(CudaCard *card)
{
	Stopwatch watch = stopwatch_start();
	double waited;
	bool admitted;

	if (!card->client.queued)
		return true;
	set_patience(card, GPUSORT_WAIT_QUEUE, queue_patience(card));
	admitted = gpusortd_wait_in_queue(&card->client);
	waited = stopwatch_ms(watch);
	card->stats.queue_ms += waited;
	stats_count_wait(device_names[DEVICE_CUDA], waited, admitted);
	return check_step(card, admitted, SORT_FAILURE_MEMORY, "other sorts have the device's memory");
}

/*
 * A step in which the device itself has something to do, as the job is its first of a size, may take as long
 * as the cpu device would for the sort, or for a moment if that is more.
 */
static bool
wait_for_device(CudaCard *card, bool is_admitted)
{
	GpusortdClient *client = &card->client;

	set_patience(card, GPUSORT_WAIT_BEGIN, Max(card->request.expected.cpu_ms, BEGIN_MIN_MS));
	return check_step(card,
					  is_admitted ? gpusortd_receive_job(client) : gpusortd_ask(client, &card->estimate),
					  SORT_FAILURE_DISCONNECTED, "the device takes too long to begin");
}

/*
 * If this process itself has another sort there, or another part of this one, which may be what it would wait
 * for, it doesn't wait in the queue.  A sort that spills goes on in the place of its last job, and waits for
 * nobody, unless that place was given to others while the run was being written.
 */
bool
cuda_begin_job(CudaCard *card)
{
	cuda_forget_window(card);
	card->client.never_queue = card->external == NULL && (card->further || gpu_client_count() > 1);
	if (!wait_for_device(card, false) || !wait_in_queue(card) || !wait_for_device(card, true))
		return false;
	card->wait.deadline = 0;
	card->has_refused = false;
	sorter_stats_note_memory(&card->stats, card->client.memory_bytes);
	return true;
}

bool
cuda_join_job(CudaCard *card)
{
	const char *why_not;

	if (!gpu_client_open(&card->client, &why_not))
		return false;
	card->client.wait_arg = &card->wait;
	card->wait.event = GPUSORT_WAIT_FEED;
	return gpusortd_join(&card->client, card->share->number, card->share->token);
}

/* ---------------------------------------------------------------- chunks */

static Chunk *
open_chunk(CudaCard *card, int number)
{
	Chunk *chunk = &card->chunks[number];

	chunk->place = &card->place;
	chunk->base = gpusortd_chunk(&card->client, number);
	chunk->size = card->client.job.chunk_bytes;
	chunk->max_rows = PG_UINT64_MAX;
	chunk_set_layout(chunk, card->coded != NULL ? card->coded : card->key);
	chunk_reset(chunk);
	return chunk;
}

Chunk *
cuda_take_chunk(CudaCard *card)
{
	int number = gpusortd_take_chunk(&card->client);

	if (number >= 0)
		return open_chunk(card, number);
	if (card->client.refused == 0)
		(void) cuda_client_failed(card);
	return NULL;
}

void
cuda_put_chunk(Chunk *chunk)
{
	CudaCard *card = (CudaCard *) chunk->place->owner;

	if (card->base.failure != NULL)
		return;
	card->wait.event = GPUSORT_WAIT_FEED;
	if (gpusortd_submit_chunk(&card->client, chunk - card->chunks, chunk->nrows, chunk->front, chunk->back))
		card->stats.bytes_in += chunk_bytes(chunk);
	else
		(void) cuda_client_failed(card);
}

/* The rows of a chunk that was refused go to the next place. */
static void
pass_on(CudaCard *card, const Chunk *chunk)
{
	Chunk *copy = places_take(card->place.next, 0, chunk_bytes(chunk));

	chunk_copy(copy, chunk);
	place_put(copy);
	card->stats.bytes_in -= chunk_bytes(chunk);
	card->has_refused = true;
}

bool
cuda_flush(CudaCard *card)
{
	card->wait.event = GPUSORT_WAIT_FEED;
	if (!gpusortd_flush(&card->client))
		return cuda_client_failed(card);
	for (int i = 0; i < GPUSORTD_MAX_CHUNKS; i++)
	{
		if (card->client.chunk[i] == GPUSORTD_CHUNK_REFUSED)
			pass_on(card, &card->chunks[i]);
	}
	gpusortd_forget_refused(&card->client);
	return true;
}
