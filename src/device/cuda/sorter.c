/*
 * device/cuda/sorter.c
 *		The cuda device's sorter as such: how it begins, fails and lets go.
 *
 * The connection is closed, and with it all ended that the service does for the sort, by a callback of the
 * sorter's memory context: after errors, too.
 */
#include "postgres.h"

#include "storage/spin.h"
#include "utils/memutils.h"

#include "device/cuda/sorter.h"
#include "service/state.h"

static void
close_connection(void *arg)
{
	gpu_client_close(&((CudaSorter *) arg)->client);
}

CudaSorter *
cuda_sorter_create(Sorter *whole, const SortKey *key)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cuda device", ALLOCSET_DEFAULT_SIZES);
	CudaSorter *sorter = MemoryContextAllocZero(context, sizeof(CudaSorter));
	MemoryContextCallback *callback = MemoryContextAllocZero(context, sizeof(MemoryContextCallback));

	sorter->whole = whole;
	sorter->key = key;
	sorter->context = context;
	sorter->position = -1;
	sorter->client.fd = -1;
	sorter->stats.processes = 1;
	callback->func = close_connection;
	callback->arg = sorter;
	MemoryContextRegisterResetCallback(context, callback);
	return sorter;
}

void
cuda_leave(CudaSorter *sorter)
{
	SortShare *share = sorter->whole->share;

	if (sorter->stage >= CUDA_LEFT)
		return;
	sorter->stage = CUDA_LEFT;
	if (!cuda_helps(sorter))
		return;
	if (!cuda_share(sorter)->read_jointly || sorter->job->overflowed)
		gpu_client_close(&sorter->client);
	SpinLockAcquire(&share->mutex);
	sorter->job->nfeeding--;
	SpinLockRelease(&share->mutex);
	ConditionVariableBroadcast(&share->changed);
}

void
cuda_add_stats(SorterStats *stats, const SorterStats *more)
{
	if (stats->method == NULL || more->disk_bytes > 0)
		stats->method = more->method;
	stats->rows += more->rows;
	stats->bytes += more->bytes;
	stats->peak_memory += more->peak_memory;
	stats->disk_bytes += more->disk_bytes;
	stats->runs += more->runs;
	stats->merge_passes = Max(stats->merge_passes, more->merge_passes);
	stats->sort_ms += more->sort_ms;
	stats->spill_ms += more->spill_ms;
	stats->merge_ms += more->merge_ms;
	stats->processes = Max(stats->processes, more->processes);
	stats->device_memory += more->device_memory;
	stats->bytes_in += more->bytes_in;
	stats->bytes_out += more->bytes_out;
	stats->transfer_ms += more->transfer_ms;
	stats->gather_ms += more->gather_ms;
	stats->queue_ms += more->queue_ms;
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

bool
cuda_fail(CudaSorter *sorter, SortFailureReason reason, const char *message)
{
	if (sorter->failure == NULL)
	{
		sorter->failure = MemoryContextStrdup(sorter->context, message);
		sorter->failure_reason = reason;
	}
	if (sorter->failure_reason == SORT_FAILURE_MEMORY && !(sorter->further && !sorter->client.in_job))
		gpu_service_note_memory_short();
	cuda_forget_place(sorter);
	if (sorter->job != NULL)
		sort_share_fail(sorter->whole->share, sorter->failure_reason, sorter->failure);
	cuda_leave(sorter);
	return false;
}

bool
cuda_client_failed(CudaSorter *sorter)
{
	return cuda_fail(sorter, failure_reason(sorter->client.code), sorter->client.message);
}
