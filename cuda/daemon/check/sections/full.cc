/*
 * full.cc
 *		A device whose memory is full in the middle of a feed, or that part of it which a job may have: chunks
 *		come back, what was taken is sorted.
 *
 * On a card rows are wide, for the least that a job takes there are some tens of megabytes.
 */
#include <algorithm>
#include <map>

#include "daemon/check/harness/check.h"

static JobCase
large_case(uint32_t key_bytes)
{
	return options.cuda ? JobCase{key_bytes, 0, 150000, 2000, 20, 8}
						: JobCase{key_bytes, 0, 60000, 60, 20, 8};
}

/*
 * Feeds until a chunk is refused.  Those that were submitted before that was known may be taken: they can be
 * smaller.  Rows that were not sent at all are forgotten.
 */
static bool
feed_until_full(GpusortdClient *client, JobRows *rows)
{
	std::map<int, std::pair<uint64_t, uint64_t>> last; /* what each chunk was filled with last: from, to */
	uint64_t row = 0;
	int chunk;

	for (uint64_t first = 0; row < rows->job.rows; first = row)
	{
		if (!feed_chunk(client, *rows, &row, rows->job.rows, UINT64_MAX, &chunk))
			break;
		last[chunk] = {first, row};
	}
	if (row == rows->job.rows || client->code != GPUSORTD_MEMORY_FULL || !gpusortd_flush(client) ||
		client->refused == 0)
		return false;
	rows->keys.resize(row);
	rows->rows.resize(row);
	rows->refused.assign(row, false);
	for (const auto &[number, filled] : last)
	{
		if (client->chunk[number] == GPUSORTD_CHUNK_REFUSED)
			std::fill(rows->refused.begin() + filled.first, rows->refused.begin() + filled.second, true);
	}
	return true;
}

/* Is a job sorted that the device has room for? (A random one may be larger than that.) */
static bool
sorts_few_rows(const Daemon &daemon, uint32_t key_bytes, Random *random)
{
	JobCase few = large_case(key_bytes);
	GpusortdClient client;
	std::string why;

	few.rows = 1000;
	JobRows rows(few, random);
	bool right = run_job(&client, daemon.socket_path, &rows, random, &why);

	gpusortd_close(&client);
	if (!right)
		note("%s", why.c_str());
	return right;
}

static uint64_t
promised_bytes(const Daemon &daemon)
{
	GpusortdClient client;
	uint64_t bytes = 0;

	if (gpusortd_connect(&client, daemon.socket_path.c_str(), nullptr, nullptr))
		bytes = client.welcome.device[0].limit_bytes - client.welcome.device[0].free_bytes;
	gpusortd_close(&client);
	return bytes;
}

/*
 * Whatever a job expects, and in the place of another one as well, it is promised no more than it may have;
 * less than what it begins with is refused at once.
 */
static void
check_limits(GpusortdClient *client, const Daemon &daemon, const JobRows &rows, GpusortdBegin begin)
{
	GpusortdClient other;
	uint64_t row = 0;
	bool ok = true;

	ok = gpusortd_begin(client, &begin) && feed_chunk(client, rows, &row, rows.job.rows, 10) &&
		 gpusortd_perform(client) && gpusortd_begin(client, &begin);
	for (int i = 0; ok && i < 1000 && feed_chunk(client, rows, &row, rows.job.rows, UINT64_MAX); i++)
		row = 0;
	check(ok && client->code == GPUSORTD_MEMORY_FULL && promised_bytes(daemon) <= begin.most_bytes,
		  "in the place of another one as well: %llu bytes are promised",
		  (unsigned long long) promised_bytes(daemon));
	check(gpusortd_end(client), "and ended");
	begin.expected_rows = 1000000;
	begin.expected_row_bytes = begin.most_bytes * 4;
	check(gpusortd_begin(client, &begin) && client->job.promised_bytes <= begin.most_bytes &&
			  gpusortd_end(client),
		  "a job that expects more is promised as much");
	begin.most_bytes = 1;
	ok = gpusortd_connect(&other, daemon.socket_path.c_str(), nullptr, nullptr);
	check(ok && !gpusortd_begin(&other, &begin) && other.code == GPUSORTD_MEMORY_FULL,
		  "less than a job begins with is refused");
	begin.most_bytes = 0;
	check(ok && gpusortd_end(&other) && gpusortd_begin(&other, &begin), "and without a limit it begins");
	gpusortd_close(&other);
}

/* With a device of no more memory, or a limit of the job's own. */
static void
check_one(uint32_t key_bytes, bool of_its_own, Random *random)
{
	uint64_t most = (options.cuda ? UINT64_C(96) : UINT64_C(2)) << 20;
	Daemon daemon(
		of_its_own ? std::vector<std::string>{"--devices", "0"}
				   : std::vector<std::string>{"--devices", "0", "--max-device-memory", std::to_string(most)});
	JobRows rows(large_case(key_bytes), random);
	GpusortdBegin begin = rows.begin();
	GpusortdClient client;
	uint64_t refused;
	uint64_t taken;
	std::string why;
	bool ok;

	begin.expected_rows = 10;
	begin.expected_row_bytes = 0;
	begin.most_bytes = of_its_own ? most : 0;
	ok = gpusortd_connect(&client, daemon.socket_path.c_str(), nullptr, nullptr) &&
		 gpusortd_begin(&client, &begin) && feed_until_full(&client, &rows);
	refused = std::count(rows.refused.begin(), rows.refused.end(), true);
	taken = ok ? rows.rows.size() - refused : 0;
	check(ok && taken > 0, "keys of %u bytes: %s is full after %llu rows", key_bytes,
		  of_its_own ? "what the job may have" : "the memory", (unsigned long long) taken);
	check(!gpusortd_perform(&client) && client.code == GPUSORTD_MEMORY_FULL,
		  "refused chunks are not forgotten by mistake");
	gpusortd_forget_refused(&client);
	check(gpusortd_perform(&client) && client.sorted.rows == taken && fetch_all(&client, &rows, &why) &&
			  gpusortd_end(&client),
		  "what was taken, %llu rows, is sorted, %llu were refused %s", (unsigned long long) taken,
		  (unsigned long long) refused, why.c_str());
	check(sorts_few_rows(daemon, key_bytes, random), "and the next job is");
	if (of_its_own)
		check_limits(&client, daemon, rows, begin);
	gpusortd_close(&client);
	check(daemon.settles() && nothing_is_promised(daemon), "all is given back");
}

void
check_full(Random *random)
{
	for (bool of_its_own : {false, true})
	{
		check_one(8, of_its_own, random);
		check_one(0, of_its_own, random);
	}
}
