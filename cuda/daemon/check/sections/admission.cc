/*
 * admission.cc
 *		Who gets device memory and chunk memory, and when; what happens when there is none left.
 */
#include <cinttypes>
#include <fstream>
#include <list>
#include <memory>

#include "daemon/check/harness/raw.h"

#define MIB (UINT64_C(1) << 20)

/* Of 100 MB: three jobs that would like to have more than a fourth, and one that leaves 10 MB. */
struct Full
{
	explicit Full(const Daemon &daemon)
		: greedy{{daemon, 60 * MIB}, {daemon, 1024 * MIB}, {daemon, 60 * MIB}},
		  modest(std::make_unique<BusyJob>(daemon, 15 * MIB))
	{
	}

	bool begun() const
	{
		return greedy[0].begun && greedy[1].begun && greedy[2].begun && modest->begun;
	}

	BusyJob greedy[3];
	std::unique_ptr<BusyJob> modest;
};

/* What it takes besides rows is little. */
static bool
is_about(uint64_t bytes, uint64_t expected)
{
	return bytes >= expected && bytes < expected + MIB;
}

/* Whatever a job expects, it is promised a fourth of the device before it has sent a row. */
static void
check_first_promise()
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "100M"});
	Full full(daemon);
	GpusortdClient client;
	bool ok = true;

	for (const BusyJob &job : full.greedy)
		ok = ok && job.begun && job.client.job.promised_bytes == 25 * MIB;
	check(ok && full.modest->begun && is_about(full.modest->client.job.promised_bytes, 15 * MIB),
		  "a job is promised what it expects to need, up to a fourth of the device");
	ok = gpusortd_connect(&client, daemon.socket_path.c_str(), nullptr, nullptr);
	check(ok && client.welcome.devices == 1 && client.welcome.device[0].jobs == 4 &&
			  is_about(client.welcome.device[0].free_bytes, 9 * MIB),
		  "WELCOME tells of it");
	gpusortd_close(&client);
}

/* First come, first served, even where a later one would fit. */
static void
check_queue()
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "100M"});
	auto full = std::make_unique<Full>(daemon);
	GpusortdClient client[4];
	GpusortdQueued queued[4] = {};
	bool ok = full->begun();

	for (int i = 0; i < 4; i++)
		ok = ok && ask_for_job(&client[i], daemon, (i == 0 ? 20 : 5) * MIB) &&
			 next_message(&client[i], &queued[i]) == GPUSORTD_QUEUED;
	check(ok && queued[0].before == 0 && queued[1].before == 1 && queued[2].before == 2 &&
			  queued[3].before == 3,
		  "jobs wait in a queue, small ones behind a large one");
	check(is_silent(&client[0]) && is_silent(&client[1]), "as long as others work");
	gpusortd_close(&client[2]);
	full.reset();
	check(leaves_queue(&client[0]) && leaves_queue(&client[1]) && leaves_queue(&client[3]),
		  "when these end they are admitted, but for one that left");
	for (int i : {0, 1, 3})
		gpusortd_close(&client[i]);
	check(daemon.settles() && nothing_is_promised(daemon), "all is given back");
}

/* A job that is sorted needs less: others have the rest at once, however busy it is with its result. */
static void
check_lowered(Random *random)
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "100M"});
	Full full(daemon);
	JobRows rows({8, 0, 100, 60, 0, 8}, random);
	GpusortdBegin begin = rows.begin();
	GpusortdClient sorted;
	GpusortdClient waiting;
	bool ok;

	begin.expected_row_bytes = 9 * MIB;
	ok = full.begun() && gpusortd_connect(&sorted, daemon.socket_path.c_str(), nullptr, nullptr) &&
		 gpusortd_begin(&sorted, &begin) && feed(&sorted, rows, 0, 100, random) &&
		 ask_for_job(&waiting, daemon, 5 * MIB) && next_message(&waiting) == GPUSORTD_QUEUED &&
		 gpusortd_perform(&sorted);
	for (int i = 0; i < 250 && ok && is_silent(&waiting, 20); i++)
	{
		GpusortdRows window;

		ok = gpusortd_fetch(&sorted, false, 0, &window);
	}
	check(ok && !is_silent(&waiting, 0) && leaves_queue(&waiting),
		  "what a job no longer needs once it is sorted is another's");
	gpusortd_close(&waiting);
	gpusortd_close(&sorted);
}

/* END in the queue. */
static void
check_queue_left()
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "100M"});
	auto full = std::make_unique<Full>(daemon);
	GpusortdClient client[2];
	bool ok;

	ok = full->begun() && ask_for_job(&client[0], daemon, 20 * MIB) &&
		 next_message(&client[0]) == GPUSORTD_QUEUED && ask_for_job(&client[1], daemon, 5 * MIB) &&
		 next_message(&client[1]) == GPUSORTD_QUEUED;
	client[0].in_job = true;
	check(ok && gpusortd_end(&client[0]) && leaves_queue(&client[1]), "END leaves the queue to the next one");
	for (GpusortdClient &one : client)
		gpusortd_close(&one);
	full.reset();
	check(daemon.settles(), "all is given back");
}

/* Anything else in the queue closes the connection. */
static void
check_queue_broken()
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "100M"});
	auto full = std::make_unique<Full>(daemon);
	bool ok = full->begun();

	for (unsigned int type = GPUSORTD_HELLO; type < GPUSORTD_END; type++)
	{
		GpusortdClient client;
		GpusortdError error = {};
		bool closed = false;

		ok = ok && ask_for_job(&client, daemon, 20 * MIB) && next_message(&client) == GPUSORTD_QUEUED;
		raw_send(client.fd, raw_message(type, std::string(gpusortd_message_length(type), '\0')));
		ok = ok && next_message(&client, &error) == GPUSORTD_ERROR && error.code == GPUSORTD_PROTOCOL_ERROR;
		(void) raw_receive(client.fd, 5000, &closed);
		ok = ok && closed;
		gpusortd_close(&client);
	}
	check(ok, "messages other than END in the queue close the connection");
	full.reset();
	check(daemon.settles() && nothing_is_promised(daemon), "all is given back");
}

/* Who begins a message in the queue and stops is out of it: a device is not held for the rest. */
static void
check_queue_stalled()
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "100M"});
	auto full = std::make_unique<Full>(daemon);
	GpusortdClient client[2];
	bool ok = full->begun();

	for (GpusortdClient &one : client)
		ok = ok && ask_for_job(&one, daemon, 20 * MIB) && next_message(&one) == GPUSORTD_QUEUED;
	raw_send(client[0].fd, raw_message(GPUSORTD_END, std::string()).substr(0, 4));
	std::this_thread::sleep_for(std::chrono::milliseconds(100));
	full->modest.reset();
	check(ok && leaves_queue(&client[1]),
		  "a client that stops in the middle of a message holds no place in the queue");
	for (GpusortdClient &one : client)
		gpusortd_close(&one);
	full.reset();
	check(daemon.settles() && nothing_is_promised(daemon), "all is given back");
}

/* Jobs go to the device with the most left. */
static void
check_devices()
{
	Daemon daemon({"--max-device-memory", "100M"});
	BusyJob job[3] = {{daemon, 10 * MIB}, {daemon, 20 * MIB}, {daemon, 20 * MIB}};

	check(job[0].begun && job[1].begun && job[2].begun &&
			  job[0].client.job.device != job[1].client.job.device &&
			  job[2].client.job.device == job[0].client.job.device,
		  "jobs are shared out to two devices");
}

/* A device that counts as three is three devices to the jobs. */
static void
check_counted_devices()
{
	Daemon daemon({"--max-device-memory", "99M", "--devices", "0", "--count-devices", "3"});
	BusyJob job[3] = {{daemon, 8 * MIB}, {daemon, 8 * MIB}, {daemon, 8 * MIB}};

	check(job[0].begun && job[0].client.welcome.devices == 3 &&
			  job[0].client.welcome.device[2].limit_bytes <= 33 * MIB,
		  "a device that counts as three has a third of its memory in each");
	check(job[0].begun && job[1].begun && job[2].begun &&
			  job[0].client.job.device != job[1].client.job.device &&
			  job[0].client.job.device != job[2].client.job.device &&
			  job[1].client.job.device != job[2].client.job.device,
		  "and jobs are shared out to all three");
}

/* Chunk memory for two jobs only, or for one with two joiners, who get half as much each. */
static void
check_staging()
{
	Daemon daemon({"--staging-memory", "512k"});
	auto first = std::make_unique<BusyJob>(daemon, MIB);
	auto second = std::make_unique<BusyJob>(daemon, MIB);
	GpusortdClient client[4];
	bool ok;

	ok = first->begun && second->begun && ask_for_job(&client[0], daemon, MIB) &&
		 next_message(&client[0]) == GPUSORTD_QUEUED && is_silent(&client[0]);
	check(ok, "a job waits for chunk memory");
	first.reset();
	check(leaves_queue(&client[0]), "and gets it");
	second.reset();
	gpusortd_close(&client[0]);
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
		  "a joiner does not wait for it");
	check(gpusortd_end(&client[1]) && gpusortd_end(&client[3]) &&
			  gpusortd_join(&client[3], client[0].job.job, client[0].job.token),
		  "another can have it after the first one's end");
	check(gpusortd_perform(&client[0]), "and the job goes on without");
	for (int i = 0; i < 4; i++)
		gpusortd_close(&client[i]);
	check(daemon.settles(), "all is given back");
}

/* Bytes of chunk memory that gpusortd has, lent or not. */
static uint64_t
chunk_memory(const Daemon &daemon)
{
	std::ifstream maps("/proc/" + std::to_string(daemon.pid) + "/maps");
	uint64_t bytes = 0;

	for (std::string line; std::getline(maps, line);)
	{
		uint64_t from;
		uint64_t to;

		if (line.find("gpusortd chunks") != std::string::npos &&
			sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64, &from, &to) == 2)
			bytes += to - from;
	}
	return bytes;
}

/* Small jobs have small slabs, which are made of large ones' memory. */
static void
check_small_slabs()
{
	Daemon daemon({"--staging-memory", "512k"});
	std::list<BusyJob> small;
	GpusortdClient large;
	bool ok = true;

	for (int i = 0; i < 4; i++)
		ok = small.emplace_back(daemon, 1).begun && small.back().client.job.chunks == 2 && ok;
	check(ok && ask_for_job(&large, daemon, MIB) && next_message(&large) == GPUSORTD_QUEUED,
		  "four small jobs have room for two");
	small.pop_back();
	small.pop_back();
	check(leaves_queue(&large), "and a large one for two of them");
	check(chunk_memory(daemon) == 512 << 10, "in the memory that these had: %" PRIu64 " bytes in all",
		  chunk_memory(daemon));
	small.clear();
	gpusortd_close(&large);
	check(daemon.settles(), "all is given back");
}

/* Joiners take no chunk memory that a job waits for. */
static void
check_staging_of_head()
{
	Daemon daemon({"--staging-memory", "512k"});
	auto leader = std::make_unique<BusyJob>(daemon, MIB);
	auto small = std::make_unique<BusyJob>(daemon, 1);
	GpusortdClient waiting;
	GpusortdClient joiner;
	bool ok = leader->begun && small->begun && ask_for_job(&waiting, daemon, MIB) &&
			  next_message(&waiting) == GPUSORTD_QUEUED &&
			  gpusortd_connect(&joiner, daemon.socket_path.c_str(), nullptr, nullptr);

	check(ok && !gpusortd_join(&joiner, leader->client.job.job, leader->client.job.token) &&
			  joiner.code == GPUSORTD_STAGING_FULL,
		  "a joiner gets no chunk memory while a job waits for it");
	small.reset();
	check(leaves_queue(&waiting), "which gets it");
	leader.reset();
	gpusortd_close(&waiting);
	gpusortd_close(&joiner);
	check(daemon.settles(), "all is given back");
}

/* What a joiner had is the queue's when it is through. */
static void
check_staging_of_joiner()
{
	Daemon daemon({"--staging-memory", "512k"});
	BusyJob leader(daemon, MIB);
	GpusortdClient joiner;
	GpusortdClient waiting;
	bool ok = leader.begun && gpusortd_connect(&joiner, daemon.socket_path.c_str(), nullptr, nullptr) &&
			  gpusortd_join(&joiner, leader.client.job.job, leader.client.job.token) &&
			  ask_for_job(&waiting, daemon, MIB) && next_message(&waiting) == GPUSORTD_QUEUED;

	check(ok && is_silent(&waiting), "a job waits for the chunk memory of a joiner");
	check(gpusortd_end(&joiner) && leaves_queue(&waiting), "and gets it when the joiner is through");
	gpusortd_close(&waiting);
	gpusortd_close(&joiner);
}

void
check_admission(Random *random)
{
	check_first_promise();
	check_queue();
	check_lowered(random);
	check_queue_left();
	check_queue_broken();
	check_queue_stalled();
	check_devices();
	check_counted_devices();
	check_staging();
	check_small_slabs();
	check_staging_of_head();
	check_staging_of_joiner();
}
