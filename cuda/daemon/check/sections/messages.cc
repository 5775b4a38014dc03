/*
 * messages.cc
 *		Messages that no client of ours would send.
 *
 * Each is answered with an error or a closed connection; and after all of them gpusortd lives, holds what it
 * held at its start, and sorts.
 */
#include <chrono>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/check/harness/raw.h"

static const unsigned int client_types[] = {GPUSORTD_HELLO,	  GPUSORTD_BEGIN, GPUSORTD_JOIN, GPUSORTD_SUBMIT,
											GPUSORTD_PERFORM, GPUSORTD_FETCH, GPUSORTD_END,	 GPUSORTD_RANKS};

/* ---- what is answered ---- */

/* The code of the last message, if it is an ERROR; -1: it is another, or none. */
static int
last_error(const std::string &answer)
{
	GpusortdError error;
	GpusortdHeader header;

	if (answer.size() < sizeof(header) + sizeof(error))
		return -1;
	memcpy(&header, &answer[answer.size() - sizeof(header) - sizeof(error)], sizeof(header));
	memcpy(&error, &answer[answer.size() - sizeof(error)], sizeof(error));
	return header.magic == GPUSORTD_MAGIC && header.type == GPUSORTD_ERROR ? (int) error.code : -1;
}

/* What a client sends to get into each state. */
static const char *const state_names[] = {"greeting", "ready", "feeding", "sorted", "failed"};

static std::string
path_to_state(int state)
{
	static const GpusortdBegin good = {8, 0, 0, 10, 0, 1000, 0};
	static const GpusortdBegin bad = {9, 0, 0, 10, 0, 1000, 0};
	std::string path;

	if (state >= 1)
		path += raw_message(GPUSORTD_HELLO, GpusortdHello{0});
	if (state == 2 || state == 3)
		path += raw_message(GPUSORTD_BEGIN, good);
	if (state == 3)
		path += raw_message(GPUSORTD_PERFORM, GpusortdPerform{0});
	if (state == 4)
		path += raw_message(GPUSORTD_BEGIN, bad);
	return path;
}

/*
 * The last error after sending this in that state; *closed: gpusortd then closed the connection.  Waits long
 * for the error that is expected, and only for a while for one that shouldn't come (expected -1).
 */
static int
provoke(const std::string &socket_path, int state, const std::string &bytes, int expected, bool *closed)
{
	int fd = raw_connect(socket_path);
	std::string answer;
	struct pollfd poll_fd = {fd, POLLIN, 0};
	char byte;

	raw_send(fd, path_to_state(state) + bytes);
	*closed = false;
	for (int i = 0; i < 100 && !*closed; i++)
	{
		answer += raw_receive(fd, 50);
		*closed = poll(&poll_fd, 1, 0) > 0 && recv(fd, &byte, 1, 0) <= 0;
		if (expected != GPUSORTD_PROTOCOL_ERROR && last_error(answer) == expected)
			break;
	}
	close(fd);
	return last_error(answer);
}

/* ---- malformed messages ---- */

/* A header that is wrong in one thing closes the connection, in every state. */
static void
check_headers(const std::string &socket_path)
{
	bool right = true;

	for (int state = 0; state < 5; state++)
	{
		for (unsigned int type : client_types)
		{
			int length = gpusortd_message_length(type);
			std::string good = raw_message(type, std::string(length, '\0'));

			for (int wrong = 0; wrong < 6; wrong++)
			{
				GpusortdHeader header;
				std::string bytes = good;
				bool closed;
				int code;

				memcpy(&header, good.data(), sizeof(header));
				header.magic += wrong == 0;
				header.version += wrong == 1;
				header.type = wrong == 2 ? 99 : header.type;
				header.length = wrong == 3 ? header.length - 1 : wrong == 4 ? UINT32_MAX : header.length;
				header.reserved = wrong == 5;
				memcpy(&bytes[0], &header, sizeof(header));
				code = provoke(socket_path, state, bytes, GPUSORTD_PROTOCOL_ERROR, &closed);
				if (code != GPUSORTD_PROTOCOL_ERROR || !closed)
				{
					note("state %s, type %u, wrong %d: code %d, closed %d", state_names[state], type, wrong,
						 code, closed);
					right = false;
				}
			}
		}
	}
	check(right, "a header that is wrong in one thing closes the connection");
}

/* Each message cut off at each byte, then the end of the connection. */
static void
check_truncated(const std::string &socket_path)
{
	for (int state = 0; state < 5; state++)
	{
		for (unsigned int type : client_types)
		{
			std::string bytes = raw_message(type, std::string(gpusortd_message_length(type), '\0'));

			for (size_t length = 0; length < bytes.size(); length++)
			{
				int fd = raw_connect(socket_path);

				raw_send(fd, path_to_state(state) + bytes.substr(0, length));
				close(fd);
			}
		}
	}
	check(true, "messages were cut off at every byte");
}

/*
 * What a message of zeros is answered with, where it is allowed: -1 but for JOIN, for which there is no such
 * job, and RANKS, which has none.
 */
static int
allowed_code(int state, unsigned int type)
{
	if (state == 4)
		return type == GPUSORTD_END ? -1 : GPUSORTD_INVALID;
	return type == GPUSORTD_JOIN ? GPUSORTD_JOB_OVER : type == GPUSORTD_RANKS ? GPUSORTD_INVALID : -1;
}

/* Messages that are allowed only elsewhere, and types that are gpusortd's own. */
static void
check_states(const std::string &socket_path)
{
	/* Which of client_types are allowed in which state; a failed job's messages are dropped. */
	static const char *const allowed[] = {"10000000", "01100000", "00011011", "01000110", "01111111"};
	bool right = true;

	for (int state = 0; state < 5; state++)
	{
		for (int i = 0; i < 9; i++)
		{
			unsigned int type = i < 8 ? client_types[i] : (unsigned int) GPUSORTD_WELCOME;
			bool may = i < 8 && allowed[state][i] == '1';
			bool closed;
			std::string bytes = raw_message(type, std::string(gpusortd_message_length(type), '\0'));
			int code = provoke(socket_path, state, bytes,
							   may ? allowed_code(state, type) : GPUSORTD_PROTOCOL_ERROR, &closed);

			if (may ? code != allowed_code(state, type) || closed
					: code != GPUSORTD_PROTOCOL_ERROR || !closed)
			{
				note("state %s, type %u: code %d, closed %d", state_names[state], type, code, closed);
				right = false;
			}
		}
	}
	check(right, "messages out of turn close the connection");
}

static void
check_code(const std::string &socket_path, int state, const std::string &bytes, int code, const char *what)
{
	bool closed;
	int got = provoke(socket_path, state, bytes, code, &closed);

	check(got == code && !closed, "%s: code %d, expected %d, %s", what, got, code,
		  closed ? "closed" : "open");
}

/* Numbers outside of what is allowed fail the job, and leave the connection. */
static void
check_numbers(const std::string &socket_path)
{
	const uint64_t big = UINT64_MAX;

	for (uint32_t key_bytes : {1u, 7u, 40u, 0xFFFFFFFFu, 0xFFFFFFF8u})
		check_code(socket_path, 1, raw_message(GPUSORTD_BEGIN, GpusortdBegin{key_bytes, 0, 0, 0, 0, 0, 0}),
				   GPUSORTD_INVALID, "BEGIN: width");
	check_code(socket_path, 1, raw_message(GPUSORTD_BEGIN, GpusortdBegin{8, 4, 0, 0, 0, 0, 0}),
			   GPUSORTD_INVALID, "BEGIN: algorithm");
	check_code(socket_path, 1, raw_message(GPUSORTD_BEGIN, GpusortdBegin{8, 0, 1, 0, 0, 0, 0}),
			   GPUSORTD_INVALID, "BEGIN: reserved");
	check_code(socket_path, 1, raw_message(GPUSORTD_BEGIN, GpusortdBegin{0, 0, 0, big, big, big, 0}), -1,
			   "BEGIN: huge estimates");
	check_code(socket_path, 1, raw_message(GPUSORTD_JOIN, GpusortdJoin{big, big}), GPUSORTD_JOB_OVER,
			   "JOIN: no such job");
	for (GpusortdSubmit submit : std::vector<GpusortdSubmit>{{64, 0, 1, 16, 1024},
															 {UINT32_MAX, 0, 1, 16, 1024},
															 {0, 1, 1, 16, 1024},
															 {0, 0, 2, 16, 1024},
															 {0, 0, big, 16, 1024},
															 {0, 0, UINT64_C(1) << 60, 0, 1024},
															 {0, 0, 1, 15, 1024},
															 {0, 0, 1, 16, 8},
															 {0, 0, 1, 16, 1025},
															 {0, 0, 1, 16, big},
															 {0, 0, 1, 16, big - 7},
															 {0, 0, 1, big, 1024},
															 {0, 0, 1, 16, UINT64_C(1) << 31}})
		check_code(socket_path, 2, raw_message(GPUSORTD_SUBMIT, submit), GPUSORTD_INVALID, "SUBMIT");
	for (GpusortdFetch fetch : std::vector<GpusortdFetch>{
			 {64, 0, 0}, {UINT32_MAX, 0, 0}, {0, 2, 0}, {0, 0, 1}, {0, 1, 1}, {0, 0, big - 1}})
		check_code(socket_path, 3, raw_message(GPUSORTD_FETCH, fetch), GPUSORTD_INVALID, "FETCH");
}

/* ---- malformed chunks ---- */

/* A chunk of three good rows that one word is then changed in; -1: none is. */
static void
check_chunk(const std::string &socket_path, uint32_t key_bytes, int word, uint64_t value, bool good)
{
	GpusortdClient client;
	GpusortdBegin begin = {key_bytes, 0, 0, 3, 0, 100, 0};
	uint64_t entry_words = (key_bytes > 0 ? key_bytes : 8) / 8 + 1;
	uint64_t record_words = key_bytes > 0 ? 3 : 5;
	bool ok =
		gpusortd_connect(&client, socket_path.c_str(), nullptr, nullptr) && gpusortd_begin(&client, &begin);
	uint64_t *chunk = (uint64_t *) client.memory;
	uint64_t end = ok ? client.job.chunk_bytes / 8 : 0;
	uint64_t back = end;

	if (!check(ok, "a job for a malformed chunk begins"))
		return;
	for (uint64_t i = 0; i < 3; i++)
	{
		back -= record_words;
		memset(chunk + i * entry_words, 'k', entry_words * 8);
		memset(chunk + back, 'r', record_words * 8);
		chunk[(i + 1) * entry_words - 1] = back * 8;
		if (key_bytes == 0)
			chunk[back] = 8;
		*(uint32_t *) (chunk + back + record_words - 3) = 20;
	}
	/* From 0: words of the first entry; from 100: of the region, whose first record is the last row. */
	if (word >= 100)
		chunk[back + word - 100] = value;
	else if (word >= 0)
		chunk[word] = value;
	ok = gpusortd_take_chunk(&client) == 0 &&
		 gpusortd_submit_chunk(&client, 0, 3, 3 * entry_words * 8, back * 8) && gpusortd_flush(&client);
	check(ok == good && (good || client.code == GPUSORTD_BAD_CHUNK),
		  "keys of %u bytes, word %d of a chunk is %llx: code %d", key_bytes, word,
		  (unsigned long long) value, ok ? 0 : (int) client.code);
	check(gpusortd_end(&client), "and the connection is ready again");
	gpusortd_close(&client);
}

static void
check_chunks(const std::string &socket_path)
{
	const uint64_t values[] =
		{0, 1, 8, 16, 40, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63, UINT64_C(1) << 32};

	for (uint32_t key_bytes : {8u, 32u, 0u})
	{
		int offset_word = key_bytes > 0 ? key_bytes / 8 : 1;

		check_chunk(socket_path, key_bytes, -1, 0, true);
		for (uint64_t value : values)
			check_chunk(socket_path, key_bytes, offset_word, value, false);
		/* The last row's length. */
		for (uint32_t value : {0u, 1u, 16u, 25u, 0xFFFFFFFFu, 0xFFFFFFF8u})
			check_chunk(socket_path, key_bytes, key_bytes > 0 ? 100 : 102, value, false);
	}
	/* The last key's length; 9 to 16 leave one word for a row that says it has 'rrrr' bytes. */
	for (uint64_t value : values)
	{
		if (value != 8 && value != 1)
			check_chunk(socket_path, 0, 100, value, false);
	}
}

/* Whatever is in a chunk, it is an error or it is sorted; also if it is changed meanwhile. */
static void
check_random_chunks(const std::string &socket_path, Random *random)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
	int chunks = 0;
	int taken = 0;
	bool right = true;

	while (right && std::chrono::steady_clock::now() < end)
	{
		uint32_t key_bytes = random_below(random, 2) * 8;
		JobRows rows({key_bytes, 0, 1 + random_below(random, 40), 60, 20, 8}, random);
		GpusortdBegin begin = rows.begin();
		GpusortdClient client;
		uint64_t row = 0;

		right = gpusortd_connect(&client, socket_path.c_str(), nullptr, nullptr) &&
				gpusortd_begin(&client, &begin) &&
				feed_chunk(&client, rows, &row, rows.job.rows, UINT64_MAX) && gpusortd_flush(&client);
		/* The same chunk again, with some words changed, while it is being read. */
		for (int i = 0; i < 20 && right; i++)
		{
			uint64_t *words = (uint64_t *) client.memory;
			uint64_t all = client.job.chunk_bytes / 8;
			uint64_t entries = rows.job.rows * 2;
			GpusortdSubmit submit = {0, 0, rows.job.rows, entries * 8,
									 client.job.chunk_bytes - random_below(random, 200) * 8};

			for (int change = 0; change < 3; change++)
			{
				uint64_t at = random_below(random, 2) ? random_below(random, entries)
													  : all - 1 - random_below(random, 200);

				words[at] = random_below(random, 2) ? (*random)()
													: client.job.chunk_bytes - random_below(random, 300);
			}
			raw_send(client.fd, raw_message(GPUSORTD_SUBMIT, submit));
			words[random_below(random, entries)] = (*random)();
			chunks++;
		}
		(void) gpusortd_perform(&client);
		taken += gpusortd_end(&client);
		gpusortd_close(&client);
	}
	check(right && taken > 0, "%d chunks with random changes", chunks);
}

/* ---- all of it ---- */

/* Files passed to gpusortd are not kept. */
static void
check_passed_files(const std::string &socket_path)
{
	int fd = raw_connect(socket_path);

	raw_send(fd, path_to_state(1), 3);
	check(raw_receive(fd, 100).size() > 0, "files passed to gpusortd");
	close(fd);
}

void
check_messages(Random *random)
{
	Daemon daemon;
	JobRows rows({0, 0, 5000, 60, 20, 8}, random);
	GpusortdClient client;
	std::string why;
	long grown;

	check_headers(daemon.socket_path);
	check_truncated(daemon.socket_path);
	check_states(daemon.socket_path);
	check_numbers(daemon.socket_path);
	check_chunks(daemon.socket_path);
	check_passed_files(daemon.socket_path);
	check_random_chunks(daemon.socket_path, random);
	check(daemon.running(), "gpusortd lives");
	check(daemon.settles(), "all clients' files and threads are given back");
	grown = daemon.holdings().resident_kb - daemon.at_start.resident_kb;
	check(options.cuda || grown < 64 * 1024, "its memory has grown by %ld kB", grown);
	check(run_job(&client, daemon.socket_path, &rows, random, &why), "and it sorts %s", why.c_str());
	gpusortd_close(&client);
}
