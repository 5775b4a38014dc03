/*
 * fetch.c
 *		Getting the result from gpusortd, window by window.
 *
 * All idle chunks are on their way with the next windows, while the caller reads the last one.  Another
 * direction, or another place, makes what was asked for ahead useless: it is received, and dropped.
 */
#include "daemon/client/messages.h"

static bool
ask_for_window(GpusortdClient *client, uint64_t position)
{
	int chunk = gpusortd_find_idle_chunk(client);
	GpusortdFetch fetch = {(uint32_t) chunk, client->backward, position};

	if (!gpusortd_send_message(client, GPUSORTD_FETCH, &fetch))
		return false;
	client->chunk[chunk] = GPUSORTD_CHUNK_FETCHING;
	client->fetching++;
	return true;
}

static bool
receive_window(GpusortdClient *client, GpusortdRows *window)
{
	GpusortdAnswer body;

	if (!gpusortd_receive_expected(client, GPUSORTD_ROWS, &body))
		return false;
	if (body.rows.chunk >= client->job.chunks || client->chunk[body.rows.chunk] != GPUSORTD_CHUNK_FETCHING ||
		body.rows.bytes > client->job.chunk_bytes)
		return gpusortd_fail(client, GPUSORTD_PROTOCOL_ERROR,
							 "gpusortd returned rows that it was not asked for");
	client->fetching--;
	client->chunk[body.rows.chunk] = GPUSORTD_CHUNK_IDLE;
	*window = body.rows;
	return true;
}

bool
gpusortd_drop_windows(GpusortdClient *client)
{
	GpusortdRows dropped;

	while (client->fetching > 0)
	{
		if (!receive_window(client, &dropped))
			return false;
	}
	return true;
}

/* Forgets the windows that were asked for ahead, and asks for the one at another place. */
static bool
turn(GpusortdClient *client, bool backward, uint64_t position)
{
	if (!gpusortd_drop_windows(client))
		return false;
	if (position == GPUSORTD_NEXT && client->streaming)
		position = client->window.first + (backward ? 0 : client->window.rows);
	client->backward = backward;
	client->streaming = true;
	return ask_for_window(client, position);
}

bool
gpusortd_fetch(GpusortdClient *client, bool backward, uint64_t position, GpusortdRows *window)
{
	bool jumps = client->streaming && position != GPUSORTD_NEXT;

	/* The last window is no longer needed. */
	if (client->streaming && client->chunk[client->window.chunk] == GPUSORTD_CHUNK_TAKEN)
		client->chunk[client->window.chunk] = GPUSORTD_CHUNK_IDLE;
	if ((position != GPUSORTD_NEXT || !client->streaming || backward != client->backward) &&
		!turn(client, backward, position))
		return false;
	/* who reads here and there drops what is asked for ahead, and waits for it */
	while (!jumps && gpusortd_find_idle_chunk(client) >= 0)
	{
		if (!ask_for_window(client, GPUSORTD_NEXT))
			return false;
	}
	if (!receive_window(client, &client->window))
		return false;
	client->chunk[client->window.chunk] = GPUSORTD_CHUNK_TAKEN;
	*window = client->window;
	return true;
}
