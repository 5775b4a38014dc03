/*
 * service/restart.h
 *		The time at which gpusortd is restarted after it has ended.
 */
#ifndef GPUSORT_SERVICE_RESTART_H
#define GPUSORT_SERVICE_RESTART_H

#include "postgres.h"

#define GPU_RESTART_FIRST_DELAY_MS 1000 /* after a failure of gpusortd itself */

/* The state from one end of gpusortd to the next. */
typedef struct GpuRestart
{
	/* delay after the next failure of gpusortd itself; GPU_RESTART_FIRST_DELAY_MS at first */
	int next_delay_ms;
	int struck_early; /* ends from outside since gpusortd was last ready */
} GpuRestart;

/* An end of gpusortd. */
typedef struct GpuEnd
{
	int status;			/* the status from waitpid */
	bool hung;			/* the launcher killed gpusortd because it did not answer */
	double since_start; /* milliseconds */
	double since_ready; /* milliseconds; negative: gpusortd was never ready */
} GpuEnd;

/* Returns the milliseconds from this end to the next start. */
extern int gpu_restart_delay(GpuRestart *restart, const GpuEnd *end);

/* Returns the milliseconds to the next start if gpusortd could not be started. */
extern int gpu_restart_failed_delay(GpuRestart *restart);

#endif /* GPUSORT_SERVICE_RESTART_H */
