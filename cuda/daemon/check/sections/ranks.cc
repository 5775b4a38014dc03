/*
 * ranks.cc
 *		Jobs whose keys have codes, which become ranks.
 *
 * Codes and ranks are random, and some ranks are equal.  The order that must come out is that of the keys
 * with ranks in them.
 */
#include <algorithm>
#include <cstring>
#include <numeric>

#include "daemon/check/harness/raw.h"

/* The codes at one place of the keys, and their ranks. */
struct CodedPlace
{
	uint32_t offset;
	std::vector<uint32_t> ranks;
};

static CodedPlace
make_place(uint32_t offset, uint64_t codes, Random *random)
{
	CodedPlace place = {offset, std::vector<uint32_t>(codes)};

	std::iota(place.ranks.begin(), place.ranks.end(), 0);
	std::shuffle(place.ranks.begin(), place.ranks.end(), *random);
	for (uint32_t &rank : place.ranks)
		rank = random_below(random, 4) == 0 ? rank / 2 : rank * UINT32_C(5);
	return place;
}

static void
write_number(std::string *key, uint32_t offset, uint32_t number)
{
	for (int i = 0; i < 4; i++)
		(*key)[offset + i] = (char) (number >> (24 - 8 * i));
}

/* Gives each row a code at each place, and returns the keys with ranks. */
static std::vector<std::string>
code_rows(JobRows *rows, const std::vector<CodedPlace> &places, Random *random)
{
	std::vector<std::string> ranked = rows->keys;

	for (size_t i = 0; i < rows->keys.size(); i++)
	{
		for (const CodedPlace &place : places)
		{
			uint32_t code = random_below(random, place.ranks.size());

			write_number(&rows->keys[i], place.offset, code);
			write_number(&ranked[i], place.offset, place.ranks[code]);
		}
	}
	return ranked;
}

/* Sends the ranks in pieces of at most so many. */
static bool
send_ranks(GpusortdClient *client, const CodedPlace &place, uint64_t most)
{
	uint64_t codes = place.ranks.size();

	for (uint64_t first = 0; first < codes; first += most)
	{
		uint64_t n = std::min(most, codes - first);
		int chunk = gpusortd_take_chunk(client);

		if (chunk < 0)
			return false;
		memcpy(gpusortd_chunk(client, chunk), &place.ranks[first], n * sizeof(uint32_t));
		if (!gpusortd_submit_ranks(client, chunk, place.offset, first, n))
			return false;
	}
	return true;
}

/* A joiner feeds some of the rows, where there is one. */
static bool
feed_with_joiner(const std::string &socket_path, GpusortdClient *client, const JobRows &rows, bool joined,
				 Random *random)
{
	uint64_t half = joined ? rows.job.rows / 2 : 0;
	GpusortdClient joiner;
	bool ok = true;

	if (joined)
	{
		ok = gpusortd_connect(&joiner, socket_path.c_str(), nullptr, nullptr) &&
			 gpusortd_join(&joiner, client->job.job, client->job.token) &&
			 feed(&joiner, rows, 0, half, random) && gpusortd_flush(&joiner);
		gpusortd_close(&joiner);
	}
	return ok && feed(client, rows, half, rows.job.rows, random);
}

static bool
run_coded(const std::string &socket_path, GpusortdClient *client, JobRows *rows,
		  const std::vector<CodedPlace> &places, bool joined, Random *random, std::string *why)
{
	std::vector<std::string> ranked = code_rows(rows, places, random);
	GpusortdBegin begin = rows->begin();
	bool ok = gpusortd_begin(client, &begin) && feed_with_joiner(socket_path, client, *rows, joined, random);

	for (const CodedPlace &place : places)
		ok = ok && send_ranks(client, place,
							  std::min<uint64_t>(client->job.chunk_bytes / sizeof(uint32_t),
												 1 + place.ranks.size() / (1 + random_below(random, 3))));
	if (!ok || !gpusortd_perform(client))
	{
		*why = client->message;
		return false;
	}
	rows->keys = ranked;
	return fetch_all(client, rows, why) && fetch_around(client, *rows, random, why);
}

static void
check_order(const std::string &socket_path, Random *random)
{
	GpusortdClient client;
	bool right = gpusortd_connect(&client, socket_path.c_str(), nullptr, nullptr);
	std::string why = client.message;
	int jobs = 0;

	for (uint32_t key_bytes = 8; key_bytes <= 32 && right; key_bytes += 8)
	{
		for (uint64_t codes : {1, 2, 700, 50000})
		{
			for (uint64_t n : {0, 1, 300, 30000})
			{
				JobRows rows({key_bytes, GPUSORTD_AUTO, n, 60, 0, (uint32_t) random_below(random, 9)},
							 random);
				std::vector<CodedPlace> places = {
					make_place((uint32_t) random_below(random, key_bytes - 3), codes, random)};

				if (key_bytes > 8)
					places = {make_place(1, codes, random), make_place(key_bytes / 2, codes / 2 + 1, random)};
				right =
					right && run_coded(socket_path, &client, &rows, places, jobs++ % 3 == 0, random, &why);
			}
		}
	}
	check(right, "%d jobs with ranks in the place of codes %s", jobs, why.c_str());
	gpusortd_close(&client);
}

/* ---- what is refused ---- */

/* A job of one chunk, fed; false: it could not be. */
static bool
feed_small(GpusortdClient *client, const std::string &socket_path, JobRows *rows, Random *random)
{
	GpusortdBegin begin = rows->begin();

	return gpusortd_connect(client, socket_path.c_str(), nullptr, nullptr) &&
		   gpusortd_begin(client, &begin) && feed(client, *rows, 0, rows->job.rows, random) &&
		   gpusortd_flush(client);
}

/* RANKS after a good one of four codes at offset 0 of 8 bytes, if `after`. */
static void
check_ranks(const std::string &socket_path, uint32_t key_bytes, bool after, GpusortdRanks ranks,
			Random *random)
{
	JobRows rows({key_bytes, GPUSORTD_AUTO, 10, 40, 10, 0}, random);
	GpusortdClient client;
	GpusortdRanks good = {0, 0, 0, 4};
	std::string bytes = after ? raw_message(GPUSORTD_RANKS, good) : "";
	GpusortdError error = {};
	bool ok = feed_small(&client, socket_path, &rows, random);

	raw_send(client.fd, bytes + raw_message(GPUSORTD_RANKS, ranks));
	ok = ok && (!after || next_message(&client) == GPUSORTD_CHUNK_FREE) &&
		 next_message(&client, &error) == GPUSORTD_ERROR;
	check(ok && error.code == GPUSORTD_INVALID && gpusortd_end(&client),
		  "RANKS of %llu codes from %llu at %u of %u bytes is refused: %s", (unsigned long long) ranks.codes,
		  (unsigned long long) ranks.first, ranks.offset, key_bytes, error.message);
	gpusortd_close(&client);
}

static void
check_numbers(const std::string &socket_path, Random *random)
{
	const uint64_t big = UINT64_MAX;

	for (GpusortdRanks ranks : std::vector<GpusortdRanks>{{64, 0, 0, 1},
														  {UINT32_MAX, 0, 0, 1},
														  {0, 5, 0, 1},
														  {0, 8, 0, 1},
														  {0, UINT32_MAX, 0, 1},
														  {0, 0, 0, 0},
														  {0, 0, 0, big},
														  {0, 0, 0, UINT64_C(1) << 62},
														  {0, 0, 1, 1},
														  {0, 0, big, 1}})
		check_ranks(socket_path, 8, false, ranks, random);
	for (GpusortdRanks ranks : std::vector<GpusortdRanks>{{0, 0, 3, 1},
														  {0, 0, 5, 1},
														  {0, 1, 4, 1},
														  {0, 0, 4, 0},
														  {0, 0, 4, UINT64_C(1) << 32},
														  {0, 0, big, 2}})
		check_ranks(socket_path, 8, true, ranks, random);
	check_ranks(socket_path, 0, false, {0, 0, 0, 1}, random);
}

/* A code that has no rank: the last one, in one of many rows. */
static void
check_without_rank(const std::string &socket_path, uint32_t key_bytes, Random *random)
{
	JobRows rows({key_bytes, GPUSORTD_AUTO, 3000, 40, 0, 0}, random);
	CodedPlace place = make_place(key_bytes - 4, 300, random);
	GpusortdClient client;
	bool ok;

	(void) code_rows(&rows, {place}, random);
	write_number(&rows.keys[random_below(random, rows.keys.size())], place.offset, 300);
	ok = feed_small(&client, socket_path, &rows, random) && send_ranks(&client, place, 100);
	check(ok && !gpusortd_perform(&client) && client.code == GPUSORTD_BAD_CHUNK && gpusortd_end(&client),
		  "keys of %u bytes: a code without a rank fails the job: %s", key_bytes, client.message);
	gpusortd_close(&client);
}

static void
check_too_many(const std::string &socket_path, Random *random)
{
	JobRows rows({32, GPUSORTD_AUTO, 10, 40, 0, 0}, random);
	CodedPlace place = make_place(0, 1, random);
	GpusortdClient client;
	bool ok;

	(void) code_rows(&rows, {place}, random);
	ok = feed_small(&client, socket_path, &rows, random);
	for (int i = 0; i < GPUSORTD_MAX_RANK_COLUMNS && ok; i++)
		ok = send_ranks(&client, place, 1);
	ok = ok && gpusortd_flush(&client);
	check(ok && send_ranks(&client, place, 1) && !gpusortd_flush(&client) && client.code == GPUSORTD_INVALID,
		  "more than %d columns with ranks are refused", GPUSORTD_MAX_RANK_COLUMNS);
	gpusortd_close(&client);
}

/* No chunk comes after ranks: not of the leader, and not of a joiner, which is told so alone. */
static void
check_late_rows(const std::string &socket_path, Random *random)
{
	JobRows rows({8, GPUSORTD_AUTO, 100, 40, 0, 0}, random);
	CodedPlace place = make_place(0, 10, random);
	GpusortdClient client;
	GpusortdClient joiner;
	uint64_t row = 0;
	bool ok;

	(void) code_rows(&rows, {place}, random);
	ok = feed_small(&client, socket_path, &rows, random) &&
		 gpusortd_connect(&joiner, socket_path.c_str(), nullptr, nullptr) &&
		 gpusortd_join(&joiner, client.job.job, client.job.token) && send_ranks(&client, place, 10) &&
		 gpusortd_flush(&client);
	check(ok && feed_chunk(&joiner, rows, &row, 10, 10) && !gpusortd_flush(&joiner) &&
			  joiner.code == GPUSORTD_JOB_OVER,
		  "rows of a joiner after ranks are refused: %s", joiner.message);
	row = 0;
	check(gpusortd_perform(&client) && client.sorted.rows == 100 && gpusortd_end(&client),
		  "and the job goes on");
	gpusortd_close(&joiner);
	gpusortd_close(&client);
	ok = feed_small(&client, socket_path, &rows, random) && send_ranks(&client, place, 10) &&
		 feed_chunk(&client, rows, &row, 10, 10);
	check(ok && !gpusortd_flush(&client) && client.code == GPUSORTD_JOB_OVER,
		  "rows of the leader after ranks fail the job: %s", client.message);
	gpusortd_close(&client);
}

/* A device of little memory, ranks of many more codes than there are rows. */
static void
check_memory(Random *random)
{
	uint64_t most = (options.cuda ? UINT64_C(96) : UINT64_C(2)) << 20;
	Daemon daemon({"--devices", "0", "--max-device-memory", std::to_string(most)});
	JobRows rows({8, GPUSORTD_AUTO, 100, 40, 0, 0}, random);
	CodedPlace place = make_place(0, most / sizeof(uint32_t), random);
	GpusortdClient client;
	bool ok;

	(void) code_rows(&rows, {make_place(0, 10, random)}, random);
	ok = feed_small(&client, daemon.socket_path, &rows, random);
	check(ok &&
			  !(send_ranks(&client, place, client.job.chunk_bytes / sizeof(uint32_t)) &&
				gpusortd_flush(&client)) &&
			  client.code == GPUSORTD_MEMORY_FULL && gpusortd_end(&client),
		  "ranks for which there is no memory fail the job: %s", client.message);
	gpusortd_close(&client);
	check(daemon.settles() && nothing_is_promised(daemon), "all is given back");
}

void
check_ranks(Random *random)
{
	Daemon daemon;

	check_order(daemon.socket_path, random);
	check_numbers(daemon.socket_path, random);
	for (uint32_t key_bytes = 8; key_bytes <= 32; key_bytes += 8)
		check_without_rank(daemon.socket_path, key_bytes, random);
	check_too_many(daemon.socket_path, random);
	check_late_rows(daemon.socket_path, random);
	check(daemon.settles(), "all clients' files and threads are given back");
	check(still_sorts(daemon, random), "and gpusortd sorts");
	check_memory(random);
}
