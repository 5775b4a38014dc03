/*
 * job.cc
 *		One measured job: processes that feed it together, one of which sorts it and fetches the result.
 *
 * All processes know of each other by a struct in shared memory.  Feeding is timed from when all are
 * connected until the last is through; keys are pseudo-random numbers, so that whoever fetches can tell
 * whether the result is right: rows come in the order of their numbers' images, and the sum of their numbers
 * is known.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/check/bench/bench.h"

#define VARIABLE_KEY_BYTES 16

/* What the processes of one job tell each other. */
struct BenchShare
{
	std::atomic<uint64_t> job; /* 0: not begun */
	std::atomic<uint64_t> token;
	std::atomic<int> connected;
	std::atomic<int> fed;
	std::atomic<bool> failed;
	BenchTimes times;
};

double
bench_now()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* An invertible hash: different numbers have different images. */
static uint64_t
image(uint64_t number)
{
	number = (number ^ number >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	number = (number ^ number >> 27) * UINT64_C(0x94D049BB133111EB);
	return number ^ number >> 31;
}

static void
wait_until(const BenchShare *share, const std::atomic<int> &count, int wanted)
{
	while (count < wanted && !share->failed)
		usleep(50);
}

static bool
say_why(BenchShare *share, const char *doing, const GpusortdClient &client)
{
	note("%s: %s", doing, client.message);
	share->failed = true;
	return false;
}

/* ---- feeding ---- */

static uint64_t
record_bytes(const BenchCase &wanted)
{
	return wanted.row_bytes + (wanted.key_bytes > 0 ? 0 : 8 + VARIABLE_KEY_BYTES);
}

static uint64_t
entry_bytes(const BenchCase &wanted)
{
	return (wanted.key_bytes > 0 ? wanted.key_bytes : 8) + 8;
}

/* Writes the entry and the row, or record, of one row. */
static void
put_row(const BenchCase &wanted, char *entry, char *record, uint64_t offset, uint64_t number)
{
	uint64_t key = image(number);
	uint64_t bytes = __builtin_bswap64(key);
	uint32_t entry_key = wanted.key_bytes > 0 ? wanted.key_bytes : 8;
	char *row = record + record_bytes(wanted) - wanted.row_bytes;

	for (uint32_t at = 0; at < entry_key; at += 8)
		memcpy(entry + at, &bytes, 8);
	memcpy(entry + entry_key, &offset, 8);
	if (wanted.key_bytes == 0)
	{
		uint64_t length = VARIABLE_KEY_BYTES;

		memcpy(record, &length, 8);
		memcpy(record + 8, &bytes, 8);
		memset(record + 16, 'k', VARIABLE_KEY_BYTES - 8);
	}
	memset(row, 0, wanted.row_bytes);
	memcpy(row, &wanted.row_bytes, sizeof(wanted.row_bytes));
	memcpy(row + 8, &number, 8);
	memcpy(row + 16, &key, 8);
}

/* Fills and submits chunks with the rows from `number` up to `end`. */
static bool
feed_rows(GpusortdClient *client, const BenchCase &wanted, uint64_t number, uint64_t end, BenchTimes *times)
{
	uint64_t record = record_bytes(wanted);
	uint64_t entry = entry_bytes(wanted);
	uint64_t most = client->job.chunk_bytes / (record + entry);

	while (number < end)
	{
		int chunk = gpusortd_take_chunk(client);
		uint64_t rows = std::min(most, end - number);
		double start = bench_now();

		if (chunk < 0)
			return false;
		for (uint64_t i = 0; i < rows; i++)
		{
			uint64_t offset = client->job.chunk_bytes - (i + 1) * record;

			put_row(wanted, gpusortd_chunk(client, chunk) + i * entry, gpusortd_chunk(client, chunk) + offset,
					offset, number++);
		}
		times->fill += bench_now() - start;
		times->chunks++;
		if (!gpusortd_submit_chunk(client, chunk, rows, rows * entry,
								   client->job.chunk_bytes - rows * record))
			return false;
	}
	return gpusortd_flush(client);
}

/* The rows of one of the processes. */
static uint64_t
first_row(const BenchCase &wanted, int feeder)
{
	return wanted.rows * feeder / wanted.feeders;
}

[[noreturn]] static void
help(const std::string &socket_path, const BenchCase &wanted, int feeder, BenchShare *share)
{
	GpusortdClient client;
	BenchTimes times = {};
	bool ok = gpusortd_connect(&client, socket_path.c_str(), nullptr, nullptr);

	while (share->job == 0 && !share->failed)
		usleep(50);
	ok = ok && !share->failed && gpusortd_join(&client, share->job, share->token);
	share->connected++;
	wait_until(share, share->connected, wanted.feeders);
	ok = ok && feed_rows(&client, wanted, first_row(wanted, feeder), first_row(wanted, feeder + 1), &times);
	if (!ok)
		say_why(share, "a joiner", client);
	share->fed++;
	gpusortd_close(&client);
	_exit(0);
}

/* ---- fetching ---- */

static bool
fetch_rows(GpusortdClient *client, BenchTimes *times)
{
	GpusortdRows window;
	uint64_t position = 0;

	do
	{
		if (!gpusortd_fetch(client, false, GPUSORTD_NEXT, &window))
			return false;
		position += window.rows;
		times->windows += window.rows > 0;
		times->bytes_out += window.bytes;
	} while (window.rows > 0);
	return position == times->sorted.rows;
}

/* Are these all rows, in order? */
static bool
check_rows(GpusortdClient *client, const BenchCase &wanted)
{
	GpusortdRows window;
	uint64_t position = 0;
	uint64_t last = 0;
	uint64_t numbers = 0;

	do
	{
		if (!gpusortd_fetch(client, false, position, &window))
			return false;
		position += window.rows;
		for (uint64_t i = 0; i < window.rows; i++)
		{
			uint64_t row[3];

			memcpy(row, gpusortd_chunk(client, window.chunk) + i * wanted.row_bytes, sizeof(row));
			if ((position > window.rows || i > 0) && row[2] <= last)
				return false;
			if (row[0] != wanted.row_bytes || row[2] != image(row[1]))
				return false;
			last = row[2];
			numbers += row[1];
		}
	} while (window.rows > 0);
	return position == wanted.rows && numbers == wanted.rows * (wanted.rows - 1) / 2;
}

/* ---- a job ---- */

static bool
begin_job(GpusortdClient *client, const std::string &socket_path, const BenchCase &wanted, BenchShare *share)
{
	GpusortdBegin begin = {};

	begin.key_bytes = wanted.key_bytes;
	begin.expected_rows = wanted.rows;
	begin.expected_key_bytes = wanted.key_bytes > 0 ? 0 : wanted.rows * VARIABLE_KEY_BYTES;
	begin.expected_row_bytes = wanted.rows * wanted.row_bytes;
	if (!gpusortd_connect(client, socket_path.c_str(), nullptr, nullptr) || !gpusortd_begin(client, &begin))
		return say_why(share, "begin", *client);
	share->token = client->job.token;
	share->job = client->job.job;
	share->connected++;
	wait_until(share, share->connected, wanted.feeders);
	return !share->failed;
}

/* The process that begins the job, sorts it and fetches the result. */
static bool
lead(const std::string &socket_path, const BenchCase &wanted, bool check_result, BenchShare *share)
{
	GpusortdClient client;
	BenchTimes *times = &share->times;
	double start = bench_now();
	bool ok = begin_job(&client, socket_path, wanted, share);
	double begun = bench_now();

	times->begin = begun - start;
	if (ok && !feed_rows(&client, wanted, 0, first_row(wanted, 1), times))
		ok = say_why(share, "feed", client);
	share->fed++;
	wait_until(share, share->fed, wanted.feeders);
	ok = ok && !share->failed;
	times->feed = bench_now() - begun;
	if (ok && !gpusortd_perform(&client))
		ok = say_why(share, "perform", client);
	times->perform = bench_now() - begun - times->feed;
	times->sorted = client.sorted;
	start = bench_now();
	if (ok && !fetch_rows(&client, times))
		ok = say_why(share, "fetch", client);
	times->fetch = bench_now() - start;
	if (ok && check_result && !check_rows(&client, wanted))
		ok = say_why(share, "the result is wrong", client);
	start = bench_now();
	ok = ok && gpusortd_end(&client);
	gpusortd_close(&client);
	times->end = bench_now() - start;
	times->bytes_in = wanted.rows * (record_bytes(wanted) + entry_bytes(wanted));
	return ok;
}

bool
bench_run(const std::string &socket_path, const BenchCase &wanted, bool check_result, BenchTimes *times)
{
	size_t bytes = sizeof(BenchShare) * wanted.jobs;
	BenchShare *shares =
		(BenchShare *) mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	std::vector<pid_t> pids;
	bool ok = true;
	int status;

	for (int i = 0; i < wanted.jobs * wanted.feeders; i++)
	{
		pid_t pid = wanted.jobs * wanted.feeders == 1 ? 0 : fork();
		BenchShare *share = &shares[i / wanted.feeders];

		if (pid == 0 && i % wanted.feeders > 0)
			help(socket_path, wanted, i % wanted.feeders, share);
		if (pid == 0)
			share->failed = !lead(socket_path, wanted, check_result, share);
		if (pid == 0 && wanted.jobs * wanted.feeders > 1)
			_exit(0);
		if (pid > 0)
			pids.push_back(pid);
	}
	for (pid_t pid : pids)
		ok &= waitpid(pid, &status, 0) == pid && status == 0;
	*times = {};
	for (int i = 0; i < wanted.jobs; i++)
	{
		ok &= !shares[i].failed;
		if (shares[i].times.feed + shares[i].times.fetch >= times->feed + times->fetch)
			*times = shares[i].times;
	}
	munmap(shares, bytes);
	return ok;
}
