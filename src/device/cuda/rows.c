/*
 * device/cuda/rows.c
 *		The cuda device's sorted rows: windows of them, in chunks that come back from gpusortd.
 *
 * The whole result stays with the service, unless it is small.  A window is a part of it that stands here in
 * a chunk, row after row; the next ones in the same direction are under way meanwhile.  Reading forwards
 * inside a window needs nothing but the rows' own lengths; for all else the places of its rows are found
 * first, once a window.
 *
 * If the connection or the device fails, the sorter does (cuda_client_failed), and there is no next row: exec
 * and index look at sorter->failure before they take that for the end.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/stopwatch.h"
#include "device/cuda/sorter.h"

/* What gpusortd does with the setting in effect when the job began. */
static const char *
method_in_words(const CudaSorter *sorter)
{
	if (sorter->key->variable)
		return "string sort";
	switch (sorter->estimate.algorithm)
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
cuda_sort_job(CudaSorter *sorter)
{
	const GpusortdSorted *sorted = &sorter->client.sorted;
	SorterStats *stats = &sorter->stats;

	sorter->wait.event = GPUSORT_WAIT_SORT;
	if (!gpusortd_perform(&sorter->client))
		return cuda_client_failed(sorter);
	cuda_forget_window(sorter);
	sorter->nrows = sorter->range_end = sorted->rows;
	sorter->position = -1;
	stats->method = method_in_words(sorter);
	stats->rows += sorted->rows;
	stats->bytes += sorted->key_bytes + sorted->row_bytes;
	stats->sort_ms += sorted->sort_us / 1000.0;
	stats->transfer_ms += sorted->feed_us / 1000.0;
	stats->gather_ms += sorted->plan_us / 1000.0;
	stats->device_memory = Max(stats->device_memory, sorted->device_bytes);
	/* if there is another job, it is because this one is as large as there was memory for */
	sorter->estimate.expected_rows = sorted->rows;
	sorter->estimate.expected_key_bytes = sorted->key_bytes;
	sorter->estimate.expected_row_bytes = sorted->row_bytes;
	return true;
}

/* ---------------------------------------------------------------- windows */

static inline bool
in_window(const CudaSorter *sorter, int64 row)
{
	return row >= sorter->window_first && row < sorter->window_first + sorter->window_rows;
}

/*
 * Makes the window one that begins, or backwards ends, with this row.  Streams on where that is the next one.
 */
static bool
fetch_window(CudaSorter *sorter, bool backward, int64 row)
{
	int64 next = backward ? sorter->window_first - 1 : sorter->window_first + sorter->window_rows;
	uint64 position = backward ? row + 1 : row;
	Stopwatch watch = stopwatch_start();
	GpusortdRows window;

	if (sorter->window != NULL && row == next)
		position = GPUSORTD_NEXT;
	sorter->wait.event = GPUSORT_WAIT_FETCH;
	if (!gpusortd_fetch(&sorter->client, backward, position, &window))
		return cuda_client_failed(sorter);
	sorter->stats.gather_ms += stopwatch_ms(watch);
	sorter->window = gpusortd_chunk(&sorter->client, window.chunk);
	sorter->window_bytes = window.bytes;
	sorter->window_first = window.first;
	sorter->window_rows = window.rows;
	sorter->noffsets = 0;
	sorter->stats.bytes_out += window.bytes;
	if (window.rows == 0 || row != (int64) (backward ? window.first + window.rows - 1 : window.first))
		return cuda_fail(sorter, SORT_FAILURE_PROTOCOL, "gpusortd returned other rows than it was asked for");
	return true;
}

/*
 * A window with all rows can as well be memory of the backend's own: an open cursor of few rows then keeps
 * nobody from anything.
 */
bool
cuda_keep_small_result(CudaSorter *sorter)
{
	const GpusortdSorted *sorted = &sorter->client.sorted;

	if (sorter->external != NULL || sorter->stage == CUDA_SORTED ||
		sorted->row_bytes > Min(sorter->client.job.chunk_bytes, sorter->limit))
		return true;
	if (sorter->nrows > 0)
	{
		char *copy;

		if (!fetch_window(sorter, false, 0))
			return false;
		if (sorter->window_rows < sorter->nrows)
			return true;
		copy = MemoryContextAllocHuge(sorter->context, sorter->window_bytes);
		memcpy(copy, sorter->window, sorter->window_bytes);
		sorter->window = copy;
		sorter_stats_note_memory(&sorter->stats, sorter->client.memory_bytes + sorter->window_bytes);
	}
	gpu_client_close(&sorter->client);
	return true;
}

/* Finds where each row of the window begins. */
static bool
find_offsets(CudaSorter *sorter)
{
	Size offset = 0;

	if (sorter->window_rows > sorter->offsets_capacity)
	{
		if (sorter->offsets != NULL)
			pfree(sorter->offsets);
		sorter->offsets = MemoryContextAllocHuge(sorter->context, sizeof(uint32) * sorter->window_rows);
		sorter->offsets_capacity = sorter->window_rows;
	}
	for (int64 i = 0; i < sorter->window_rows; i++)
	{
		if (offset >= sorter->window_bytes)
			break;
		sorter->offsets[i] = offset / 8;
		offset += row_stored_size((MinimalTuple) (sorter->window + offset));
	}
	if (offset != sorter->window_bytes)
		return cuda_fail(sorter, SORT_FAILURE_PROTOCOL,
						 "gpusortd returned rows of other lengths than it said");
	sorter->noffsets = sorter->window_rows;
	return true;
}

/* Where the i-th row of the window begins, or its last one ends; NULL: the sorter has failed. */
static char *
place_in_window(CudaSorter *sorter, int64 i)
{
	if (i == 0)
		return sorter->window;
	if (i >= sorter->window_rows)
		return sorter->window + sorter->window_bytes;
	if (sorter->noffsets == 0 && !find_offsets(sorter))
		return NULL;
	return sorter->window + (Size) sorter->offsets[i] * 8;
}

/* Where the rows of the window end that may be read for now. */
static int64
readable_end(const CudaSorter *sorter)
{
	return Min(sorter->range_end, sorter->window_first + sorter->window_rows);
}

/* Returns a row of the window; those behind it, to the window's end or the range's, are next. */
static MinimalTuple
go_to_row(CudaSorter *sorter, int64 row)
{
	const char *end = place_in_window(sorter, readable_end(sorter) - sorter->window_first);
	const char *at = end != NULL ? place_in_window(sorter, row - sorter->window_first) : NULL;

	if (at == NULL)
		return NULL;
	sorter->at = at + row_stored_size((MinimalTuple) at);
	sorter->at_end = end;
	sorter->position = row;
	return (MinimalTuple) at;
}

void
cuda_hand_over(CudaSorter *sorter)
{
	if (sorter->at >= sorter->at_end)
		return;
	sorter->whole->at = sorter->at;
	sorter->whole->at_end = sorter->at_end;
	sorter->position = readable_end(sorter) - 1;
	cuda_forget_place(sorter);
}

void
cuda_go_to_end(CudaSorter *sorter)
{
	if (sorter->external == NULL)
	{
		sorter->position = sorter->nrows;
		cuda_forget_place(sorter);
		return;
	}
	while (external_sort_next(sorter->external, true) != NULL)
		CHECK_FOR_INTERRUPTS();
}

void
cuda_seek_range(CudaSorter *sorter, int range, int nranges)
{
	sorter->position = sorter->nrows * range / nranges - 1;
	sorter->range_end = sorter->nrows * (range + 1) / nranges;
	cuda_forget_place(sorter);
}

void
cuda_pass_range_end(CudaSorter *sorter)
{
	Assert(sorter->at >= sorter->at_end && sorter->whole->at >= sorter->whole->at_end);
	sorter->range_end = sorter->nrows;
	cuda_forget_place(sorter);
}

MinimalTuple
cuda_look_for_row(CudaSorter *sorter, bool forward)
{
	int64 row = sorter->position + (forward ? 1 : -1);

	Assert(forward || sorter->request.random_access);
	if (row < 0 || row >= sorter->nrows)
	{
		sorter->position = row < 0 ? -1 : sorter->nrows;
		cuda_forget_place(sorter);
		return NULL;
	}
	if (row >= sorter->range_end)
	{
		cuda_forget_place(sorter);
		return NULL;
	}
	if (!in_window(sorter, row) && !fetch_window(sorter, !forward, row))
		return NULL;
	return go_to_row(sorter, row);
}
