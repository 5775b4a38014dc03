/*
 * service/connection.c
 *		A backend's connection to gpusortd.
 *
 * The protocol is in cuda/daemon/client/, which knows nothing of PostgreSQL.  Here is how a backend waits:
 * for the socket and for its latch together, so that a cancel, a timeout or the postmaster's death ends the
 * wait at once.  The descriptor of the socket is counted with those that PostgreSQL keeps from its own use.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/timestamp.h"

#include "base/wait_events.h"
#include "service/connection.h"
#include "service/state.h"

/* Greeting takes a service that is well less than a millisecond. */
#define GPU_CLIENT_TIMEOUT_MS 1000

static int connections; /* that this process has, of those that count */

/* Milliseconds until then; -1: there is no such time. */
static long
milliseconds_left(TimestampTz deadline)
{
	return deadline == 0 ? -1 : TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
}

/* Waits for the socket as arg says, a GpuClientWait or NULL. */
static bool
wait_for_socket(void *arg, int fd, bool for_writing)
{
	static const GpuClientWait plain = {0, GPUSORT_WAIT_CONNECT};
	const GpuClientWait *how = arg != NULL ? arg : &plain;
	uint32 event = gpusort_wait_event(how->event);
	int wanted = for_writing ? WL_SOCKET_WRITEABLE : WL_SOCKET_READABLE;

	for (;;)
	{
		long timeout = milliseconds_left(how->deadline);
		int events;

		if (timeout == 0)
			return false;
		events =
			WaitLatchOrSocket(MyLatch,
							  WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | wanted | (timeout > 0 ? WL_TIMEOUT : 0),
							  fd, timeout, event);
		if (events & WL_LATCH_SET)
			ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (events & wanted)
			return true;
	}
}

/* Where gpusortd is known not to serve, that says more than what came of the attempt. */
static const char *
why_not_connected(const GpusortdClient *client, TimestampTz deadline)
{
	return gpu_service_why_not(milliseconds_left(deadline) == 0 ? "gpusortd does not answer"
																: client->message);
}

bool
gpu_client_connect(GpusortdClient *client, int timeout_ms, const char **why_not)
{
	GpuClientWait until = {TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms),
						   GPUSORT_WAIT_CONNECT};
	bool connected = false;

	if (!AcquireExternalFD())
	{
		*why_not = "this process has too many files open";
		return false;
	}
	PG_TRY();
	{
		connected = gpusortd_connect(client, GPU_CLIENT_SOCKET, wait_for_socket, &until);
	}
	PG_FINALLY();
	{
		if (!connected)
		{
			gpusortd_close(client);
			ReleaseExternalFD();
		}
	}
	PG_END_TRY();
	client->wait_arg = NULL;
	connections += connected;
	if (!connected)
		*why_not = why_not_connected(client, until.deadline);
	return connected;
}

void
gpu_client_close(GpusortdClient *client)
{
	if (client->fd < 0)
		return;
	gpu_client_set_further(client, true);
	gpusortd_close(client);
	ReleaseExternalFD();
	client->further = false;
}

void
gpu_client_set_further(GpusortdClient *client, bool further)
{
	if (client->fd < 0)
		return;
	connections += client->further - further;
	client->further = further;
}

int
gpu_client_count(void)
{
	return connections;
}

bool
gpu_client_open(GpusortdClient *client, const char **why_not)
{
	TimestampTz start = GetCurrentTimestamp();

	*why_not = "gpusortd does not answer";
	if (gpu_service_silent())
		return false;
	if (!gpu_client_connect(client, GPU_CLIENT_TIMEOUT_MS, why_not))
	{
		if (TimestampDifferenceExceeds(start, GetCurrentTimestamp(), GPU_CLIENT_TIMEOUT_MS))
			gpu_service_note_silence();
		return false;
	}
	if (client->welcome.devices == 0)
	{
		*why_not = "gpusortd has no device";
		gpu_client_close(client);
		return false;
	}
	return true;
}
