/*
 * service/watchdog.h
 *		Checks whether gpusortd answers at its socket.
 */
#ifndef GPUSORT_SERVICE_WATCHDOG_H
#define GPUSORT_SERVICE_WATCHDOG_H

#include "postgres.h"

#include "base/stopwatch.h"
#include "daemon/protocol/protocol.h"

typedef enum GpuWatchdogAnswer
{
	GPU_WATCHDOG_NOT_ASKED, /* this process, or the kernel, lacks resources for a greeting */
	GPU_WATCHDOG_NOT_YET,	/* no answer so far */
	GPU_WATCHDOG_ANSWERED,
	GPU_WATCHDOG_NO_SOCKET /* no process listens, or there is no socket */
} GpuWatchdogAnswer;

typedef struct GpuWatchdog
{
	bool asking;	 /* a greeting is open */
	Stopwatch since; /* time of the greeting, or of the answer */
	int fd;			 /* descriptor of the connection; -1: gpusortd must be greeted (again) */
	Size received;	 /* received bytes of the answer */
	struct
	{
		GpusortdHeader header;
		GpusortdWelcome welcome;
	} answer;
} GpuWatchdog;

/*
 * Greets gpusortd, unless a greeting is open, and looks for the answer, which it reports to state.h.  Never
 * waits.  If the greeting could not be sent, no time counts, because that says nothing about gpusortd.
 */
extern GpuWatchdogAnswer gpu_watchdog_ask(GpuWatchdog *watchdog);

/* Forgets an open greeting. */
extern void gpu_watchdog_reset(GpuWatchdog *watchdog);

#endif /* GPUSORT_SERVICE_WATCHDOG_H */
