/*
 * job_case.cc
 *		Jobs with known answers.
 *
 * A row begins with its length, as a MinimalTuple does, and has its number in its second word.  So whatever
 * comes back can be compared with what was sent; a result is right if every row is there once, unchanged, and
 * no key is less than the one before it.  Ties may come in any order, but in the same one however the result
 * is read.
 */
#include <algorithm>
#include <cstring>

#include "daemon/check/harness/check.h"

/* ---- making rows ---- */

static std::string
make_key(const JobCase &job, Random *random)
{
	uint64_t length = job.key_bytes > 0 ? job.key_bytes : random_below(random, job.longest_key + 1);
	std::string key(length, 'k');

	for (uint64_t i = 0; i < std::min<uint64_t>(length, job.different_bytes); i++)
		key[length - 1 - i] = (char) random_below(random, 256);
	/* A variable key ends in no zero. */
	if (job.key_bytes == 0 && length > 0 && key.back() == '\0')
		key.back() = '\1';
	return key;
}

static std::string
make_row(const JobCase &job, uint64_t number, Random *random)
{
	uint32_t length = 16 + random_below(random, job.longest_row - 16 + 1);
	std::string row((length + 7) / 8 * 8, '\0');

	for (size_t i = 16; i < row.size(); i += 8)
	{
		uint64_t word = (*random)();

		memcpy(&row[i], &word, sizeof(word));
	}
	memcpy(&row[0], &length, sizeof(length));
	memcpy(&row[8], &number, sizeof(number));
	return row;
}

JobRows::JobRows(const JobCase &wanted, Random *random) : job(wanted)
{
	for (uint64_t i = 0; i < job.rows; i++)
	{
		keys.push_back(make_key(job, random));
		rows.push_back(make_row(job, i, random));
	}
}

GpusortdBegin
JobRows::begin() const
{
	GpusortdBegin begin = {};

	begin.key_bytes = job.key_bytes;
	begin.algorithm = job.algorithm;
	begin.expected_rows = job.rows;
	begin.expected_row_bytes = job.rows * 64;
	return begin;
}

JobCase
random_case(Random *random)
{
	static const uint32_t widths[] = {0, 0, 8, 16, 24, 32};
	static const uint64_t most_rows[] = {0, 1, 2, 33, 1000, 20000};
	JobCase job = {};

	job.key_bytes = widths[random_below(random, 6)];
	job.algorithm = random_below(random, 4);
	job.rows = random_below(random, most_rows[random_below(random, 6)] + 1);
	job.longest_row = random_below(random, 4) == 0 ? 2000 : 16 + random_below(random, 100);
	job.longest_key = random_below(random, 4) == 0 ? 300 : random_below(random, 30);
	job.different_bytes = random_below(random, 12);
	return job;
}

std::string
describe(const JobCase &job)
{
	return std::to_string(job.rows) + " rows up to " + std::to_string(job.longest_row) + " bytes, " +
		   (job.key_bytes > 0 ? "keys of " + std::to_string(job.key_bytes)
							  : "keys up to " + std::to_string(job.longest_key)) +
		   ", " + std::to_string(job.different_bytes) + " of them different, algorithm " +
		   std::to_string(job.algorithm);
}

/* ---- feeding ---- */

/* Writes a row to the chunk, as src/sort/chunk.h says; false: it has no room. */
static bool
put_row(char *chunk, const JobRows &rows, uint64_t row, uint64_t *front, uint64_t *back)
{
	const std::string &key = rows.keys[row];
	const std::string &bytes = rows.rows[row];
	std::string entry = key;
	std::string record = bytes;
	uint64_t word;

	if (rows.job.key_bytes == 0)
	{
		uint64_t length = key.size();

		record = std::string((const char *) &length, sizeof(length)) + key;
		record.resize((record.size() + 7) / 8 * 8);
		record += bytes;
		entry.resize(8);
	}
	if (*back - *front < entry.size() + sizeof(word) + record.size())
		return false;
	*back -= record.size();
	memcpy(chunk + *back, record.data(), record.size());
	word = *back;
	entry.append((const char *) &word, sizeof(word));
	memcpy(chunk + *front, entry.data(), entry.size());
	*front += entry.size();
	return true;
}

bool
feed_chunk(GpusortdClient *client, const JobRows &rows, uint64_t *row, uint64_t end, uint64_t most, int *used)
{
	int chunk = gpusortd_take_chunk(client);
	uint64_t first = *row;
	uint64_t front = 0;
	uint64_t back = client->job.chunk_bytes;

	if (chunk < 0)
		return false;
	while (*row < end && *row - first < most &&
		   put_row(gpusortd_chunk(client, chunk), rows, *row, &front, &back))
		++*row;
	if (used != nullptr)
		*used = chunk;
	return gpusortd_submit_chunk(client, chunk, *row - first, front, back);
}

bool
feed(GpusortdClient *client, const JobRows &rows, uint64_t first, uint64_t end, Random *random)
{
	while (first < end)
	{
		if (!feed_chunk(client, rows, &first, end,
						random_below(random, 4) == 0 ? random_below(random, 50) : UINT64_MAX))
			return false;
	}
	return true;
}

/* ---- comparing ---- */

/* The number of the row at this place of a window, which must be as it was sent; -1: it isn't. */
static int64_t
recognize(const JobRows &rows, const char *at, uint64_t left)
{
	uint64_t number;

	if (left < 16)
		return -1;
	memcpy(&number, at + 8, sizeof(number));
	if (number >= rows.rows.size() || rows.rows[number].size() > left ||
		memcmp(rows.rows[number].data(), at, rows.rows[number].size()) != 0)
		return -1;
	return (int64_t) number;
}

/* The numbers of a window's rows; false if they are not all there is in it. */
static bool
read_window(GpusortdClient *client, const JobRows &rows, const GpusortdRows &window,
			std::vector<uint32_t> *numbers)
{
	const char *chunk = gpusortd_chunk(client, window.chunk);
	uint64_t at = 0;

	numbers->clear();
	for (uint64_t i = 0; i < window.rows; i++)
	{
		int64_t number = recognize(rows, chunk + at, window.bytes - at);

		if (number < 0)
			return false;
		numbers->push_back((uint32_t) number);
		at += rows.rows[number].size();
	}
	return at == window.bytes;
}

static bool
say(std::string *why, const std::string &what)
{
	*why = what;
	return false;
}

static bool
check_order(const JobRows &rows, std::string *why)
{
	std::vector<bool> seen = rows.refused;
	uint64_t refused = std::count(seen.begin(), seen.end(), true);

	seen.resize(rows.rows.size());
	if (rows.order.size() != rows.rows.size() - refused)
		return say(why, std::to_string(rows.order.size()) + " rows came back");
	for (size_t i = 0; i < rows.order.size(); i++)
	{
		if (seen[rows.order[i]])
			return say(why, "row " + std::to_string(rows.order[i]) + " came back twice, or was refused");
		seen[rows.order[i]] = true;
		/* std::string compares as memcmp does. */
		if (i > 0 && rows.keys[rows.order[i - 1]] > rows.keys[rows.order[i]])
			return say(why, "the key at " + std::to_string(i) + " is less than the one before it");
	}
	return true;
}

bool
fetch_all(GpusortdClient *client, JobRows *rows, std::string *why)
{
	std::vector<uint32_t> numbers;
	GpusortdRows window;

	rows->order.clear();
	do
	{
		if (!gpusortd_fetch(client, false, GPUSORTD_NEXT, &window))
			return say(why, std::string("fetch: ") + client->message);
		if (window.first != rows->order.size() || !read_window(client, *rows, window, &numbers))
			return say(why, "the window at " + std::to_string(rows->order.size()) + " is wrong");
		rows->order.insert(rows->order.end(), numbers.begin(), numbers.end());
	} while (window.rows > 0);
	return check_order(*rows, why);
}

/* Does the window at this position, or before it, have the rows that it should? */
static bool
check_window(GpusortdClient *client, const JobRows &rows, const GpusortdRows &window, bool backward,
			 uint64_t position, std::string *why)
{
	std::vector<uint32_t> numbers;
	bool at_end = position == (backward ? 0 : rows.order.size());

	if ((backward ? window.first + window.rows : window.first) != position || (window.rows == 0) != at_end)
		return say(why, "a window " + std::string(backward ? "before " : "at ") + std::to_string(position) +
							" has " + std::to_string(window.rows) + " rows from " +
							std::to_string(window.first));
	if (!read_window(client, rows, window, &numbers) ||
		!std::equal(numbers.begin(), numbers.end(), rows.order.begin() + window.first))
		return say(why, "a window at " + std::to_string(window.first) + " has other rows than before");
	return true;
}

bool
fetch_around(GpusortdClient *client, const JobRows &rows, Random *random, std::string *why)
{
	for (int i = 0; i < 12; i++)
	{
		/* All of it backwards and forwards, then from anywhere to anywhere. */
		bool backward = i == 0 || (i > 1 && random_below(random, 2) == 0);
		bool jump = i > 1;
		uint64_t position = i == 0	 ? rows.order.size()
							: i == 1 ? 0
									 : random_below(random, rows.order.size() + 1);
		uint64_t ask = i == 0 || jump ? position : GPUSORTD_NEXT;
		uint64_t windows = jump ? 1 + random_below(random, 6) : UINT64_MAX;
		GpusortdRows window = {};

		for (uint64_t w = 0; w < windows && (w == 0 || window.rows > 0); w++)
		{
			if (!gpusortd_fetch(client, backward, ask, &window))
				return say(why, std::string("fetch: ") + client->message);
			if (!check_window(client, rows, window, backward, position, why))
				return false;
			position = backward ? window.first : window.first + window.rows;
			ask = GPUSORTD_NEXT;
		}
	}
	return true;
}

bool
run_job(GpusortdClient *client, const std::string &socket_path, JobRows *rows, Random *random,
		std::string *why)
{
	GpusortdBegin begin = rows->begin();

	if (!gpusortd_connect(client, socket_path.c_str(), nullptr, nullptr) || !gpusortd_begin(client, &begin))
		return say(why, std::string("begin: ") + client->message);
	if (!feed(client, *rows, 0, rows->job.rows, random))
		return say(why, std::string("feed: ") + client->message);
	if (!gpusortd_perform(client))
		return say(why, std::string("perform: ") + client->message);
	if (client->sorted.rows != rows->job.rows)
		return say(why, "SORTED says " + std::to_string(client->sorted.rows) + " rows");
	return fetch_all(client, rows, why) && fetch_around(client, *rows, random, why);
}

bool
still_sorts(const Daemon &daemon, Random *random)
{
	JobRows rows(random_case(random), random);
	GpusortdClient client;
	std::string why;
	bool right = run_job(&client, daemon.socket_path, &rows, random, &why);

	gpusortd_close(&client);
	if (!right)
		note("%s: %s", describe(rows.job).c_str(), why.c_str());
	return right;
}
