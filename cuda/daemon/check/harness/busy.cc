/*
 * busy.cc
 *		Jobs that are there for the others' sake: they wait in the queue, or hold memory and never rest.
 */
#include <chrono>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

#include "daemon/check/harness/check.h"

/* Less than what makes a job rest. */
#define BUSY_MILLISECONDS 20

static GpusortdBegin
expecting(uint64_t bytes)
{
	return {8, 0, 0, 0, 0, bytes, 0};
}

bool
ask_for_job(GpusortdClient *client, const Daemon &daemon, uint64_t expected_bytes)
{
	struct
	{
		GpusortdHeader header;
		GpusortdBegin begin;
	} message = {{GPUSORTD_MAGIC, GPUSORTD_VERSION, GPUSORTD_BEGIN, sizeof(GpusortdBegin), 0},
				 expecting(expected_bytes)};

	return gpusortd_connect(client, daemon.socket_path.c_str(), nullptr, nullptr) &&
		   send(client->fd, &message, sizeof(message), MSG_NOSIGNAL) == (ssize_t) sizeof(message);
}

int
next_message(GpusortdClient *client, void *body)
{
	struct pollfd poll_fd = {client->fd, POLLIN, 0};
	GpusortdHeader header = {};
	char rest[GPUSORTD_MAX_MESSAGE];

	if (poll(&poll_fd, 1, 5000) <= 0 ||
		recv(client->fd, &header, sizeof(header), MSG_WAITALL) != (ssize_t) sizeof(header) ||
		recv(client->fd, rest, header.length, MSG_WAITALL) != (ssize_t) header.length)
		return 0;
	if (body != nullptr)
		memcpy(body, rest, header.length);
	return header.type;
}

bool
leaves_queue(GpusortdClient *client)
{
	return next_message(client) == GPUSORTD_ADMITTED && next_message(client) == GPUSORTD_JOB;
}

int
message_after_queue(GpusortdClient *client, void *body)
{
	int type;

	do
		type = next_message(client, body);
	while (type == GPUSORTD_QUEUED || type == GPUSORTD_ADMITTED);
	return type;
}

bool
is_silent(GpusortdClient *client, int milliseconds)
{
	struct pollfd poll_fd = {client->fd, POLLIN, 0};

	return poll(&poll_fd, 1, milliseconds) == 0;
}

BusyJob::BusyJob(const Daemon &daemon, uint64_t expected_bytes)
{
	GpusortdBegin begin = expecting(expected_bytes);

	begun = gpusortd_connect(&client, daemon.socket_path.c_str(), nullptr, nullptr) &&
			gpusortd_begin(&client, &begin);
	if (begun)
		thread = std::thread([this] { work(); });
}

BusyJob::~BusyJob()
{
	ending = true;
	if (thread.joinable())
		thread.join();
	gpusortd_close(&client);
}

void
BusyJob::work()
{
	int chunk = 0;

	while (!ending && chunk >= 0)
	{
		chunk = gpusortd_take_chunk(&client);
		if (chunk < 0 || !gpusortd_submit_chunk(&client, chunk, 0, 0, client.job.chunk_bytes) ||
			!gpusortd_flush(&client))
			break;
		std::this_thread::sleep_for(std::chrono::milliseconds(BUSY_MILLISECONDS));
	}
}
