/*
 * service/state.h
 *		What the server's processes know about gpusortd, by way of the launcher.
 */
#ifndef GPUSORT_SERVICE_STATE_H
#define GPUSORT_SERVICE_STATE_H

#include "postgres.h"

#include "datatype/timestamp.h"

#include "daemon/protocol/protocol.h"

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
	TimestampTz next_start; /* in phase WAITING */
	char reason[320];		/* for this phase, in words; empty in phases STARTING and READY */

	bool silent;		  /* it did not answer somebody, and has not answered since */
	int devices;		  /* as it said when it was asked last */
	uint64 device_memory; /* bytes that sorts may use on the GPU with the most of it; 0: not known */
} GpuServiceState;

/* The shared memory of it (monitor/shared_memory.c). */
extern Size gpu_service_shmem_size(void);
extern void gpu_service_shmem_init(void);

/*
 * Is there a service with a device, that answers?  As far as is known here: nobody is asked, so the answer
 * may be some seconds old.
 */
extern bool gpu_service_ready(void);

/* Bytes of memory that sorts may use on the GPU with the most of it; 0: not known. */
extern uint64 gpu_service_device_memory(void);

/*
 * As long as this is true from now on, the two above say what they say first: by that all joins and sorts of
 * a query are planned.
 */
extern void gpu_service_hold(const bool *as_long_as);

/* Did it fail to answer somebody, and has not answered since? */
extern bool gpu_service_silent(void);

/* It did not answer; the launcher will ask it at once, and until it answers nobody else need try. */
extern void gpu_service_note_silence(void);

/* What is known now.  False: nothing, for there is no launcher, as the library was loaded otherwise. */
extern bool gpu_service_state(GpuServiceState *state);

/*
 * Why there is no GPU, in words, in the current memory context; otherwise: what to say if gpusortd is ready
 * as far as is known here.
 */
extern const char *gpu_service_why_not(const char *otherwise);

/* Of the launcher alone: this process is to be woken when there is something to be asked. */
extern void gpu_service_set_launcher(void);

/* Of the launcher alone: it has answered; welcome: its devices, NULL: it did not say. */
extern void gpu_service_note_answer(const GpusortdWelcome *welcome);

/*
 * Of the launcher alone: a phase begins.  next_start_ms: until the next start, in phase WAITING; reason: ""
 * if there is none to tell.
 */
extern void gpu_service_enter_phase(GpuServicePhase phase, int next_start_ms, const char *reason);

#endif /* GPUSORT_SERVICE_STATE_H */
