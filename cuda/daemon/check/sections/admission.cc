/*
 * admission.cc
 *		Who gets device memory and chunk memory, and when; what happens when there is none left.
 */
#include <chrono>
#include <cstring>
#include <thread>

#include <poll.h>
#include <sys/socket.h>

#include "daemon/check/harness/raw.h"

#define MIB (UINT64_C(1) << 20)

/* A job that expects this much, asked for without waiting for the answer. */
static bool
ask(GpusortdClient *client, const Daemon &daemon, uint64_t expected_bytes)
{
	struct
	{
		GpusortdHeader header;
		GpusortdBegin begin;
	} message = {{GPUSORTD_MAGIC, GPUSORTD_VERSION, GPUSORTD_BEGIN, sizeof(GpusortdBegin), 0},
				 {8, 0, 0, 0, 0, 0, expected_bytes}};

	return gpusortd_connect(client, daemon.socket_path.c_str(), nullptr, nullptr) &&
		   send(client->fd, &message, sizeof(message), MSG_NOSIGNAL) == (ssize_t) sizeof(message);
}

/* The type of the next message; 0: none comes.  *body is what is in it. */
static int
answer(GpusortdClient *client, void *body = nullptr)
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

static bool
is_silent(GpusortdClient *client)
{
	struct pollfd poll_fd = {client->fd, POLLIN, 0};

	return poll(&poll_fd, 1, 200) == 0;
}

/* First come, first served, even where a later one would fit. */
static void
check_queue()
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "100M"});
	GpusortdClient client[5];
	GpusortdQueued queued[5] = {};
	bool ok;

	ok = ask(&client[0], daemon, 60 * MIB) && answer(&client[0]) == GPUSORTD_JOB;
	check(ok, "a job gets what it expects to need");
	ok = ask(&client[1], daemon, 60 * MIB) && answer(&client[1], &queued[1]) == GPUSORTD_QUEUED &&
		 ask(&client[2], daemon, 10 * MIB) && answer(&client[2], &queued[2]) == GPUSORTD_QUEUED &&
		 ask(&client[3], daemon, 10 * MIB) && answer(&client[3], &queued[3]) == GPUSORTD_QUEUED &&
		 ask(&client[4], daemon, 10 * MIB) && answer(&client[4], &queued[4]) == GPUSORTD_QUEUED;
	check(ok && queued[1].before == 0 && queued[2].before == 1 && queued[3].before == 2 &&
			  queued[4].before == 3,
		  "others wait in a queue, small ones behind a large one");
	check(is_silent(&client[2]), "and go on waiting");
	gpusortd_close(&client[3]);
	gpusortd_close(&client[0]);
	check(answer(&client[1]) == GPUSORTD_JOB && answer(&client[2]) == GPUSORTD_JOB &&
			  answer(&client[4]) == GPUSORTD_JOB,
		  "when it ends they are admitted, but for one that left");
	for (int i : {1, 2, 4})
		gpusortd_close(&client[i]);
	check(daemon.settles(), "all is given back");
	check(ask(&client[0], daemon, 1024 * MIB) && answer(&client[0]) == GPUSORTD_JOB,
		  "who expects more than there is gets all");
	ok = gpusortd_connect(&client[1], daemon.socket_path.c_str(), nullptr, nullptr);
	check(ok && client[1].welcome.devices == 1 && client[1].welcome.device[0].jobs == 1 &&
			  client[1].welcome.device[0].free_bytes == 0,
		  "WELCOME tells of it");
	gpusortd_close(&client[0]);
	gpusortd_close(&client[1]);
}

/* END in the queue. */
static void
check_queue_left()
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "100M"});
	GpusortdClient client[3];
	bool ok;

	ok = ask(&client[0], daemon, 60 * MIB) && answer(&client[0]) == GPUSORTD_JOB &&
		 ask(&client[1], daemon, 60 * MIB) && answer(&client[1]) == GPUSORTD_QUEUED &&
		 ask(&client[2], daemon, 10 * MIB) && answer(&client[2]) == GPUSORTD_QUEUED;
	client[1].in_job = true;
	check(ok && gpusortd_end(&client[1]) && answer(&client[2]) == GPUSORTD_JOB,
		  "END leaves the queue to the next one");
	for (GpusortdClient &one : client)
		gpusortd_close(&one);
	check(daemon.settles(), "all is given back");
}

/* Anything else in the queue closes the connection. */
static void
check_queue_broken()
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "100M"});
	GpusortdClient first;
	bool ok = ask(&first, daemon, 60 * MIB) && answer(&first) == GPUSORTD_JOB;

	for (unsigned int type = GPUSORTD_HELLO; type < GPUSORTD_END; type++)
	{
		GpusortdClient client;
		GpusortdError error = {};
		bool closed = false;

		ok = ok && ask(&client, daemon, 60 * MIB) && answer(&client) == GPUSORTD_QUEUED;
		raw_send(client.fd, raw_message(type, std::string(gpusortd_message_length(type), '\0')));
		ok = ok && answer(&client, &error) == GPUSORTD_ERROR && error.code == GPUSORTD_PROTOCOL_ERROR;
		(void) raw_receive(client.fd, 5000, &closed);
		ok = ok && closed;
		gpusortd_close(&client);
	}
	check(ok, "messages other than END in the queue close the connection");
	gpusortd_close(&first);
	check(daemon.settles() && nothing_is_promised(daemon), "all is given back");
}

/* Who begins a message in the queue and stops is out of it: a device is not held for the rest. */
static void
check_queue_stalled()
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "100M"});
	GpusortdClient client[3];
	bool ok = ask(&client[0], daemon, 60 * MIB) && answer(&client[0]) == GPUSORTD_JOB;

	for (int i = 1; i < 3; i++)
		ok = ok && ask(&client[i], daemon, 60 * MIB) && answer(&client[i]) == GPUSORTD_QUEUED;
	raw_send(client[1].fd, raw_message(GPUSORTD_END, std::string()).substr(0, 4));
	std::this_thread::sleep_for(std::chrono::milliseconds(100));
	gpusortd_close(&client[0]);
	check(ok && answer(&client[2]) == GPUSORTD_JOB,
		  "a client that stops in the middle of a message holds no place in the queue");
	gpusortd_close(&client[1]);
	gpusortd_close(&client[2]);
	check(daemon.settles() && nothing_is_promised(daemon), "all is given back");
}

/* Jobs go to the device with the most left. */
static void
check_devices()
{
	Daemon daemon({"--max-device-memory", "100M"});
	GpusortdClient client[3];
	GpusortdJob job[3] = {};
	bool ok = true;

	for (int i = 0; i < 3; i++)
		ok = ok && ask(&client[i], daemon, (i == 0 ? 30 : 60) * MIB) &&
			 answer(&client[i], &job[i]) == GPUSORTD_JOB;
	check(ok && job[0].device != job[1].device && job[2].device == job[0].device,
		  "jobs are shared out to two devices");
	for (GpusortdClient &one : client)
		gpusortd_close(&one);
}

/* Chunk memory for two jobs only, or for one with two helpers, who get half as much each. */
static void
check_staging()
{
	Daemon daemon({"--staging-memory", "512k"});
	GpusortdClient client[5];
	bool ok;

	ok = ask(&client[0], daemon, MIB) && answer(&client[0]) == GPUSORTD_JOB && ask(&client[1], daemon, MIB) &&
		 answer(&client[1]) == GPUSORTD_JOB && ask(&client[2], daemon, MIB) &&
		 answer(&client[2]) == GPUSORTD_QUEUED;
	check(ok, "a job waits for chunk memory");
	gpusortd_close(&client[0]);
	check(answer(&client[2]) == GPUSORTD_JOB, "and gets it");
	gpusortd_close(&client[1]);
	gpusortd_close(&client[2]);
	check(daemon.settles(), "all is given back");

	GpusortdBegin begin = {8, 0, 0, 0, 0, 0, 0};

	ok = gpusortd_connect(&client[0], daemon.socket_path.c_str(), nullptr, nullptr) &&
		 gpusortd_begin(&client[0], &begin);
	for (int i = 1; i < 4; i++)
		ok = ok && gpusortd_connect(&client[i], daemon.socket_path.c_str(), nullptr, nullptr);
	check(ok && gpusortd_join(&client[1], client[0].job.job, client[0].job.token) &&
			  client[1].job.chunks == 2 &&
			  gpusortd_join(&client[2], client[0].job.job, client[0].job.token) &&
			  !gpusortd_join(&client[3], client[0].job.job, client[0].job.token) &&
			  client[3].code == GPUSORTD_STAGING_FULL,
		  "a helper does not wait for it");
	check(gpusortd_end(&client[1]) && gpusortd_end(&client[3]) &&
			  gpusortd_join(&client[3], client[0].job.job, client[0].job.token),
		  "another can have it after the first one's end");
	check(gpusortd_perform(&client[0]), "and the job goes on without");
	for (int i = 0; i < 4; i++)
		gpusortd_close(&client[i]);

	/* Small jobs have small segments, which are made of large ones' memory. */
	begin.expected_rows = 1;
	ok = true;
	for (int i = 0; i < 4; i++)
		ok = ok && gpusortd_connect(&client[i], daemon.socket_path.c_str(), nullptr, nullptr) &&
			 gpusortd_begin(&client[i], &begin) && client[i].job.chunks == 2;
	check(ok && ask(&client[4], daemon, MIB) && answer(&client[4]) == GPUSORTD_QUEUED,
		  "four small jobs have room for two");
	gpusortd_close(&client[0]);
	gpusortd_close(&client[1]);
	check(answer(&client[4]) == GPUSORTD_JOB, "and a large one for two of them");
	for (int i = 2; i < 5; i++)
		gpusortd_close(&client[i]);
	check(daemon.settles(), "all is given back");
}

/* Helpers take no chunk memory that a job waits for. */
static void
check_staging_of_head()
{
	Daemon daemon({"--staging-memory", "512k"});
	GpusortdBegin small = {8, 0, 0, 0, 1, 0, 0};
	GpusortdClient client[4];
	bool ok = ask(&client[0], daemon, MIB) && answer(&client[0], &client[0].job) == GPUSORTD_JOB &&
			  gpusortd_connect(&client[1], daemon.socket_path.c_str(), nullptr, nullptr) &&
			  gpusortd_begin(&client[1], &small) && ask(&client[2], daemon, MIB) &&
			  answer(&client[2]) == GPUSORTD_QUEUED;

	check(ok && gpusortd_connect(&client[3], daemon.socket_path.c_str(), nullptr, nullptr) &&
			  !gpusortd_join(&client[3], client[0].job.job, client[0].job.token) &&
			  client[3].code == GPUSORTD_STAGING_FULL,
		  "a helper gets no chunk memory while a job waits for it");
	gpusortd_close(&client[1]);
	check(answer(&client[2]) == GPUSORTD_JOB, "which gets it");
	for (GpusortdClient &one : client)
		gpusortd_close(&one);
	check(daemon.settles(), "all is given back");
}

void
check_admission(Random *)
{
	check_queue();
	check_queue_left();
	check_queue_broken();
	check_queue_stalled();
	check_devices();
	check_staging();
	check_staging_of_head();
}
