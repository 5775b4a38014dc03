/*
 * service/restart.c
 *		When gpusortd is started again after it has ended.
 *
 * README.md has the rules: the delay doubles from one failure of its own to the next; what somebody else's
 * signal, or a socket that somebody has removed, has ended is started at once.
 */
#include "postgres.h"

#include <signal.h>
#include <sys/wait.h>

#include "daemon/protocol/protocol.h"
#include "service/restart.h"

#define LAST_DELAY_MS 60000
#define SERVED_LONG_MS 60000 /* after that the delays begin anew */
#define BETWEEN_STARTS_MS 500

/*
 * Did somebody else end it?  It ends with status 0 when a signal asks it to; signals that it does not handle,
 * but which are sent to end a process, end it without further ado.
 */
static bool
ended_from_outside(const GpuEnd *end)
{
	if (end->hung)
		return false;
	if (WIFEXITED(end->status))
		return WEXITSTATUS(end->status) == GPUSORTD_EXIT_ASKED;
	switch (WTERMSIG(end->status))
	{
		case SIGKILL:
		case SIGTERM:
		case SIGINT:
		case SIGQUIT:
		case SIGHUP:
			return true;
		default:
			return false;
	}
}

int
gpu_restart_failed_delay(GpuRestart *restart)
{
	int delay_ms = restart->next_delay_ms;

	restart->next_delay_ms = Min(delay_ms * 2, LAST_DELAY_MS);
	return delay_ms;
}

int
gpu_restart_delay(GpuRestart *restart, const GpuEnd *end)
{
	bool was_ready = end->since_ready >= 0;

	if (end->since_ready >= SERVED_LONG_MS)
		restart->next_delay_ms = GPU_RESTART_FIRST_DELAY_MS;
	if (was_ready)
		restart->struck_early = 0;
	if (!ended_from_outside(end) || (!was_ready && restart->struck_early++ > 0))
		return gpu_restart_failed_delay(restart);
	return Max(BETWEEN_STARTS_MS - (int) Min(end->since_start, BETWEEN_STARTS_MS), 0);
}
