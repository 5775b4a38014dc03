/*
 * client.c
 *		The client's side of gpusortd's protocol: connections, and the begin and end of a job; client.h says
 *		how it is used.
 *
 * feed.c gives chunks to gpusortd, fetch.c gets the result, messages.c sends and receives for all of them.
 * All that a client holds is in its struct: the socket, the mapped chunks, and a file that came with a
 * message.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/client/messages.h"

/* ---- connecting ---- */

static bool
open_socket(GpusortdClient *client, const char *socket_path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(socket_path) >= sizeof(address.sun_path))
		return gpusortd_fail(client, GPUSORTD_DISCONNECTED, "the path of gpusortd's socket is too long");
	strcpy(address.sun_path, socket_path);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (client->fd < 0 || connect(client->fd, (struct sockaddr *) &address, sizeof(address)) != 0)
		return gpusortd_fail_system(client, "could not connect to gpusortd");
	return true;
}

bool
gpusortd_connect(GpusortdClient *client, const char *socket_path, GpusortdWait wait, void *wait_arg)
{
	GpusortdHello hello = {0};
	GpusortdAnswer body;

	memset(client, 0, sizeof(*client));
	client->fd = -1;
	client->passed_fd = -1;
	client->wait = wait != NULL ? wait : gpusortd_wait_with_poll;
	client->wait_arg = wait_arg;
	if (!open_socket(client, socket_path) || !gpusortd_send_message(client, GPUSORTD_HELLO, &hello) ||
		!gpusortd_receive_expected(client, GPUSORTD_WELCOME, &body))
		return false;
	client->welcome = body.welcome;
	if (client->welcome.devices > GPUSORTD_MAX_DEVICES)
		return gpusortd_fail(client, GPUSORTD_PROTOCOL_ERROR, "gpusortd has too many devices");
	return true;
}

static void
unmap_chunks(GpusortdClient *client)
{
	if (client->memory != NULL)
		munmap(client->memory, client->memory_bytes);
	if (client->passed_fd >= 0)
		close(client->passed_fd);
	client->memory = NULL;
	client->passed_fd = -1;
	client->lost_file = false;
}

void
gpusortd_close(GpusortdClient *client)
{
	unmap_chunks(client);
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	client->in_job = false;
}

/* ---- beginning and ending a job ---- */

/* Maps the chunk memory that came with JOB. */
static bool
map_chunks(GpusortdClient *client)
{
	const GpusortdJob *job = &client->job;
	struct stat file;
	void *address;

	if (client->lost_file)
		return gpusortd_fail(client, GPUSORTD_NO_RESOURCES,
							 "this process has too many files open to receive gpusortd's chunk memory");
	if (job->chunks == 0 || job->chunks > GPUSORTD_MAX_CHUNKS ||
		job->chunk_bytes > GPUSORTD_MAX_CHUNK_BYTES || client->passed_fd < 0 ||
		fstat(client->passed_fd, &file) != 0 || (uint64_t) file.st_size < job->chunks * job->chunk_bytes)
		return gpusortd_fail(client, GPUSORTD_PROTOCOL_ERROR, "gpusortd sent no chunk memory");
	client->memory_bytes = job->chunks * job->chunk_bytes;
	address = mmap(NULL, client->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, client->passed_fd, 0);
	if (address == MAP_FAILED)
		return gpusortd_fail_system(client, "could not map gpusortd's chunk memory");
	client->memory = address;
	close(client->passed_fd);
	client->passed_fd = -1;
	return true;
}

static void
reset_job(GpusortdClient *client)
{
	unmap_chunks(client);
	memset(client->chunk, 0, sizeof(client->chunk));
	client->submitted = client->refused = client->fetching = 0;
	client->streaming = client->in_job = client->queued = false;
	memset(&client->job, 0, sizeof(client->job));
	memset(&client->sorted, 0, sizeof(client->sorted));
}

static bool
ask_for_job(GpusortdClient *client, GpusortdType type, const void *request)
{
	reset_job(client);
	client->in_job = gpusortd_send_message(client, type, request);
	return client->in_job;
}

/* One of the answers on the way to a job: QUEUED and ADMITTED, if there is a queue, and JOB. */
static bool
receive_step(GpusortdClient *client)
{
	GpusortdType type;
	GpusortdAnswer body;

	if (!gpusortd_receive_answer(client, &type, &body))
		return false;
	client->queued = type == GPUSORTD_QUEUED;
	switch (type)
	{
		case GPUSORTD_QUEUED:
			return !client->never_queue ||
				   gpusortd_fail(client, GPUSORTD_MEMORY_FULL, "other sorts have the device's memory");
		case GPUSORTD_ADMITTED:
			return true;
		case GPUSORTD_JOB:
			client->job = body.job;
			return map_chunks(client);
		default:
			return gpusortd_fail_unasked(client);
	}
}

bool
gpusortd_ask(GpusortdClient *client, const GpusortdBegin *begin)
{
	return gpusortd_drop_windows(client) && ask_for_job(client, GPUSORTD_BEGIN, begin) &&
		   receive_step(client);
}

bool
gpusortd_wait_in_queue(GpusortdClient *client)
{
	return !client->queued || receive_step(client);
}

bool
gpusortd_receive_job(GpusortdClient *client)
{
	while (client->memory == NULL)
	{
		if (!receive_step(client))
			return false;
	}
	return true;
}

bool
gpusortd_begin(GpusortdClient *client, const GpusortdBegin *begin)
{
	return gpusortd_ask(client, begin) && gpusortd_receive_job(client);
}

bool
gpusortd_join(GpusortdClient *client, uint64_t job, uint64_t token)
{
	GpusortdJoin join = {job, token};

	return ask_for_job(client, GPUSORTD_JOIN, &join) && gpusortd_receive_job(client);
}

bool
gpusortd_end(GpusortdClient *client)
{
	GpusortdEnd end = {0};
	GpusortdType type;
	GpusortdAnswer body;

	if (!client->in_job)
		return true;
	if (!gpusortd_send_message(client, GPUSORTD_END, &end))
		return false;
	do
	{
		if (!gpusortd_receive_message(client, &type, &body))
			return false;
	} while (type != GPUSORTD_ENDED);
	client->ended = body.ended;
	reset_job(client);
	return true;
}

/* ---- chunks ---- */

int
gpusortd_find_idle_chunk(const GpusortdClient *client)
{
	for (uint32_t i = 0; i < client->job.chunks; i++)
	{
		if (client->chunk[i] == GPUSORTD_CHUNK_IDLE)
			return (int) i;
	}
	return -1;
}
