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
 * The socket of gpusortd, relative to the data directory, which is the working directory of all server
 * processes.  Base backups and pg_rewind leave the contents of pg_stat_tmp out; sockets elsewhere in the data
 * directory confuse pg_rewind.
 */
#define GPU_CLIENT_SOCKET "pg_stat_tmp/gpusort.sock"

/*
 * Initializes *client, connects and greets, within timeout_ms milliseconds; then client->welcome has the
 * devices.  False: the connection is closed, and *why_not is the reason, in the current memory context.
 * Checks for interrupts.
 *
 * Afterwards the client waits for the socket together with this process's latch, without a limit, and checks
 * for interrupts.  The caller must call gpu_client_close, also after errors.
 */
extern bool gpu_client_connect(GpusortdClient *client, int timeout_ms, const char **why_not);

/* How a client waits.  The client's wait_arg may point to such a struct while the connection is open. */
typedef struct GpuClientWait
{
	TimestampTz deadline; /* the client gives up at this time; 0: never */
	GpuSortWait event;	  /* what pg_stat_activity shows */
} GpuClientWait;

/*
 * Connects for a sort, within GPU_CLIENT_TIMEOUT_MS.  If the service did not answer a backend, it counts as
 * missing until it has answered the launcher.  Therefore not every sort waits for it.
 */
extern bool gpu_client_open(GpusortdClient *client, const char **why_not);

/* Returns the number of sorts of this process with connections. */
extern int gpu_client_count(void);

/* Sets whether this connection is a further one of its sort, which is not counted. */
extern void gpu_client_set_further(GpusortdClient *client, bool further);

/* Closes the connection.  It may be called at any time, also repeatedly. */
extern void gpu_client_close(GpusortdClient *client);

#endif /* GPUSORT_SERVICE_CONNECTION_H */
