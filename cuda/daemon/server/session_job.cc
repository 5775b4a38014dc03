/*
 * session_job.cc
 *		A connection's rows: feeding, sorting, returning, ending.
 */
#include <chrono>

#include "daemon/protocol/chunk_layout.h"
#include "daemon/server/session.h"

/* ---- feeding ---- */

/* What SUBMIT says of a chunk; that it is true is for the device layer to find out. */
static bool
submit_is_valid(const GpusortdSubmit &filled, const JobShape &shape, uint32_t chunks)
{
	uint64_t entry_bytes = chunk_entry_bytes(shape.key_bytes);

	return filled.chunk < chunks && filled.reserved == 0 && filled.rows <= shape.chunk_bytes / entry_bytes &&
		   filled.front == filled.rows * entry_bytes && filled.front <= filled.back &&
		   filled.back <= shape.chunk_bytes && filled.back % 8 == 0;
}

bool
Session::submit(const GpusortdSubmit &filled)
{
	GpusortdChunkFree freed = {filled.chunk, GPUSORTD_OK};
	Outcome outcome;

	if (!submit_is_valid(filled, job->shape, slab.chunks))
		return fail({GPUSORTD_INVALID, "SUBMIT describes no chunk"});
	outcome = job->submit(
		{slab.base + filled.chunk * job->shape.chunk_bytes, filled.rows, filled.front, filled.back});
	if (outcome.code == GPUSORTD_MEMORY_FULL)
		freed.refused = GPUSORTD_MEMORY_FULL;
	else if (!outcome.ok())
		return fail(outcome);
	return wire.send(GPUSORTD_CHUNK_FREE, freed);
}

bool
Session::take_ranks(const GpusortdRanks &given)
{
	Outcome outcome;

	if (given.chunk >= slab.chunks ||
		!rank_sequence_takes(&ranks, &given, job->shape.key_bytes, job->shape.chunk_bytes))
		return fail({GPUSORTD_INVALID, "RANKS describes no ranks of codes"});
	outcome = job->take_ranks(
		{slab.base + given.chunk * job->shape.chunk_bytes, given.offset, given.first, given.codes});
	if (!outcome.ok())
		return fail(outcome);
	return wire.send(GPUSORTD_CHUNK_FREE, GpusortdChunkFree{given.chunk, GPUSORTD_OK});
}

/* ---- sorting, returning ---- */

bool
Session::perform()
{
	GpusortdSorted sorted = {};
	Outcome outcome = job->perform(&sorted);

	if (!outcome.ok())
		return fail(outcome);
	position = 0;
	state = SessionState::sorted;
	return wire.send(GPUSORTD_SORTED, sorted);
}

static uint64_t
microseconds_since(std::chrono::steady_clock::time_point start)
{
	return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start)
		.count();
}

/* Starts a fetch; it is answered when it is finished. */
bool
Session::fetch(const GpusortdFetch &wanted)
{
	auto start = std::chrono::steady_clock::now();
	uint64_t from = wanted.position == GPUSORTD_NEXT ? position : wanted.position;
	Window window = {};
	Outcome outcome;

	if (wanted.chunk >= slab.chunks || wanted.backward > 1 || from > job->rows())
	{
		if (!finish_fetches())
			return false;
		return state == SessionState::failed ||
			   fail({GPUSORTD_INVALID, "FETCH requests rows that do not exist"});
	}
	if (fetches.size() == DEVICE_FETCHES && !finish_fetch())
		return false;
	if (state == SessionState::failed)
		return true;
	outcome =
		job->start_fetch(from, wanted.backward, slab.base + wanted.chunk * job->shape.chunk_bytes, &window);
	if (!outcome.ok())
		return fail(outcome);
	fetches.push_back({{wanted.chunk, 0, window.first, window.rows, window.bytes}, window.ticket});
	position = wanted.backward ? window.first : window.first + window.rows;
	fetch_us += microseconds_since(start);
	return true;
}

/* Waits for the fetch that was started first, and answers it.  False: the connection is at its end. */
bool
Session::finish_fetch()
{
	auto start = std::chrono::steady_clock::now();
	Fetch first = fetches.front();
	Outcome outcome;

	fetches.pop_front();
	if (first.answer.rows > 0)
		outcome = job->finish_fetch(first.ticket);
	if (!outcome.ok())
		return fail(outcome);
	fetch_us += microseconds_since(start);
	return wire.send(GPUSORTD_ROWS, first.answer);
}

bool
Session::finish_fetches()
{
	while (!fetches.empty())
	{
		if (!finish_fetch())
			return false;
	}
	return true;
}

/*
 * Waits for fetches that nobody wants to hear of any more: their chunks are not to be written to later.  If
 * the job is over, the device's job was destroyed, and nothing is under way.
 */
void
Session::drop_fetches()
{
	for (const Fetch &dropped : fetches)
	{
		if (dropped.answer.rows > 0)
			(void) job->finish_fetch(dropped.ticket);
	}
	fetches.clear();
}

/* ---- ending ---- */

bool
Session::end()
{
	GpusortdEnded ended = {fetch_us};

	leave_job();
	state = SessionState::ready;
	return wire.send(GPUSORTD_ENDED, ended);
}

/*
 * Gives back all that the connection holds of its job.  What the device does with the slab's chunks ends
 * first; then the slab goes, before the place at the gate that stands for it.
 */
void
Session::leave_job()
{
	std::unique_ptr<Admission> place = std::move(waiting);

	drop_fetches();
	if (job != nullptr && !joiner)
	{
		std::unique_ptr<Admission> of_job = job->end();

		service->withdraw(job);
		if (of_job != nullptr)
			place = std::move(of_job);
	}
	if (slab.base != nullptr)
		service->slabs->give_back(slab);
	slab = {};
	idle_share.give_back();
	if (place_chunks > 0)
		service->gate->release_chunks(place_chunks);
	place_chunks = 0;
	job.reset();
	joiner = false;
	fetch_us = 0;
}
