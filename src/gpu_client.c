/*
 * gpu_client.c
 *		A backend's connection to gpusortd.
 *
 * The protocol is in cuda/daemon/client.c, which knows nothing of PostgreSQL.  Here is how a backend waits: for the socket and for its
 * latch together, so that a cancel, a timeout or the postmaster's death ends the wait at once.  The descriptor of the socket is counted with
 * those that PostgreSQL keeps from its own use.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "gpu_client.h"

/* Milliseconds until then; -1: there is no such time. */
static long
milliseconds_left(const TimestampTz *deadline)
{
	return deadline == NULL ? -1 : TimestampDifferenceMilliseconds(GetCurrentTimestamp(), *deadline);
}

/* Waits for the socket, at most until the time that arg points to, if it points to one. */
static bool
wait_for_socket(void *arg, int fd, bool for_writing)
{
	int			wanted = for_writing ? WL_SOCKET_WRITEABLE : WL_SOCKET_READABLE;

	for (;;)
	{
		long		timeout = milliseconds_left(arg);
		int			events;

		if (timeout == 0)
			return false;
		events = WaitLatchOrSocket(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | wanted | (timeout > 0 ? WL_TIMEOUT : 0),
								   fd, timeout, PG_WAIT_EXTENSION);
		if (events & WL_LATCH_SET)
			ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (events & wanted)
			return true;
	}
}

bool
gpu_client_connect(GpusortdClient *client, int timeout_ms, const char **why_not)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);
	bool		connected;

	if (!AcquireExternalFD())
	{
		*why_not = "this process has too many files open";
		return false;
	}
	PG_TRY();
	{
		connected = gpusortd_connect(client, GPU_CLIENT_SOCKET, wait_for_socket, &deadline);
	}
	PG_CATCH();
	{
		gpusortd_close(client);
		ReleaseExternalFD();
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (!connected)
	{
		*why_not = pstrdup(client->message);
		gpusortd_close(client);
		ReleaseExternalFD();
		return false;
	}
	client->wait_arg = NULL;
	return true;
}

void
gpu_client_close(GpusortdClient *client)
{
	if (client->fd < 0)
		return;
	gpusortd_close(client);
	ReleaseExternalFD();
}
