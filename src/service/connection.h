/*
 * service/connection.h
 *		A backend's connection to gpusortd.
 */
#ifndef GPUSORT_SERVICE_CONNECTION_H
#define GPUSORT_SERVICE_CONNECTION_H

#include "postgres.h"

#include "utils/timestamp.h"

#include "base/wait_events.h"
#include "daemon/client/client.h"

/*
 * Where gpusortd listens, from the data directory, in which all server processes work.  Base backups and
 * pg_rewind leave the contents of that folder out; sockets elsewhere in the data directory confuse pg_rewind.
 */
#define GPU_CLIENT_SOCKET "pg_stat_tmp/gpusort.sock"

/*
 * Makes *client, connects and greets, within so many milliseconds; client->welcome tells the devices then.
 * False, and nothing is left open: *why_not is the reason, in the current memory context.  Checks for
 * interrupts.
 *
 * Afterwards the client waits for the socket together with this process's latch for as long as it takes, and
 * checks for interrupts; the caller sees to it that gpu_client_close is called on errors too.
 */
extern bool gpu_client_connect(GpusortdClient *client, int timeout_ms, const char **why_not);

/* How a client waits; its wait_arg may point to one, for as long as it is open. */
typedef struct GpuClientWait
{
	TimestampTz deadline; /* gives up then; 0: never */
	GpuSortWait event;	  /* what pg_stat_activity shows */
} GpuClientWait;

/*
 * The same for a sort, which has no use for a service that is slow to answer: within GPU_CLIENT_TIMEOUT_MS.
 * A service that did not answer somebody counts as not there until it has answered the launcher, so that not
 * each sort waits for it.
 */
extern bool gpu_client_open(GpusortdClient *client, const char **why_not);

/* How many sorts have connections in this process. */
extern int gpu_client_count(void);

/* Is this connection, if it is open, not the one of its sort that counts? */
extern void gpu_client_set_further(GpusortdClient *client, bool further);

/* Closes the connection; at any time, also again. */
extern void gpu_client_close(GpusortdClient *client);

#endif /* GPUSORT_SERVICE_CONNECTION_H */
