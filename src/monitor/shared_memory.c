/*
 * monitor/shared_memory.c
 *		What the processes of a server share for the views and the launcher.
 *
 * Only a library in shared_preload_libraries can have a part of the server's shared memory.  Loaded in any
 * other way, there is none, and the views show a session what it did itself.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "memory/huge_page_costs.h"
#include "memory/keep.h"
#include "monitor/counters.h"
#include "monitor/progress.h"
#include "monitor/shared_memory.h"
#include "service/state.h"

static shmem_request_hook_type prev_shmem_request_hook;
static shmem_startup_hook_type prev_shmem_startup_hook;

static void
request_memory(void)
{
	if (prev_shmem_request_hook != NULL)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(stats_shmem_size());
	RequestAddinShmemSpace(progress_shmem_size());
	RequestAddinShmemSpace(huge_page_costs_shmem_size());
	RequestAddinShmemSpace(gpu_service_shmem_size());
	keep_shmem_request();
}

static void
set_up_memory(void)
{
	if (prev_shmem_startup_hook != NULL)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	stats_shmem_init();
	progress_shmem_init();
	huge_page_costs_shmem_init();
	gpu_service_shmem_init();
	keep_shmem_init();
	LWLockRelease(AddinShmemInitLock);
}

void
shared_memory_install_hooks(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = set_up_memory;
}
