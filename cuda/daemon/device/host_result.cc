/*
 * host_result.cc
 *		A sorted result that has left its device; host_result.h says what for.
 *
 * Pieces are the windows that the device's job cut, each with memory of its own.  A window from the middle of
 * one, or up to there, is found by walking over its rows, which tell their lengths.
 */
#include <algorithm>
#include <cstring>

#include "daemon/device/host_result.h"

/* The memory of a window that is not full is allocated for what is in it. */
static std::unique_ptr<uint8_t[]>
fitted(std::unique_ptr<uint8_t[]> bytes, uint64_t used, uint64_t allocated)
{
	if (used > allocated / 2)
		return bytes;

	std::unique_ptr<uint8_t[]> smaller(new uint8_t[used]);

	memcpy(smaller.get(), bytes.get(), used);
	return smaller;
}

Outcome
HostResult::take(DeviceJob *from, bool *all)
{
	std::unique_ptr<uint8_t[]> bytes(new uint8_t[shape.chunk_bytes]);
	Window window = {};
	Outcome outcome = from->start_fetch(rows, false, bytes.get(), &window);

	*all = outcome.ok() && window.rows == 0;
	if (outcome.ok() && window.rows > 0)
		outcome = from->finish_fetch(window.ticket);
	if (!outcome.ok() || *all)
		return outcome;
	pieces.push_back({window, fitted(std::move(bytes), window.bytes, shape.chunk_bytes)});
	rows += window.rows;
	return {};
}

/* ---- returning rows ---- */

uint64_t
HostResult::row_bytes(const uint8_t *row) const
{
	uint32_t length;

	memcpy(&length, row, sizeof(length));
	return (length + UINT64_C(7)) / 8 * 8;
}

uint64_t
HostResult::bytes_before(const Piece &piece, uint64_t row) const
{
	uint64_t at = 0;

	if (row == piece.window.first + piece.window.rows)
		return piece.window.bytes;
	for (uint64_t i = piece.window.first; i < row; i++)
		at += row_bytes(piece.bytes.get() + at);
	return at;
}

Outcome
HostResult::start_fetch(uint64_t position, bool backward, uint8_t *target, Window *window)
{
	uint64_t inside = backward ? position - 1 : position;
	uint64_t from;

	*window = {position, 0, 0, 0};
	if (position == (backward ? 0 : rows))
		return {};

	auto next = std::upper_bound(pieces.begin(), pieces.end(), inside,
								 [](uint64_t row, const Piece &piece) { return row < piece.window.first; });
	const Piece &piece = *(next - 1);

	window->first = backward ? piece.window.first : position;
	window->rows = (backward ? position : piece.window.first + piece.window.rows) - window->first;
	from = bytes_before(piece, window->first);
	window->bytes = bytes_before(piece, window->first + window->rows) - from;
	memcpy(target, piece.bytes.get() + from, window->bytes);
	return {};
}

Outcome
HostResult::finish_fetch(uint64_t)
{
	return {};
}

/* ---- what is over ---- */

Outcome
HostResult::submit(const FilledChunk &)
{
	return {GPUSORTD_JOB_OVER, "the job is sorted"};
}

Outcome
HostResult::take_ranks(const RankPiece &)
{
	return {GPUSORTD_JOB_OVER, "the job is sorted"};
}

Outcome
HostResult::perform(GpusortdSorted *)
{
	return {GPUSORTD_JOB_OVER, "the job is sorted"};
}

uint64_t
HostResult::least()
{
	return 0;
}

void
HostResult::trim()
{
}
