/*
 * service/state.c
 *		What the server's processes know about gpusortd, by way of the launcher.
 *
 * It stands in shared memory; the launcher alone writes to it.
 */
#include "postgres.h"

#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#include "service/state.h"

typedef struct SharedState
{
	slock_t mutex;
	GpuServiceState service;
} SharedState;

static SharedState *shared; /* NULL: not loaded by shared_preload_libraries */
Size
gpu_service_shmem_size(void)
{
	return MAXALIGN(sizeof(SharedState));
}

void
gpu_service_shmem_init(void)
{
	bool found;

	shared = ShmemInitStruct("gpusort service", sizeof(SharedState), &found);
	if (found)
		return;
	memset(shared, 0, sizeof(SharedState));
	SpinLockInit(&shared->mutex);
	shared->service.since = GetCurrentTimestamp();
}

bool
gpu_service_state(GpuServiceState *state)
{
	if (shared == NULL)
		return false;
	SpinLockAcquire(&shared->mutex);
	*state = shared->service;
	SpinLockRelease(&shared->mutex);
	return true;
}

void
gpu_service_enter_phase(GpuServicePhase phase, int pid, int next_start_ms, const char *reason)
{
	GpuServiceState *service = &shared->service;
	TimestampTz now = GetCurrentTimestamp();

	SpinLockAcquire(&shared->mutex);
	service->phase = phase;
	service->pid = pid;
	service->starts += phase == GPU_SERVICE_STARTING;
	service->since = now;
	service->next_start = TimestampTzPlusMilliseconds(now, next_start_ms);
	strlcpy(service->reason, reason, sizeof(service->reason));
	SpinLockRelease(&shared->mutex);
}
