/*
 * service/watchdog.h
 *		Is there anybody at gpusortd's socket?
 */
#ifndef GPUSORT_SERVICE_WATCHDOG_H
#define GPUSORT_SERVICE_WATCHDOG_H

#include "postgres.h"

#include "base/stopwatch.h"
#include "daemon/protocol/protocol.h"

typedef enum GpuWatchdogAnswer
{
	GPU_WATCHDOG_NOT_ASKED, /* this process, or the kernel, lacks what a question takes */
	GPU_WATCHDOG_NOT_YET,	/* no answer so far */
	GPU_WATCHDOG_ANSWERED,
	GPU_WATCHDOG_NO_SOCKET /* nobody listens, or there is not even a socket */
} GpuWatchdogAnswer;

typedef struct GpuWatchdog
{
	bool asking;	 /* a question is open */
	Stopwatch since; /* when it was asked, or answered */
	int fd;			 /* where the answer will come; -1: to be asked once more, at first too */
	Size received;	 /* bytes of the answer */
	struct
	{
		GpusortdHeader header;
		GpusortdWelcome welcome;
	} answer;
} GpuWatchdog;

/*
 * Asks, unless a question is open, and looks for the answer, which others then know by state.h.  Never waits.
 * Of a question that could not be asked no time counts: it says nothing about gpusortd.
 */
extern GpuWatchdogAnswer gpu_watchdog_ask(GpuWatchdog *watchdog);

/* Forgets a question. */
extern void gpu_watchdog_reset(GpuWatchdog *watchdog);

#endif /* GPUSORT_SERVICE_WATCHDOG_H */
