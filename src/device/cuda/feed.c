/*
 * device/cuda/feed.c
 *		The cuda device's way of rows to gpusortd: the connection, the job, and its chunks.
 *
 * A sort has a connection of its own.  The chunks are memory of the service that is mapped here while there
 * is a job; a filled one goes off at once and comes back empty, or refused if the device's memory is full.
 * Refused chunks are copied before the job ends, as its memory goes with it, and submitted again to the next
 * one.
 *
 * The connection is closed, and with it all ended that the service does for the sort, by a callback of a
 * memory context: after errors, too.  A chunk that gpusortd refuses for want of memory is no failure by
 * itself: spill.c makes room.
 */
#include "postgres.h"

#include <limits.h>

#include "storage/spin.h"
#include "utils/memutils.h"

#include "base/guc.h"
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

/* ---------------------------------------------------------------- beginning */

static void
close_connection(void *arg)
{
	gpu_client_close(&((CudaCard *) arg)->client);
}

CudaCard *
cuda_card_create(Sorter *whole, const SortKey *key)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cuda device", ALLOCSET_DEFAULT_SIZES);
	CudaCard *card = MemoryContextAllocZero(context, sizeof(CudaCard));
	MemoryContextCallback *callback = MemoryContextAllocZero(context, sizeof(MemoryContextCallback));

	card->whole = whole;
	card->key = key;
	card->context = context;
	card->position = -1;
	card->client.fd = -1;
	card->stats.processes = 1;
	callback->func = close_connection;
	callback->arg = card;
	MemoryContextRegisterResetCallback(context, callback);
	return card;
}

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
	if (!cuda_helps(card))
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
	if (card->failure == NULL)
	{
		card->failure = MemoryContextStrdup(card->context, message);
		card->failure_reason = reason;
	}
	cuda_forget_place(card);
	if (card->share != NULL)
		sort_share_fail(&card->share->base, card->failure_reason, card->failure);
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

/* A step of beginning has failed: because it took too long, or for a reason of its own. */
static bool
fail_to_begin(CudaCard *card, SortFailureReason too_long, const char *message)
{
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
	double patience = Max(card->request.cpu_ms, PATIENCE_MIN_MS);
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
	stats_count_wait(sort_device_cuda.name, waited, admitted);
	return admitted || fail_to_begin(card, SORT_FAILURE_MEMORY, "other sorts have the device's memory");
}

/*
 * A step in which the device itself has something to do, as the job is its first of a size, may take as long
 * as the cpu device would for the sort, or for a moment if that is more.
 */
static bool
wait_for_device(CudaCard *card, bool (*step)(CudaCard *))
{
	set_patience(card, GPUSORT_WAIT_BEGIN, Max(card->request.cpu_ms, BEGIN_MIN_MS));
	return step(card) || fail_to_begin(card, SORT_FAILURE_DISCONNECTED, "the device takes too long to begin");
}

static bool
ask_for_job(CudaCard *card)
{
	return gpusortd_ask(&card->client, &card->estimate);
}

static bool
receive_job(CudaCard *card)
{
	return gpusortd_receive_job(&card->client);
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
	if (!wait_for_device(card, ask_for_job) || !wait_in_queue(card) || !wait_for_device(card, receive_job))
		return false;
	card->wait.deadline = 0;
	sorter_stats_note_memory(&card->stats, card->client.memory_bytes);
	return true;
}

/* ---------------------------------------------------------------- chunks */

int
cuda_take_chunk(CudaCard *card, bool *is_full)
{
	int number;

	card->wait.event = GPUSORT_WAIT_FEED;
	number = gpusortd_take_chunk(&card->client);
	*is_full = number < 0 && card->client.refused > 0;
	if (number < 0 && !*is_full)
		(void) cuda_client_failed(card);
	return number;
}

Chunk *
cuda_open_chunk(CudaCard *card, int number)
{
	Chunk *chunk = &card->chunks[number];

	chunk->next = NULL;
	chunk->base = gpusortd_chunk(&card->client, number);
	chunk->size = card->client.job.chunk_bytes;
	chunk->max_rows = PG_UINT64_MAX;
	chunk_set_layout(chunk, card->key);
	chunk_reset(chunk);
	return chunk;
}

bool
cuda_submit_chunk(CudaCard *card, Chunk *chunk)
{
	card->wait.event = GPUSORT_WAIT_FEED;
	if (!gpusortd_submit_chunk(&card->client, chunk - card->chunks, chunk->nrows, chunk->front, chunk->back))
		return cuda_client_failed(card);
	card->stats.bytes_in += chunk_bytes(chunk);
	return true;
}

/* ---------------------------------------------------------------- refused chunks */

static void
keep_refused(CudaCard *card, const Chunk *chunk)
{
	Chunk *copy = MemoryContextAllocZero(card->context, sizeof(Chunk));

	*copy = *chunk;
	/* no more of its memory is touched than the rows take */
	copy->base = MemoryContextAllocHuge(card->context, chunk->size);
	chunk_reset(copy);
	chunk_copy(copy, chunk);
	copy->next = card->refused;
	card->refused = copy;
	card->stats.bytes_in -= chunk_bytes(chunk);
}

void
cuda_free_first(Chunk **chunks)
{
	Chunk *first = *chunks;

	*chunks = first->next;
	pfree(first->base);
	pfree(first);
}

bool
cuda_flush(CudaCard *card)
{
	Size copied = 0;

	card->wait.event = GPUSORT_WAIT_FEED;
	if (!gpusortd_flush(&card->client))
		return cuda_client_failed(card);
	for (int i = 0; i < GPUSORTD_MAX_CHUNKS; i++)
	{
		if (card->client.chunk[i] == GPUSORTD_CHUNK_REFUSED)
			keep_refused(card, &card->chunks[i]);
	}
	gpusortd_forget_refused(&card->client);
	for (const Chunk *chunk = card->refused; chunk != NULL; chunk = chunk->next)
		copied += chunk->size;
	sorter_stats_note_memory(&card->stats, card->client.memory_bytes + copied);
	return true;
}

bool
cuda_submit_refused(CudaCard *card)
{
	while (card->refused != NULL)
	{
		Chunk *from = card->refused;
		bool is_full;
		int number = cuda_take_chunk(card, &is_full);
		Chunk *to;

		if (number < 0)
			return is_full;
		to = cuda_open_chunk(card, number);
		if (to->size != from->size)
			return cuda_fail(card, SORT_FAILURE_PROTOCOL, "gpusortd changed the size of its chunks");
		chunk_copy(to, from);
		if (!cuda_submit_chunk(card, to))
			return false;
		cuda_free_first(&card->refused);
	}
	return true;
}
