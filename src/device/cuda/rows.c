/*
 * device/cuda/rows.c
 *		The cuda device's sorted rows: windows of them, in chunks that come back from gpusortd.
 *
 * The whole result stays with the service, unless it is small.  A window is a part of it that stands here in
 * a chunk, row after row; the next ones in the same direction are under way meanwhile.  A sort that is read
 * forwards alone needs nothing but the rows' own lengths; for all else the offsets of its rows are found
 * first, once a window.
 *
 * If the connection or the device fails, the card does (cuda_client_failed), and there is no next row: exec
 * and index look at the sorter's failure before they take that for the end.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/stopwatch.h"
#include "device/cuda/on_card.h"
#include "key/sort_key.h"

/* What gpusortd does with the setting in effect when the job began. */
static const char *
method_in_words(const CudaCard *card)
{
	if (card->estimate.key_bytes == 0)
		return "string sort";
	switch (card->estimate.algorithm)
	{
		case GPUSORTD_BUCKET:
			return "bucket sort";
		case GPUSORTD_RADIX:
			return "radix sort";
		default:
			return "sample sort";
	}
}

bool
cuda_sort_job(CudaCard *card)
{
	const GpusortdSorted *sorted = &card->client.sorted;
	SorterStats *stats = &card->stats;

	if (!cuda_send_ranks(card))
		return false;
	card->wait.event = GPUSORT_WAIT_SORT;
	if (!gpusortd_perform(&card->client))
		return cuda_client_failed(card);
	cuda_forget_window(card);
	sorter_begin_reading(&card->base, sorted->rows);
	stats->method = method_in_words(card);
	stats->rows += sorted->rows;
	stats->bytes += sorted->key_bytes + sorted->row_bytes;
	stats->sort_ms += sorted->sort_us / 1000.0;
	stats->transfer_ms += sorted->feed_us / 1000.0;
	stats->gather_ms += sorted->plan_us / 1000.0;
	stats->device_memory = Max(stats->device_memory, sorted->device_bytes);
	/* if there is another job, it is because this one is as large as there was memory for */
	card->estimate.expected_rows = sorted->rows;
	card->estimate.expected_key_bytes = sorted->key_bytes;
	card->estimate.expected_row_bytes = sorted->row_bytes;
	return true;
}

/* ---------------------------------------------------------------- windows */

static inline bool
in_window(const CudaCard *card, int64 row)
{
	return row >= card->window_first && row < card->window_first + card->window_rows;
}

/*
 * Makes the window one that begins, or backwards ends, with this row.  Streams on where that is the next one.
 */
static bool
fetch_window(CudaCard *card, bool backward, int64 row)
{
	int64 next = backward ? card->window_first - 1 : card->window_first + card->window_rows;
	uint64 position = backward ? row + 1 : row;
	Stopwatch watch = stopwatch_start();
	GpusortdRows window;

	if (card->window != NULL && row == next)
		position = GPUSORTD_NEXT;
	card->wait.event = GPUSORT_WAIT_FETCH;
	if (!gpusortd_fetch(&card->client, backward, position, &window))
		return cuda_client_failed(card);
	card->stats.gather_ms += stopwatch_ms(watch);
	card->window = gpusortd_chunk(&card->client, window.chunk);
	card->window_bytes = window.bytes;
	card->window_first = window.first;
	card->window_rows = window.rows;
	card->noffsets = 0;
	card->stats.bytes_out += window.bytes;
	if (window.rows == 0 || row != (int64) (backward ? window.first + window.rows - 1 : window.first))
		return cuda_fail(card, SORT_FAILURE_PROTOCOL, "gpusortd returned other rows than it was asked for");
	return true;
}

/*
 * A window with all rows can as well be memory of the backend's own: an open cursor of few rows then keeps
 * nobody from anything.
 */
bool
cuda_keep_small_result(CudaCard *card)
{
	const GpusortdSorted *sorted = &card->client.sorted;

	if (card->external != NULL || card->stage == CUDA_SORTED ||
		sorted->row_bytes > Min(card->client.job.chunk_bytes, card->limit))
		return true;
	if (card->base.nrows > 0)
	{
		char *copy;

		if (!fetch_window(card, false, 0))
			return false;
		if (card->window_rows < card->base.nrows)
			return true;
		copy = MemoryContextAllocHuge(card->context, card->window_bytes);
		memcpy(copy, card->window, card->window_bytes);
		card->window = copy;
		sorter_stats_note_memory(&card->stats, card->client.memory_bytes + card->window_bytes);
	}
	gpu_client_close(&card->client);
	return true;
}

/* Finds where each row of the window begins. */
static bool
find_offsets(CudaCard *card)
{
	Size offset = 0;

	if (card->window_rows > card->offsets_capacity)
	{
		if (card->offsets != NULL)
			pfree(card->offsets);
		card->offsets = MemoryContextAllocHuge(card->context, sizeof(uint32) * card->window_rows);
		card->offsets_capacity = card->window_rows;
	}
	for (int64 i = 0; i < card->window_rows; i++)
	{
		if (offset >= card->window_bytes)
			break;
		card->offsets[i] = offset / 8;
		offset += row_stored_size((MinimalTuple) (card->window + offset));
	}
	if (offset != card->window_bytes)
		return cuda_fail(card, SORT_FAILURE_PROTOCOL, "gpusortd returned rows of other lengths than it said");
	card->noffsets = card->window_rows;
	return true;
}

/* Where the i-th row of the window begins, or its last one ends; NULL: the card has failed. */
static char *
address_in_window(CudaCard *card, int64 i)
{
	if (i == 0)
		return card->window;
	if (i >= card->window_rows)
		return card->window + card->window_bytes;
	if (card->noffsets == 0 && !find_offsets(card))
		return NULL;
	return card->window + (Size) card->offsets[i] * 8;
}

/*
 * Returns the row.  Those behind it, to the end of the window or of the range, count as returned, too: they
 * are at hand.  NULL: the card has failed.
 */
static MinimalTuple
hand_over(CudaCard *card, MinimalTuple row)
{
	int64 end = Min(card->base.range_end, card->window_first + card->window_rows);
	const char *at_end = address_in_window(card, end - card->window_first);

	if (at_end == NULL)
		return NULL;
	card->base.at = (const char *) row + row_stored_size(row);
	card->base.at_end = at_end;
	card->base.position = end - 1;
	return row;
}

MinimalTuple
cuda_next_of_job(CudaCard *card, bool forward)
{
	int64 at = card->base.position + (forward ? 1 : -1);
	MinimalTuple row;

	Assert(forward || card->request.rows.random_access);
	if (at < 0 || at >= card->base.range_end)
	{
		if (at < 0 || at >= card->base.nrows)
			card->base.position = at < 0 ? -1 : card->base.nrows;
		return NULL;
	}
	if (!in_window(card, at) && !fetch_window(card, !forward, at))
		return NULL;
	row = (MinimalTuple) address_in_window(card, at - card->window_first);
	if (row == NULL)
		return NULL;
	card->base.position = at;
	return card->request.rows.random_access ? row : hand_over(card, row);
}
