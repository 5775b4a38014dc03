/*
 * host.cc
 *		The device layer without a device: host memory, std::sort and memcpy, for tests.
 *
 * It keeps what the real one keeps: a copy of every chunk is taken first and looked at then, memory is
 * limited, jobs are independent.  There are two devices, and more if they are asked for, so that the sharing
 * out of jobs can be tested too.
 *
 * A fault strikes at the n-th call of the layer: memory that can't be had, a device that is lost from then
 * on, one that never answers, a crash.  The fault "slow" makes every call take some milliseconds.  As a
 * driver does, it has a thread of its own from open on.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>

#include "daemon/device/layer.h"
#include "daemon/protocol/rank_layout.h"

#define HOST_DEVICES 2
#define HOST_DEVICES_MOST 4 /* if they are named */
#define HOST_DEVICE_MEMORY (UINT64_C(1) << 30)
#define HOST_JOB_OVERHEAD (UINT64_C(64) << 10)

/* ---- faults ---- */

enum class FaultKind
{
	none,
	alloc,
	lost,
	hang,
	slow,
	crash
};

struct FaultPlan
{
	FaultKind kind = FaultKind::none;
	uint64_t number = 0; /* the call that it strikes at; slow: milliseconds */
	std::atomic<uint64_t> calls{0};
};

/* To be asked by every call of the layer that does something. */
static Outcome
fault_ask(FaultPlan *plan)
{
	uint64_t call = ++plan->calls;

	switch (plan->kind)
	{
		case FaultKind::none:
			break;
		case FaultKind::slow:
			std::this_thread::sleep_for(std::chrono::milliseconds(plan->number));
			break;
		case FaultKind::alloc:
			if (call == plan->number)
				return {GPUSORTD_MEMORY_FULL, "fault: no memory"};
			break;
		case FaultKind::lost:
			if (call >= plan->number)
				return {GPUSORTD_DEVICE_LOST, "fault: the device is lost"};
			break;
		case FaultKind::hang:
			while (call == plan->number)
				std::this_thread::sleep_for(std::chrono::hours(1));
			break;
		case FaultKind::crash:
			if (call == plan->number)
				abort();
	}
	return {};
}

static bool
fault_parse(const std::string &text, FaultPlan *plan)
{
	static const char *const names[] = {"none", "alloc", "lost", "hang", "slow", "crash"};
	size_t colon = text.find(':');

	if (text.empty())
		return true;
	if (colon == std::string::npos || text.find_first_not_of("0123456789", colon + 1) != std::string::npos)
		return false;
	for (int kind = (int) FaultKind::alloc; kind <= (int) FaultKind::crash; kind++)
	{
		if (text.substr(0, colon) == names[kind])
		{
			plan->kind = (FaultKind) kind;
			plan->number = strtoull(text.c_str() + colon + 1, NULL, 10);
			return plan->number > 0;
		}
	}
	return false;
}

/* ---- jobs ---- */

/* Byte strings one after the other. */
struct HostStrings
{
	std::vector<uint8_t> bytes;
	std::vector<uint64_t> ends;

	void append(const uint8_t *string, uint64_t length)
	{
		bytes.insert(bytes.end(), string, string + length);
		ends.push_back(bytes.size());
	}

	const uint8_t *at(uint64_t i) const
	{
		return bytes.data() + (i > 0 ? ends[i - 1] : 0);
	}

	uint64_t length(uint64_t i) const
	{
		return ends[i] - (i > 0 ? ends[i - 1] : 0);
	}
};

static uint64_t
host_memory_needed(const JobShape &shape, const JobSize &size)
{
	uint64_t keys = shape.key_bytes > 0 ? size.rows * shape.key_bytes : size.key_bytes;

	return HOST_JOB_OVERHEAD + keys + size.row_bytes + size.rows * 4 * sizeof(uint64_t);
}

class HostJob : public DeviceJob
{
public:
	HostJob(const JobShape &asked, MemoryPromise *its_promise, FaultPlan *plan)
		: shape(asked), promise(its_promise), faults(plan)
	{
	}

	Outcome submit(const FilledChunk &chunk) override;
	Outcome take_ranks(const RankPiece &piece) override;
	Outcome perform(GpusortdSorted *sorted) override;
	Outcome start_fetch(uint64_t position, bool backward, uint8_t *target, Window *window) override;
	Outcome finish_fetch(uint64_t) override
	{
		return fault_ask(faults);
	}

	uint64_t least() override
	{
		return host_memory_needed(shape, size()) + coded.ranks * RANK_BYTES;
	}

	void trim() override
	{
		promise->lower(least());
	}

private:
	JobSize size() const;
	bool may_take(const FilledChunk &chunk);
	bool append(const ChunkCopy &copy, uint64_t i);
	bool give_ranks();

	JobShape shape;
	MemoryPromise *promise;
	FaultPlan *faults;
	std::mutex mutex; /* of all that follows, while chunks come */
	HostStrings keys;
	HostStrings rows;
	RankColumns coded = {};
	std::vector<uint32_t> ranks;
	std::vector<uint64_t> order;
	std::vector<uint64_t> places; /* where each row of the result begins, and the end */
	uint64_t feed_us = 0;
};

static uint64_t
microseconds_since(std::chrono::steady_clock::time_point start)
{
	return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start)
		.count();
}

/* Takes entry i of a chunk's copy, unless it is malformed. */
bool
HostJob::append(const ChunkCopy &copy, uint64_t i)
{
	const uint8_t *entry = copy.entries + i * chunk_entry_bytes(shape.key_bytes);
	ChunkExtent extent;

	if (shape.key_bytes == 0)
	{
		if (!chunk_find_record(&copy, i, &extent))
			return false;
		keys.append(copy.region + extent.begin + sizeof(uint64_t), extent.key_bytes);
		rows.append(copy.region + extent.begin + extent.key_part, extent.bytes - extent.key_part);
		return true;
	}
	if (!chunk_find_row(&copy, i, &extent))
		return false;
	keys.append(entry, shape.key_bytes);
	rows.append(copy.region + extent.begin, extent.bytes);
	return true;
}

/*
 * Is there memory for what the job may be with this chunk?  How long its keys and rows are, its region says
 * only together.
 */
bool
HostJob::may_take(const FilledChunk &chunk)
{
	JobSize most = size();
	uint64_t region = shape.chunk_bytes - chunk.back;

	most.rows += chunk.rows;
	most.key_bytes += shape.key_bytes > 0 ? chunk.rows * shape.key_bytes : region;
	most.row_bytes += region;
	return most.rows <= DEVICE_MOST_ROWS && promise->raise(host_memory_needed(shape, most));
}

Outcome
HostJob::submit(const FilledChunk &chunk)
{
	auto start = std::chrono::steady_clock::now();
	std::vector<uint64_t> entries(chunk.front / 8);
	std::vector<uint64_t> region((shape.chunk_bytes - chunk.back) / 8);
	Outcome outcome = fault_ask(faults);

	if (!outcome.ok())
		return outcome;
	memcpy(entries.data(), chunk.base, entries.size() * 8);
	if (!region.empty())
		memcpy(region.data(), chunk.base + chunk.back, region.size() * 8);

	ChunkCopy copy = {(const uint8_t *) entries.data(),
					  (const uint8_t *) region.data(),
					  chunk.rows,
					  chunk.back,
					  shape.chunk_bytes,
					  shape.key_bytes};
	std::lock_guard<std::mutex> lock(mutex);

	if (!may_take(chunk))
		return {GPUSORTD_MEMORY_FULL, "no more memory can be promised to the job"};
	for (uint64_t i = 0; i < chunk.rows; i++)
	{
		if (!append(copy, i))
			return {GPUSORTD_BAD_CHUNK, "entry " + std::to_string(i) + " of a chunk does not point to a row"};
	}
	feed_us += microseconds_since(start);
	return {};
}

JobSize
HostJob::size() const
{
	JobSize size;

	size.rows = rows.ends.size();
	size.key_bytes = keys.bytes.size();
	size.row_bytes = rows.bytes.size();
	return size;
}

Outcome
HostJob::take_ranks(const RankPiece &piece)
{
	Outcome outcome = fault_ask(faults);

	if (!outcome.ok())
		return outcome;
	if (!promise->raise(least() + piece.codes * RANK_BYTES))
		return {GPUSORTD_MEMORY_FULL, "no memory can be promised to the ranks of codes"};
	ranks.resize(coded.ranks + piece.codes);
	memcpy(&ranks[coded.ranks], piece.base, piece.codes * RANK_BYTES);
	rank_columns_add(&coded, piece.offset, piece.first, piece.codes);
	return {};
}

/* False: a code has no rank. */
bool
HostJob::give_ranks()
{
	for (uint64_t i = 0; i < keys.ends.size() && coded.n > 0; i++)
	{
		if (!rank_columns_give(&coded, ranks.data(), &keys.bytes[i * shape.key_bytes]))
			return false;
	}
	return true;
}

Outcome
HostJob::perform(GpusortdSorted *sorted)
{
	auto start = std::chrono::steady_clock::now();
	Outcome outcome = fault_ask(faults);
	uint64_t n = rows.ends.size();

	if (!outcome.ok())
		return outcome;
	if (!give_ranks())
		return {GPUSORTD_BAD_CHUNK, "a key has a code without a rank"};
	order.resize(n);
	for (uint64_t i = 0; i < n; i++)
		order[i] = i;
	std::sort(order.begin(), order.end(), [this](uint64_t a, uint64_t b) {
		return std::lexicographical_compare(keys.at(a), keys.at(a) + keys.length(a), keys.at(b),
											keys.at(b) + keys.length(b));
	});
	places.assign(1, 0);
	for (uint64_t row : order)
		places.push_back(places.back() + rows.length(row));
	*sorted = {};
	sorted->rows = n;
	sorted->key_bytes = keys.bytes.size();
	sorted->row_bytes = rows.bytes.size();
	sorted->device_bytes = least();
	sorted->feed_us = feed_us;
	sorted->sort_us = microseconds_since(start);
	trim();
	return {};
}

Outcome
HostJob::start_fetch(uint64_t position, bool backward, uint8_t *target, Window *window)
{
	Outcome outcome = fault_ask(faults);
	uint64_t first = position;
	uint64_t end = position;

	if (!outcome.ok())
		return outcome;
	while (!backward && end < order.size() && places[end + 1] - places[first] <= shape.chunk_bytes)
		end++;
	while (backward && first > 0 && places[end] - places[first - 1] <= shape.chunk_bytes)
		first--;
	for (uint64_t i = first; i < end; i++)
		memcpy(target + (places[i] - places[first]), rows.at(order[i]), rows.length(order[i]));
	*window = {first, end - first, places[end] - places[first], 0};
	return {};
}

/* ---- the layer ---- */

class HostLayer : public DeviceLayer
{
public:
	~HostLayer() override
	{
		ended.set_value();
		if (driver.joinable())
			driver.join();
	}

	const char *name() const override
	{
		return "host memory";
	}

	Outcome open(const std::vector<int> &wanted, uint64_t, std::vector<DeviceDescription> *devices) override
	{
		for (int number = 0; wanted.empty() && number < HOST_DEVICES; number++)
			devices->push_back({number, "host memory", HOST_DEVICE_MEMORY});
		for (int number : wanted)
		{
			if (number >= HOST_DEVICES_MOST)
				return {GPUSORTD_INVALID, "there is no device " + std::to_string(number)};
			devices->push_back({number, "host memory", HOST_DEVICE_MEMORY});
		}
		driver = std::thread([this] { ended.get_future().wait(); });
		return {};
	}

	uint64_t keep_memory(int, uint64_t) override
	{
		return 0;
	}

	void tidy() override
	{
	}

	Outcome register_memory(void *, size_t) override
	{
		return fault_ask(&faults);
	}

	void unregister_memory(void *) override
	{
	}

	uint64_t memory_needed(const JobShape &shape, const JobSize &size) override
	{
		return host_memory_needed(shape, size);
	}

	Outcome begin(int, const JobShape &shape, const JobSize &, MemoryPromise *promise,
				  std::unique_ptr<DeviceJob> *job) override
	{
		Outcome outcome = fault_ask(&faults);

		if (outcome.ok())
			*job = std::make_unique<HostJob>(shape, promise, &faults);
		return outcome;
	}

	FaultPlan faults;

private:
	std::promise<void> ended;
	std::thread driver;
};

std::unique_ptr<DeviceLayer>
device_layer_host(const std::string &fault, std::string *why_not)
{
	auto layer = std::make_unique<HostLayer>();

	if (!fault_parse(fault, &layer->faults))
	{
		*why_not = "\"" + fault +
				   "\" is not a fault: alloc:CALL, lost:CALL, hang:CALL, crash:CALL or slow:MILLISECONDS";
		return nullptr;
	}
	return layer;
}
