/*
 * service/restart.h
 *		When gpusortd is started again after it has ended.
 */
#ifndef GPUSORT_SERVICE_RESTART_H
#define GPUSORT_SERVICE_RESTART_H

#include "postgres.h"

#define GPU_RESTART_FIRST_DELAY_MS 1000 /* after a failure of its own */

/* What is remembered from one end to the next. */
typedef struct GpuRestart
{
	int next_delay_ms; /* after the next failure of its own; GPU_RESTART_FIRST_DELAY_MS at first */
	int struck_early;  /* ends from outside since it was ready last */
} GpuRestart;

/* An end of gpusortd. */
typedef struct GpuEnd
{
	int status;			/* as waitpid gives it */
	bool hung;			/* the launcher killed it, as it did not answer */
	double since_start; /* milliseconds */
	double since_ready; /* milliseconds; negative: it has not been ready */
} GpuEnd;

/* Milliseconds from this end to the next start. */
extern int gpu_restart_delay(GpuRestart *restart, const GpuEnd *end);

/* The same where it could not even be started. */
extern int gpu_restart_failed_delay(GpuRestart *restart);

#endif /* GPUSORT_SERVICE_RESTART_H */
