/*
 * service/state.h
 *		What the server's processes know about gpusortd, by way of the launcher.
 */
#ifndef GPUSORT_SERVICE_STATE_H
#define GPUSORT_SERVICE_STATE_H

#include "postgres.h"

#include "datatype/timestamp.h"

typedef enum GpuServicePhase
{
	GPU_SERVICE_UNBORN,	  /* the launcher has not come to it yet */
	GPU_SERVICE_STARTING, /* gpusortd runs, but has not answered yet */
	GPU_SERVICE_READY,	  /* it has */
	GPU_SERVICE_ENDING,	  /* it was told to end */
	GPU_SERVICE_WAITING,  /* it has ended, and is started again at next_start */
	GPU_SERVICE_OFF		  /* there is none, until the configuration is changed and loaded again */
} GpuServicePhase;

typedef struct GpuServiceState
{
	GpuServicePhase phase;
	int pid;				/* of gpusortd; 0: it does not run */
	int64 starts;			/* how often it was started since the server was */
	TimestampTz since;		/* when the phase began */
	TimestampTz next_start; /* in phase WAITING */
	char reason[320];		/* for this phase, in words; empty in phases STARTING and READY */
} GpuServiceState;

/* The shared memory of it (monitor/shared_memory.c). */
extern Size gpu_service_shmem_size(void);
extern void gpu_service_shmem_init(void);

/* What is known now.  False: nothing, for there is no launcher, as the library was loaded otherwise. */
extern bool gpu_service_state(GpuServiceState *state);

/*
 * Of the launcher alone: a phase begins.  next_start_ms: until the next start, in phase WAITING; reason: ""
 * if there is none to tell.
 */
extern void gpu_service_enter_phase(GpuServicePhase phase, int pid, int next_start_ms, const char *reason);

#endif /* GPUSORT_SERVICE_STATE_H */
