/*
 * service/state.c
 *		What the server's processes know about gpusortd, by way of the launcher.
 *
 * It stands in shared memory, so that the planner needs nothing else: it must not wait for gpusortd.  The
 * launcher writes to it what gpusortd answers; a backend, that it got no answer.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "base/spin.h"
#include "service/state.h"

typedef struct SharedState
{
	slock_t mutex;
	Latch *launcher; /* of the launcher's process, or what was one; NULL: there was none yet */
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

bool
gpu_service_ready(void)
{
	GpuServiceState service;

	return gpu_service_state(&service) && service.phase == GPU_SERVICE_READY && !service.silent &&
		   service.devices > 0;
}

uint64
gpu_service_device_memory(void)
{
	GpuServiceState service;

	return gpu_service_state(&service) ? service.device_memory : 0;
}

bool
gpu_service_silent(void)
{
	return shared != NULL && shared->service.silent;
}

void
gpu_service_note_silence(void)
{
	Latch *launcher;

	if (shared == NULL)
		return;
	SpinLockAcquire(&shared->mutex);
	shared->service.silent = true;
	launcher = shared->launcher;
	SpinLockRelease(&shared->mutex);
	if (launcher != NULL)
		SetLatch(launcher);
}

/* ---------------------------------------------------------------- in words */

/* Seconds from now until then, rounded up. */
static long
seconds_until(TimestampTz then)
{
	return (TimestampDifferenceMilliseconds(GetCurrentTimestamp(), then) + 999) / 1000;
}

/* gpusortd is started by the server alone, and only where that has loaded the library. */
const char *
gpu_service_why_not(const char *otherwise)
{
	GpuServiceState service;

	if (!gpu_service_state(&service))
		return "gpusort is not in shared_preload_libraries, therefore no gpusortd is started";
	switch (service.phase)
	{
		case GPU_SERVICE_UNBORN:
			return "the gpusort launcher has not started yet; if it never does, max_worker_processes is too low";
		case GPU_SERVICE_STARTING:
			return "gpusortd is starting";
		case GPU_SERVICE_READY:
			break;
		case GPU_SERVICE_ENDING:
			return psprintf("gpusortd is ending: %s", service.reason);
		case GPU_SERVICE_WAITING:
			return psprintf("gpusortd %s; it is restarted in %ld s", service.reason,
							seconds_until(service.next_start));
		case GPU_SERVICE_OFF:
			return pstrdup(service.reason);
	}
	return pstrdup(otherwise);
}

/* ---------------------------------------------------------------- the launcher */

void
gpu_service_set_launcher(void)
{
	SpinLockAcquire(&shared->mutex);
	shared->launcher = MyLatch;
	SpinLockRelease(&shared->mutex);
}

void
gpu_service_note_answer(const GpusortdWelcome *welcome)
{
	int devices = welcome != NULL ? Min(welcome->devices, GPUSORTD_MAX_DEVICES) : 0;
	uint64 memory = 0;

	for (int i = 0; i < devices; i++)
		memory = Max(memory, welcome->device[i].limit_bytes);
	SpinLockAcquire(&shared->mutex);
	shared->service.silent = false;
	if (welcome != NULL)
	{
		shared->service.devices = devices;
		shared->service.device_memory = memory;
	}
	SpinLockRelease(&shared->mutex);
}

void
gpu_service_enter_phase(GpuServicePhase phase, int next_start_ms, const char *reason)
{
	GpuServiceState *service = &shared->service;
	TimestampTz next_start = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), next_start_ms);

	SpinLockAcquire(&shared->mutex);
	service->phase = phase;
	service->next_start = next_start;
	strlcpy(service->reason, reason, sizeof(service->reason));
	SpinLockRelease(&shared->mutex);
}
