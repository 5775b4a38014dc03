/*
 * measure.cu
 *		Threads that fetch, fill and write windows.
 *
 * Each thread takes the next window until there is none, and has two under way: while it fills or writes one,
 * the card makes and copies the other.
 */
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include <unistd.h>

#include "base/status.h"
#include "leaf_pages/host_pages.h"
#include "leaf_pages/measure.h"

/* Blocks that src/index/block_writer.c writes at once. */
#define PIECE_LEAVES 32

typedef struct Work
{
	const Measured *measured;
	Stage stage;
	uint64_t leaves;
	std::atomic<uint64_t> next;
	std::mutex failing;
	DevSortStatus status; /* the first failure */
} Work;

/* A window that a thread works on. */
typedef struct Turn
{
	const CardLane *lane; /* NULL: without a card */
	CardWindow window;	  /* no leaves: there was none left */
} Turn;

static DevSortStatus
write_pages(const Measured *measured, uint64_t leaf, uint64_t leaves, const Page *pages)
{
	const char *bytes = (const char *) pages;
	size_t size = leaves * PAGE_BYTES;
	off_t place = (off_t) (leaf + 1) * PAGE_BYTES;

	while (size > 0)
	{
		ssize_t written = pwrite(measured->file, bytes, size, place);

		if (written <= 0)
			return status_make(DEVSORT_INVALID, "could not write: %s", strerror(errno));
		bytes += written;
		place += written;
		size -= (size_t) written;
	}
	return status_ok();
}

/* The rows of leaf number i of a window, and those after it. */
static LeafRows
rows_from(const Work *work, const Turn &turn, uint64_t i)
{
	const LeafRows &sorted = work->measured->sorted;
	uint64_t skipped = i * leaf_capacity(sorted.columns);
	uint64_t longs = row_longs(sorted.columns);
	bool fetched = work->stage.fetches && work->stage.way == WAY_ROWS;
	const uint64_t *first =
		fetched ? (const uint64_t *) turn.lane->host : sorted.longs + turn.window.first_row * longs;

	return {first + skipped * longs, NULL, turn.window.rows - skipped, sorted.columns};
}

/* A piece of a window, beginning with its leaf number i. */
static DevSortStatus
finish_piece(const Work *work, const Turn &turn, uint64_t i, std::vector<Page> *memory)
{
	const Measured *measured = work->measured;
	uint64_t leaf = turn.window.first_leaf + i;
	uint64_t leaves = std::min<uint64_t>(PIECE_LEAVES, turn.window.leaves - i);
	const Page *fetched =
		turn.lane && work->stage.way == WAY_PAGES ? (const Page *) turn.lane->host + i : NULL;

	if (work->stage.fills || work->stage.compares)
		host_fill_leaves(rows_from(work, turn, i), leaf, (int) leaves, measured->with_checksums,
						 memory->data());
	if (work->stage.compares && memcmp(memory->data(), fetched, leaves * PAGE_BYTES) != 0)
		return status_make(DEVSORT_DEVICE_FAILED, "leaves from %llu on are not those that the host fills",
						   (unsigned long long) leaf);
	if (work->stage.writes)
		return write_pages(measured, leaf, leaves, fetched ? fetched : memory->data());
	return status_ok();
}

static DevSortStatus
finish_turn(const Work *work, const Turn &turn, std::vector<Page> *memory)
{
	if (turn.lane)
		RETURN_IF_FAILED(card_wait(*turn.lane));
	for (uint64_t i = 0; i < turn.window.leaves; i += PIECE_LEAVES)
		RETURN_IF_FAILED(finish_piece(work, turn, i, memory));
	return status_ok();
}

/* Takes the next window, and has the card begin with it. */
static DevSortStatus
begin_turn(Work *work, Turn *turn)
{
	const Measured *measured = work->measured;
	uint64_t first = work->next.fetch_add(measured->window_leaves);

	turn->window = {};
	if (first >= work->leaves)
		return status_ok();
	turn->window = card_window(measured->sorted, first, measured->window_leaves);
	return turn->lane ? card_fetch(measured->card, work->stage.way, *turn->lane, turn->window) : status_ok();
}

static DevSortStatus
work_through(Work *work, int thread, std::vector<Page> *memory)
{
	Turn turns[2] = {};

	for (int i = 0; i < 2; i++)
	{
		if (work->stage.fetches)
			turns[i].lane = &work->measured->card->lanes[2 * thread + i];
		RETURN_IF_FAILED(begin_turn(work, &turns[i]));
	}
	for (int i = 0; turns[i].window.leaves > 0; i = 1 - i)
	{
		RETURN_IF_FAILED(finish_turn(work, turns[i], memory));
		RETURN_IF_FAILED(begin_turn(work, &turns[i]));
	}
	return status_ok();
}

static void
run_thread(Work *work, int thread, std::vector<Page> *memory)
{
	DevSortStatus status = work_through(work, thread, memory);

	if (status.code != DEVSORT_OK)
	{
		std::lock_guard<std::mutex> lock(work->failing);

		work->status = status;
		work->next = work->leaves;
	}
}

DevSortStatus
measure_stage(const Measured *measured, const Stage &stage, int threads, double *ms)
{
	Work work = {measured, stage, leaf_count(measured->sorted.n, leaf_capacity(measured->sorted.columns)),
				 {0},	   {},	  {}};
	std::vector<std::vector<Page>> memory(threads, std::vector<Page>(PIECE_LEAVES));
	std::vector<std::thread> running;

	if (stage.writes && ftruncate(measured->file, 0) != 0)
		return status_make(DEVSORT_INVALID, "could not empty the file: %s", strerror(errno));

	auto begin = std::chrono::steady_clock::now();

	for (int i = 0; i < threads; i++)
		running.emplace_back(run_thread, &work, i, &memory[i]);
	for (std::thread &thread : running)
		thread.join();
	*ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
	return work.status;
}
