/*
 * warm_up.cu
 *		Jobs of one chunk, from ordinary memory.
 */
#include <algorithm>
#include <cstring>

#include "daemon/device/cuda/warm_up.h"

#define WARM_UP_ROWS 50000

/*
 * A row is its length and its number; a record of a variable key has 8 bytes of key, as all have that are
 * sorted here.
 */
#define ROW_BYTES 24
#define RECORD_BYTES (16 + ROW_BYTES)

/* Nothing is promised to anybody yet. */
class WholeDevice : public MemoryPromise
{
public:
	explicit WholeDevice(uint64_t all_bytes) : all(all_bytes)
	{
	}

	uint64_t bytes() const override
	{
		return all;
	}

	bool raise(uint64_t wanted) override
	{
		return wanted <= all;
	}

	void lower(uint64_t) override
	{
	}

private:
	const uint64_t all;
};

/* The key of row i: its words are the same, and no two rows have the same one. */
static uint64_t
key_of_row(uint64_t i)
{
	return (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

static FilledChunk
fill_chunk(const JobShape &shape, uint64_t rows, uint8_t *chunk)
{
	uint64_t back = shape.chunk_bytes;
	uint8_t *entry = chunk;

	for (uint64_t i = 0; i < rows; i++)
	{
		uint64_t key = __builtin_bswap64(key_of_row(i));
		uint64_t record[RECORD_BYTES / 8] = {sizeof(key), key, ROW_BYTES, i, 0};
		uint64_t skip = shape.key_bytes > 0 ? 16 : 0;

		back -= RECORD_BYTES - skip;
		memcpy(chunk + back, (const uint8_t *) record + skip, RECORD_BYTES - skip);
		for (uint64_t at = 0; at < chunk_entry_key_bytes(shape.key_bytes); at += sizeof(key))
			memcpy(entry + at, &key, sizeof(key));
		memcpy(entry + chunk_entry_key_bytes(shape.key_bytes), &back, sizeof(back));
		entry += chunk_entry_bytes(shape.key_bytes);
	}
	return {chunk, rows, (uint64_t) (entry - chunk), back};
}

/* Fetches all rows, to the chunk, and looks whether they are in order. */
static Outcome
check_result(DeviceJob *job, uint64_t rows, uint8_t *chunk)
{
	uint64_t last = 0;
	Window window = {};

	for (uint64_t next = 0; next < rows; next += window.rows)
	{
		Outcome outcome = job->start_fetch(next, false, chunk, &window);

		if (outcome.ok())
			outcome = job->finish_fetch(window.ticket);
		if (outcome.ok() && window.rows == 0)
			outcome = {GPUSORTD_DEVICE_LOST, "the device has lost rows"};
		if (!outcome.ok())
			return outcome;
		for (uint64_t i = 0; i < window.rows; i++)
		{
			uint64_t row[ROW_BYTES / 8];

			memcpy(row, chunk + i * ROW_BYTES, ROW_BYTES);
			if (row[0] != ROW_BYTES || row[1] >= rows || key_of_row(row[1]) <= last)
				return {GPUSORTD_DEVICE_LOST, "the device sorts wrongly"};
			last = key_of_row(row[1]);
		}
	}
	return {};
}

static Outcome
sort_one_chunk(ArenaPool *arenas, uint64_t device_bytes, const JobShape &shape)
{
	uint64_t rows = std::min<uint64_t>(WARM_UP_ROWS, shape.chunk_bytes /
														 (chunk_entry_bytes(shape.key_bytes) + RECORD_BYTES));
	std::vector<uint64_t> memory(shape.chunk_bytes / 8);
	uint8_t *chunk = (uint8_t *) memory.data();
	WholeDevice promise(device_bytes);
	CudaJob job(arenas, device_bytes, shape, {}, &promise);
	Outcome outcome = outcome_from(job.open());
	GpusortdSorted sorted;

	if (outcome.ok())
		outcome = job.submit(fill_chunk(shape, rows, chunk));
	if (outcome.ok())
		outcome = job.perform(&sorted);
	return outcome.ok() ? check_result(&job, rows, chunk) : outcome;
}

Outcome
warm_up(ArenaPool *arenas, uint64_t device_bytes, uint64_t chunk_bytes)
{
	Outcome outcome;

	for (uint32_t key_bytes : {8, 16, 0})
	{
		if (outcome.ok())
			outcome = sort_one_chunk(arenas, device_bytes, {key_bytes, GPUSORTD_AUTO, chunk_bytes});
	}
	return outcome;
}
