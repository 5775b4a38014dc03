/*
 * fuzz.cc
 *		Random messages, most of which are nearly right.
 *
 * Each connection is greeted or not, has a job of its own, helps another one's, or has none; its chunks hold
 * good rows, or were written to at random.  Then come messages of all types in any order, with fields that
 * are allowed, or just not, or random; some are cut off, some bring files, several come in one write.  Large
 * jobs wait for each other in the queue; and now and then a client says nothing until its job rests.  Some
 * connections do that at a time.
 *
 * Whatever was sent, the answers are whole messages of gpusortd, and once the client has closed its end,
 * gpusortd closes the connection.  So that the test means something, answers of every type but QUEUED, which
 * depends on who comes when, must have been seen.
 */
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include <sys/socket.h>

#include "daemon/check/harness/raw.h"

#define FUZZ_THREADS 3
#define MOST_MESSAGES 30
#define ROW_BYTES 24

/*
 * The layer in host memory has room for one of these on each of its devices, while the leader's job is small.
 */
#define HUGE_JOB (UINT64_C(500) << 20)

#define PATIENCE_MS 20000

/* A job whose client says nothing for so long rests. */
#define REST_MS 130

struct Fuzz
{
	const Daemon *daemon;
	GpusortdClient leader; /* whose job is joined */
	std::atomic<uint64_t> connections{0};
	std::atomic<bool> sound{true};
	std::mutex mutex;
	std::map<int, uint64_t> answers; /* by type */
};

/* What a connection's messages are made of. */
struct Shape
{
	uint32_t key_bytes;
	uint64_t rows; /* in each chunk */
	uint32_t chunks;
	uint64_t chunk_bytes;
	GpusortdJob job;

	uint64_t entry_bytes() const
	{
		return (key_bytes > 0 ? key_bytes : 8) + 8;
	}

	uint64_t record_bytes() const
	{
		return ROW_BYTES + (key_bytes > 0 ? 0 : 16);
	}
};

/* ---- chunks ---- */

/* Good rows, with random keys. */
static void
fill_chunk(char *chunk, const Shape &shape, Random *random)
{
	for (uint64_t i = 0; i < shape.rows; i++)
	{
		uint64_t back = shape.chunk_bytes - (i + 1) * shape.record_bytes();
		uint64_t key = (*random)();
		uint64_t record[5] = {8, key, ROW_BYTES, i, 0};
		char *entry = chunk + i * shape.entry_bytes();

		for (uint64_t at = 0; at < shape.entry_bytes() - 8; at += 8)
			memcpy(entry + at, &key, 8);
		memcpy(entry + shape.entry_bytes() - 8, &back, 8);
		memcpy(chunk + back, (const char *) record + sizeof(record) - shape.record_bytes(),
			   shape.record_bytes());
	}
}

static void
fill_chunks(GpusortdClient *client, const Shape &shape, Random *random)
{
	for (uint32_t i = 0; i < client->job.chunks; i++)
		fill_chunk(gpusortd_chunk(client, i), shape, random);
	for (uint64_t change = random_below(random, 4) == 0 ? random_below(random, 100) : 0; change > 0; change--)
	{
		uint64_t word = (*random)();

		memcpy(client->memory + random_below(random, client->memory_bytes / 8) * 8, &word, sizeof(word));
	}
}

/* ---- messages ---- */

static GpusortdBegin
random_begin(Random *random)
{
	GpusortdBegin begin = {};

	begin.key_bytes = random_below(random, 5) * 8;
	begin.algorithm = random_below(random, 4);
	begin.reserved = random_below(random, 32) == 0;
	begin.expected_rows = random_below(random, 2) * random_below(random, 100000);
	begin.expected_row_bytes = random_below(random, 3) == 0 ? HUGE_JOB : begin.expected_rows * 24;
	begin.most_bytes = random_below(random, 4) == 0 ? random_below(random, HUGE_JOB) : 0;
	return begin;
}

/* Ranks of codes in keys, mostly of as many as a chunk has room for, or of the ones behind those. */
static GpusortdRanks
random_ranks(const Shape &shape, uint32_t chunk, Random *random)
{
	uint64_t codes = shape.chunk_bytes / 4 - (random_below(random, 4) == 0 ? random_below(random, 9) : 0);

	return {chunk, (uint32_t) random_below(random, shape.key_bytes + 1),
			random_below(random, 3) == 0 ? codes : 0, codes};
}

/* A message that may well be what gpusortd expects. */
static std::string
likely_message(const Shape &shape, Random *random)
{
	uint32_t chunk = random_below(random, shape.chunks + (random_below(random, 20) == 0));
	uint64_t most = shape.rows * 6;

	switch (random_below(random, 13))
	{
		case 0:
			return raw_message(GPUSORTD_HELLO, GpusortdHello{0});
		case 1:
			return raw_message(GPUSORTD_BEGIN, random_begin(random));
		case 2:
			return raw_message(GPUSORTD_JOIN, GpusortdJoin{shape.job.job, shape.job.token});
		case 3:
			return raw_message(GPUSORTD_END, GpusortdEnd{0});
		case 4:
			return raw_message(GPUSORTD_PERFORM, GpusortdPerform{0});
		case 5:
			return raw_message(GPUSORTD_RANKS, random_ranks(shape, chunk, random));
		case 6:
		case 7:
		case 8:
			return raw_message(GPUSORTD_FETCH,
							   GpusortdFetch{chunk, (uint32_t) random_below(random, 2),
											 random_below(random, 2) == 0 ? GPUSORTD_NEXT
																		  : random_below(random, most + 1)});
		default:
			return raw_message(GPUSORTD_SUBMIT,
							   GpusortdSubmit{chunk, 0, shape.rows, shape.rows * shape.entry_bytes(),
											  shape.chunk_bytes - shape.rows * shape.record_bytes()});
	}
}

/*
 * Changes some bytes of a message, rarely of its header, which would be its connection's end; or cuts it off.
 */
static std::string
spoil(std::string message, Random *random)
{
	for (uint64_t change = 1 + random_below(random, 3); change > 0; change--)
	{
		size_t from = random_below(random, 16) == 0 ? 0 : sizeof(GpusortdHeader);

		message[from + random_below(random, message.size() - from)] = (char) (*random)();
	}
	return random_below(random, 8) == 0 ? message.substr(0, random_below(random, message.size())) : message;
}

/* ---- connections ---- */

/* Counts what gpusortd has answered; false: it is no sequence of its messages. */
static bool
count_answers(Fuzz *fuzz, const std::string &answers)
{
	std::lock_guard<std::mutex> lock(fuzz->mutex);
	size_t at = 0;

	while (at + sizeof(GpusortdHeader) <= answers.size())
	{
		GpusortdHeader header;

		memcpy(&header, &answers[at], sizeof(header));
		if (header.magic != GPUSORTD_MAGIC || header.type < GPUSORTD_WELCOME ||
			(int) header.length != gpusortd_message_length(header.type))
			return false;
		fuzz->answers[header.type]++;
		at += sizeof(header) + header.length;
	}
	return at == answers.size();
}

/* Up to some state, as a client does it. */
static void
enter(Fuzz *fuzz, GpusortdClient *client, Shape *shape, Random *random)
{
	GpusortdBegin begin = random_begin(random);
	int role = random_below(random, 6);
	bool entered;

	*shape = {begin.key_bytes, 1 + random_below(random, 200), 4, UINT64_C(64) << 10, fuzz->leader.job};
	if (!gpusortd_connect(client, fuzz->daemon->socket_path.c_str(), nullptr, nullptr) || role == 0)
		return;
	if (role == 1)
		shape->key_bytes = 8;
	entered = role == 1 ? gpusortd_join(client, fuzz->leader.job.job, fuzz->leader.job.token)
						: gpusortd_begin(client, &begin);
	if (!entered)
		return;
	shape->chunks = client->job.chunks;
	shape->chunk_bytes = client->job.chunk_bytes;
	if (role != 1 && random_below(random, 2) == 0)
		shape->job = client->job;
	fill_chunks(client, *shape, random);
}

static void
run_connection(Fuzz *fuzz, Random *random)
{
	bool greeted = random_below(random, 8) != 0;
	GpusortdClient client = {};
	Shape shape = {8, 10, 4, UINT64_C(64) << 10, {}};
	std::string bytes;
	bool closed = false;

	client.passed_fd = -1;
	if (greeted)
		enter(fuzz, &client, &shape, random);
	else
		client.fd = raw_connect(fuzz->daemon->socket_path);
	for (uint64_t i = random_below(random, MOST_MESSAGES); i > 0; i--)
	{
		std::string message = likely_message(shape, random);

		bytes += random_below(random, 12) == 0 ? spoil(message, random) : message;
		if (random_below(random, 4) == 0)
		{
			raw_send(client.fd, bytes, random_below(random, 8) == 0 ? 1 + random_below(random, 3) : 0);
			bytes.clear();
			if (random_below(random, 300) == 0)
				std::this_thread::sleep_for(std::chrono::milliseconds(REST_MS));
		}
	}
	raw_send(client.fd, bytes);
	if (random_below(random, 4) > 0)
	{
		shutdown(client.fd, SHUT_WR);
		if (!count_answers(fuzz, raw_receive(client.fd, PATIENCE_MS, &closed)) || !closed)
			fuzz->sound = false;
	}
	gpusortd_close(&client);
	fuzz->connections++;
}

static bool
all_answers_seen(const Fuzz &fuzz)
{
	bool all = true;

	for (int type : {GPUSORTD_WELCOME, GPUSORTD_JOB, GPUSORTD_CHUNK_FREE, GPUSORTD_SORTED, GPUSORTD_ROWS,
					 GPUSORTD_ENDED, GPUSORTD_ERROR})
	{
		auto found = fuzz.answers.find(type);

		note("%llu answers of type %d",
			 (unsigned long long) (found != fuzz.answers.end() ? found->second : 0), type);
		all &= found != fuzz.answers.end();
	}
	return all;
}

void
check_fuzz(Random *random)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
	Daemon daemon;
	GpusortdBegin begin = {8, 0, 0, 1000, 0, 24000, 0};
	Fuzz fuzz;
	std::vector<std::thread> threads;

	fuzz.daemon = &daemon;
	if (!check(gpusortd_connect(&fuzz.leader, daemon.socket_path.c_str(), nullptr, nullptr) &&
				   gpusortd_begin(&fuzz.leader, &begin),
			   "a job to be joined"))
		return;
	for (int i = 0; i < FUZZ_THREADS; i++)
		threads.emplace_back([&, seed = (*random)()] {
			Random mine(seed);

			while (fuzz.sound && std::chrono::steady_clock::now() < end)
				run_connection(&fuzz, &mine);
		});
	for (std::thread &thread : threads)
		thread.join();
	gpusortd_close(&fuzz.leader);
	check(fuzz.sound, "%llu connections of random messages", (unsigned long long) fuzz.connections);
	check(all_answers_seen(fuzz), "got answers of all types");
	check(daemon.running() && daemon.settles(),
		  "gpusortd lives, and all clients' files and threads are given back");
	check(nothing_is_promised(daemon), "nothing is promised any more");
	check(still_sorts(daemon, random), "and it sorts");
}
