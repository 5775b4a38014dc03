/*
 * feed.c
 *		Giving chunks to gpusortd, up to the sort.
 *
 * A chunk is the caller's from gpusortd_take_chunk to gpusortd_submit_chunk, and gpusortd's from there to its
 * CHUNK_FREE, which is read when somebody waits for one.  Of a chunk that was refused the contents stay,
 * until the caller says that it has them elsewhere.
 */
#include <string.h>

#include "daemon/client/messages.h"

int
gpusortd_take_chunk(GpusortdClient *client)
{
	GpusortdAnswer body;
	int chunk;

	while ((chunk = gpusortd_find_idle_chunk(client)) < 0 && client->refused == 0)
	{
		if (client->submitted == 0)
		{
			(void) gpusortd_fail(client, GPUSORTD_INVALID, "all chunks are taken");
			return -1;
		}
		if (!gpusortd_receive_expected(client, GPUSORTD_CHUNK_FREE, &body))
			return -1;
	}
	if (client->refused > 0)
	{
		(void) gpusortd_fail(client, GPUSORTD_MEMORY_FULL, "the device's memory is full");
		return -1;
	}
	client->chunk[chunk] = GPUSORTD_CHUNK_TAKEN;
	return chunk;
}

static bool
note_submitted(GpusortdClient *client, int chunk)
{
	client->chunk[chunk] = GPUSORTD_CHUNK_SUBMITTED;
	client->submitted++;
	return true;
}

bool
gpusortd_submit_chunk(GpusortdClient *client, int chunk, uint64_t rows, uint64_t front, uint64_t back)
{
	GpusortdSubmit submit = {(uint32_t) chunk, 0, rows, front, back};

	return gpusortd_send_message(client, GPUSORTD_SUBMIT, &submit) && note_submitted(client, chunk);
}

bool
gpusortd_submit_ranks(GpusortdClient *client, int chunk, uint32_t offset, uint64_t first, uint64_t codes)
{
	GpusortdRanks ranks = {(uint32_t) chunk, offset, first, codes};

	return gpusortd_send_message(client, GPUSORTD_RANKS, &ranks) && note_submitted(client, chunk);
}

bool
gpusortd_flush(GpusortdClient *client)
{
	GpusortdAnswer body;

	while (client->submitted > 0)
	{
		if (!gpusortd_receive_expected(client, GPUSORTD_CHUNK_FREE, &body))
			return false;
	}
	return true;
}

void
gpusortd_forget_refused(GpusortdClient *client)
{
	for (uint32_t i = 0; i < client->job.chunks; i++)
	{
		if (client->chunk[i] == GPUSORTD_CHUNK_REFUSED)
			client->chunk[i] = GPUSORTD_CHUNK_IDLE;
	}
	client->refused = 0;
}

bool
gpusortd_perform(GpusortdClient *client)
{
	GpusortdPerform perform = {0};
	GpusortdAnswer body;

	if (!gpusortd_flush(client))
		return false;
	if (client->refused > 0)
		return gpusortd_fail(client, GPUSORTD_MEMORY_FULL, "the device's memory is full");
	if (!gpusortd_send_message(client, GPUSORTD_PERFORM, &perform) ||
		!gpusortd_receive_expected(client, GPUSORTD_SORTED, &body))
		return false;
	client->sorted = body.sorted;
	/* Nothing is being filled any more: all chunks are for windows. */
	memset(client->chunk, 0, sizeof(client->chunk));
	return true;
}
