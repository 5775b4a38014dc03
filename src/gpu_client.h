/*
 * gpu_client.h
 *		A backend's connection to gpusortd.
 */
#ifndef GPUSORT_GPU_CLIENT_H
#define GPUSORT_GPU_CLIENT_H

#include "postgres.h"

#include "client.h"

/*
 * Where gpusortd listens, from the data directory, in which all server processes work.  Base backups and pg_rewind leave the contents
 * of that folder out; sockets elsewhere in the data directory confuse pg_rewind.
 */
#define GPU_CLIENT_SOCKET "pg_stat_tmp/gpusort.sock"

/*
 * Makes *client, connects and greets, within so many milliseconds; client->welcome tells the devices then.  False, and nothing is left
 * open: *why_not is the reason, in the current memory context.  Checks for interrupts.
 *
 * Afterwards the client waits for the socket together with this process's latch for as long as it takes, and checks for
 * interrupts; the caller sees to it that gpu_client_close is called on errors too.
 */
extern bool gpu_client_connect(GpusortdClient *client, int timeout_ms, const char **why_not);

/* Closes the connection; at any time, also again. */
extern void gpu_client_close(GpusortdClient *client);

#endif							/* GPUSORT_GPU_CLIENT_H */
