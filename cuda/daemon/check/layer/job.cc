/*
 * job.cc
 *		Jobs with known answers: a row is a number, from which its key follows.
 */
#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

#include "daemon/check/layer/check.h"
#include "daemon/fake/fake_cuda.h"
#include "daemon/protocol/chunk_layout.h"

#define LONGEST_KEY 20

/* Codes, which keys begin with; pieces of so many ranks. */
#define CODES 500
#define RANKS_PIECE 200

/* Of a row as it rides: its length, as a tuple has it, its number, and nothing. */
#define ROW_WORDS 3
#define ROW_BYTES (ROW_WORDS * sizeof(uint64_t))

std::vector<JobShape>
all_shapes()
{
	std::vector<JobShape> shapes;

	for (uint32_t key_bytes : {0, 8, 16, 24, 32})
		shapes.push_back({key_bytes, GPUSORTD_AUTO, CHUNK_BYTES});
	return shapes;
}

std::string
describe(const JobShape &shape)
{
	return shape.key_bytes > 0 ? "keys of " + std::to_string(shape.key_bytes) + " bytes" : "variable keys";
}

std::unique_ptr<DeviceLayer>
open_layer()
{
	std::unique_ptr<DeviceLayer> layer = device_layer_cuda();
	std::vector<DeviceDescription> devices;
	Outcome outcome = layer->open({}, CHUNK_BYTES, &devices);

	if (!check(outcome.ok(), "the layer opens: %s", outcome.message.c_str()))
		return nullptr;
	return layer;
}

/* ---- rows ---- */

/*
 * Numbers that follow each other have keys that don't; some keys are equal, and one the beginning of another.
 */
static std::string
key_of(const JobShape &shape, uint64_t number)
{
	uint64_t mixed = __builtin_bswap64((number + 1) * UINT64_C(0x9E3779B97F4A7C15));
	std::string key((const char *) &mixed, sizeof(mixed));

	while (key.size() < std::max<size_t>(shape.key_bytes, LONGEST_KEY))
		key += key;
	key.resize(shape.key_bytes > 0 ? shape.key_bytes : number % (LONGEST_KEY + 1));
	return key;
}

/* Ranks are in another order than codes, and two codes have one rank. */
static uint32_t
rank_of(uint32_t code)
{
	return (CODES - code) / 2 * UINT32_C(0x10001);
}

/* The same with a code in its first bytes, or with the code's rank. */
static std::string
coded_key_of(const JobRows &rows, uint64_t number, bool ranked)
{
	std::string key = key_of(rows.shape, number);
	uint32_t code = (uint32_t) (number * 7919 % CODES);
	uint32_t stored = __builtin_bswap32(ranked ? rank_of(code) : code);

	if (rows.coded)
		memcpy(&key[0], &stored, sizeof(stored));
	return key;
}

static std::string
row_of(uint64_t number)
{
	uint64_t row[ROW_WORDS] = {ROW_BYTES, number, 0};

	return std::string((const char *) row, sizeof(row));
}

/* What stands behind the entries for this row. */
static std::string
record_of(const JobShape &shape, uint64_t number)
{
	std::string key = key_of(shape, number);
	uint64_t length = key.size();
	std::string record;

	if (shape.key_bytes > 0)
		return row_of(number);
	record.assign((const char *) &length, sizeof(length));
	record += key;
	record.resize((record.size() + 7) / 8 * 8);
	return record + row_of(number);
}

JobSize
size_of(const JobRows &rows)
{
	JobSize size;

	size.rows = rows.rows;
	size.row_bytes = rows.rows * ROW_BYTES;
	for (uint64_t i = 0; i < rows.rows && rows.shape.key_bytes == 0; i++)
		size.key_bytes += key_of(rows.shape, i).size();
	return size;
}

/* The memory of a chunk, pinned as that of clients is. */
struct ChunkMemory
{
	ChunkMemory() : words(CHUNK_BYTES / sizeof(uint64_t))
	{
		fake_pin(words.data(), CHUNK_BYTES);
	}

	~ChunkMemory()
	{
		(void) fake_unpin(words.data());
	}

	std::vector<uint64_t> words;
};

/* Fills a chunk with rows from *next on; step is how far numbers are apart. */
static FilledChunk
fill_chunk(const JobRows &rows, uint64_t *next, uint64_t step, ChunkMemory *memory)
{
	const JobShape &shape = rows.shape;
	uint64_t entry_key = chunk_entry_key_bytes(shape.key_bytes);
	uint64_t back = CHUNK_BYTES;
	FilledChunk chunk = {};

	for (; *next < rows.rows && chunk.rows < rows.most_of_chunk; *next += step)
	{
		std::string key = coded_key_of(rows, *next, false);
		std::string record = record_of(shape, *next);
		char *base = (char *) memory->words.data();
		uint64_t word = back - record.size();

		if (chunk.front + entry_key + sizeof(word) + record.size() > back)
			break;
		back -= record.size();
		key.resize(entry_key);
		memcpy(base + chunk.front, key.data(), entry_key);
		memcpy(base + chunk.front + entry_key, &word, sizeof(word));
		memcpy(base + back, record.data(), record.size());
		chunk.front += entry_key + sizeof(word);
		chunk.rows++;
	}
	chunk.base = (const uint8_t *) memory->words.data();
	chunk.back = back;
	return chunk;
}

/* ---- a job ---- */

/* Between two chunks. */
static Outcome
rest(DeviceJob *job, const MemoryPromise *promise)
{
	job->trim();
	return promise->bytes() == job->least()
			   ? Outcome()
			   : Outcome{GPUSORTD_INVALID, "a job that rests keeps more than it needs"};
}

/* Feeds numbers from `first` on, `step` apart; those that were taken are noted. */
static Outcome
feed(DeviceJob *job, const MemoryPromise *promise, const JobRows &rows, uint64_t first, uint64_t step,
	 std::vector<bool> *taken)
{
	static std::mutex mutex;
	ChunkMemory memory;

	for (uint64_t next = first; next < rows.rows;)
	{
		uint64_t begin = next;
		FilledChunk chunk = fill_chunk(rows, &next, step, &memory);
		Outcome outcome = job->submit(chunk);

		if (outcome.ok() && rows.rests)
			outcome = rest(job, promise);
		if (!outcome.ok() && (rows.rests || outcome.code != GPUSORTD_MEMORY_FULL))
			return outcome;
		/* Whatever happened, the chunk is the client's again. */
		std::fill(memory.words.begin(), memory.words.end(), UINT64_MAX);

		std::lock_guard<std::mutex> lock(mutex);

		for (uint64_t number = begin; number < next && outcome.ok(); number += step)
			(*taken)[number] = true;
	}
	return {};
}

/* The rows of the result. */
static Outcome
fetch(DeviceJob *job, uint64_t count, std::string *result)
{
	ChunkMemory memory;
	Window window = {};

	for (uint64_t next = 0; next < count; next += window.rows)
	{
		Outcome outcome = job->start_fetch(next, false, (uint8_t *) memory.words.data(), &window);

		if (outcome.ok())
			outcome = job->finish_fetch(window.ticket);
		if (!outcome.ok())
			return outcome;
		if (window.rows == 0)
			break;
		result->append((const char *) memory.words.data(), window.bytes);
	}
	return {};
}

/* Are these all the rows that were taken, and no others, in order? */
static std::string
compare(const JobRows &rows, const std::string &result, std::vector<bool> taken)
{
	uint64_t bytes = ROW_BYTES;
	std::string last;

	for (uint64_t at = 0; at < result.size(); at += bytes)
	{
		std::string row = result.substr(at, bytes);
		uint64_t number = UINT64_MAX;
		std::string key;

		if (row.size() == bytes)
			memcpy(&number, row.data() + sizeof(number), sizeof(number));
		if (number >= rows.rows || row != row_of(number))
			return "no row stands at byte " + std::to_string(at);
		if (!taken[number])
			return "row " + std::to_string(number) + " was not taken, or is there twice";
		taken[number] = false;
		key = coded_key_of(rows, number, true);
		if (key < last)
			return "row " + std::to_string(number) + " is out of order";
		last = key;
	}
	return std::find(taken.begin(), taken.end(), true) != taken.end() ? "rows are missing" : "";
}

/* Sends the ranks, in pieces. */
static Outcome
send_ranks(DeviceJob *job, const JobRows &rows, const MemoryPromise *promise)
{
	ChunkMemory memory;
	uint32_t *ranks = (uint32_t *) memory.words.data();
	Outcome outcome;

	for (uint32_t first = 0; first < CODES && rows.coded && outcome.ok(); first += RANKS_PIECE)
	{
		uint32_t codes = std::min(CODES - first, (uint32_t) RANKS_PIECE);

		for (uint32_t i = 0; i < codes; i++)
			ranks[i] = rank_of(first + i);
		outcome = job->take_ranks({(const uint8_t *) ranks, 0, first, codes});
		/* Whatever happened, the chunk is the client's again. */
		std::fill(memory.words.begin(), memory.words.end(), UINT64_MAX);
		if (outcome.ok() && rows.rests)
			outcome = rest(job, promise);
	}
	return outcome;
}

/* What comes after the feed. */
static Outcome
finish_job(DeviceJob *job, const JobRows &rows, const MemoryPromise *promise, const std::vector<bool> &taken,
		   std::string *why)
{
	uint64_t count = std::count(taken.begin(), taken.end(), true);
	GpusortdSorted sorted = {};
	std::string result;
	Outcome outcome = send_ranks(job, rows, promise);

	if (outcome.ok())
		outcome = job->perform(&sorted);

	if (outcome.ok() && sorted.rows != count)
		*why = std::to_string(sorted.rows) + " rows were counted, " + std::to_string(count) + " taken";
	if (outcome.ok())
		outcome = fetch(job, count, &result);
	if (outcome.ok() && why->empty())
		*why = compare(rows, result, taken);
	return outcome;
}

Outcome
run_job(DeviceLayer *layer, const JobRows &rows, const JobSize &expected, MemoryPromise *promise,
		std::string *why)
{
	std::vector<bool> taken(rows.rows);
	std::unique_ptr<DeviceJob> job;
	Outcome outcome = layer->begin(0, rows.shape, expected, promise, &job);

	why->clear();
	if (outcome.ok())
		outcome = feed(job.get(), promise, rows, 0, 1, &taken);
	return outcome.ok() ? finish_job(job.get(), rows, promise, taken, why) : outcome;
}

Outcome
run_job_in_threads(DeviceLayer *layer, const JobRows &rows, int threads, MemoryPromise *promise,
				   std::string *why)
{
	std::vector<bool> taken(rows.rows);
	std::unique_ptr<DeviceJob> job;
	std::vector<std::thread> feeders;
	std::vector<Outcome> outcomes(threads);
	Outcome outcome = layer->begin(0, rows.shape, size_of(rows), promise, &job);

	why->clear();
	for (int i = 0; i < threads && outcome.ok(); i++)
		feeders.emplace_back([&, i] { outcomes[i] = feed(job.get(), promise, rows, i, threads, &taken); });
	for (std::thread &feeder : feeders)
		feeder.join();
	for (const Outcome &one : outcomes)
		outcome = outcome.ok() ? one : outcome;
	return outcome.ok() ? finish_job(job.get(), rows, promise, taken, why) : outcome;
}

bool
still_sorts(DeviceLayer *layer, const JobShape &shape)
{
	JobRows rows = {shape, 3000, UINT64_MAX};
	Promise promise(FAKE_DEVICE_MEMORY, FAKE_DEVICE_MEMORY);
	std::string why;
	Outcome outcome = run_job(layer, rows, size_of(rows), &promise, &why);

	if (!outcome.ok() || !why.empty())
		note("%s: %s %s", describe(shape).c_str(), outcome.message.c_str(), why.c_str());
	return outcome.ok() && why.empty();
}
