/*
 * service/state.h
 *		The state of gpusortd as the launcher reports it to the server's processes.
 */
#ifndef GPUSORT_SERVICE_STATE_H
#define GPUSORT_SERVICE_STATE_H

#include "postgres.h"

#include "datatype/timestamp.h"

#include "daemon/protocol/protocol.h"

typedef enum GpuServicePhase
{
	GPU_SERVICE_UNBORN,	  /* the launcher has not started yet */
	GPU_SERVICE_STARTING, /* gpusortd runs, but has not answered yet */
	GPU_SERVICE_READY,	  /* gpusortd has answered */
	GPU_SERVICE_ENDING,	  /* gpusortd was told to end */
	GPU_SERVICE_WAITING,  /* gpusortd has ended, and will be restarted at next_start */
	GPU_SERVICE_OFF		  /* there is no gpusortd until the configuration is changed and reloaded */
} GpuServicePhase;

typedef struct GpuServiceState
{
	GpuServicePhase phase;
	TimestampTz next_start; /* in phase WAITING */
	char reason[320];		/* the reason for this phase, in words; empty in phases STARTING and READY */

	bool silent;		  /* gpusortd did not answer a backend, and has not answered since then */
	int devices;		  /* number of devices by the last answer */
	uint64 device_memory; /* the most bytes that sorts may use on one GPU; 0: not known */
} GpuServiceState;

/* The shared memory of the state (monitor/shared_memory.c). */
extern Size gpu_service_shmem_size(void);
extern void gpu_service_shmem_init(void);

/*
 * Is there a service with a device that answers?  The function only reads the shared state, so the result may
 * be some seconds old.
 */
extern bool gpu_service_ready(void);

/* Returns the most bytes of memory that sorts may use on one GPU; 0: not known. */
extern uint64 gpu_service_device_memory(void);

/* Did gpusortd not answer a backend, and has it not answered since then? */
extern bool gpu_service_silent(void);

/* gpusortd did not answer.  The launcher greets it at once, and no backend connects until it answers. */
extern void gpu_service_note_silence(void);

/*
 * Returns the present state.  False: there is no launcher, because the library was not loaded by
 * shared_preload_libraries.
 */
extern bool gpu_service_state(GpuServiceState *state);

/*
 * Returns why there is no GPU, in words, in the current memory context. otherwise: the result if gpusortd is
 * ready by the shared state.
 */
extern const char *gpu_service_why_not(const char *otherwise);

/* Only for the launcher: sets this process as the one to wake when gpusortd must be greeted. */
extern void gpu_service_set_launcher(void);

/* Only for the launcher: gpusortd has answered. welcome: its devices; NULL: the answer had none. */
extern void gpu_service_note_answer(const GpusortdWelcome *welcome);

/*
 * Only for the launcher: a phase begins.  next_start_ms: milliseconds until the next start, in phase WAITING.
 * reason: "" if there is no reason.
 */
extern void gpu_service_enter_phase(GpuServicePhase phase, int next_start_ms, const char *reason);

#endif /* GPUSORT_SERVICE_STATE_H */
