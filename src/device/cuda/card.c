/*
 * device/cuda/card.c
 *		A sort, or a part of one, on one GPU, of gpusortd, a service of its own process.
 *
 * Filled chunks leave while the input is still read.  When the service or the device fails the card does;
 * nobody looks for another device here.
 */
#include "postgres.h"

#include <math.h>

#include "utils/memutils.h"

#include "base/guc.h"
#include "device/cuda/on_card.h"
#include "device/cuda/rows.h"
#include "service/state.h"

/* More than this is no estimate; the planner's may be any number. */
#define ESTIMATE_MAX 1e15

/*
 * How many rows come to the device, if they come in no order: of the i-th one that is read, a share of wanted
 * / i is kept from when as many have come as are wanted.
 */
static double
expected_rows_kept(const SortRequest *request)
{
	double wanted = request->rows_wanted;

	if (request->rows_wanted == 0 || wanted >= request->expected_rows)
		return request->expected_rows;
	return Min(request->expected_rows,
			   wanted * (1 + log(request->expected_rows / wanted)) + BOUND_SAMPLES * request->processes);
}

uint64
cuda_most_memory(void)
{
	return guc_sort_device_memory(gpu_service_device_memory());
}

/* The most that the service shall give it; 0: as much as there is. */
static uint64
most_device_memory(void)
{
	uint64 all = gpu_service_device_memory();
	uint64 most = cuda_most_memory();

	return most < all || all == 0 ? most : 0;
}

void
cuda_note_request(CudaCard *card, const SortRequest *request)
{
	GpusortdBegin *estimate = &card->estimate;
	double rows = Min(expected_rows_kept(request), ESTIMATE_MAX);

	card->request = *request;
	card->limit = request->process_memory > 0 ? request->process_memory : request->memory_limit;
	estimate->key_bytes = request->key->width;
	estimate->algorithm = gpusort_algorithm;
	estimate->expected_rows = rows;
	estimate->expected_key_bytes = Min(rows * request->expected_key_bytes, ESTIMATE_MAX);
	estimate->expected_row_bytes = Min(rows * request->expected_row_bytes, ESTIMATE_MAX);
	estimate->most_bytes = most_device_memory();
}

bool
cuda_begin(CudaCard *card, const SortRequest *request)
{
	cuda_note_request(card, request);
	return cuda_connect(card) && cuda_begin_job(card);
}

/* What the service is told of rows that are known: of keys that vary, only how long they were expected. */
static void
note_known_rows(GpusortdBegin *estimate, double rows, double bytes)
{
	double key_bytes = estimate->key_bytes;

	if (key_bytes == 0 && estimate->expected_rows > 0)
		key_bytes = estimate->expected_key_bytes / estimate->expected_rows;
	estimate->expected_rows = rows;
	estimate->expected_key_bytes = rows * key_bytes;
	estimate->expected_row_bytes = Max(0, bytes - rows * key_bytes);
}

bool
cuda_begin_again(CudaCard *card, uint64 rows, uint64 bytes)
{
	if (card->external != NULL)
		external_sort_end(card->external);
	card->external = NULL;
	card->share = NULL;
	card->stage = CUDA_FEEDING;
	card->nrows = 0;
	card->position = -1;
	cuda_forget_window(card);
	note_known_rows(&card->estimate, rows, bytes);
	if (card->client.fd < 0 && !cuda_connect(card))
		return false;
	return cuda_begin_job(card);
}

/* A chunk to fill, when there is room; NULL: the card has failed. */
static Chunk *
make_room(CudaCard *card, Size at_least)
{
	if (!cuda_share_is_alive(card))
		return NULL;
	if (at_least > card->client.job.chunk_bytes)
		return cuda_open_lone_chunk(card, at_least);
	for (;;)
	{
		bool is_full = false;

		if (!cuda_submit_refused(card))
			return NULL;
		if (card->refused == NULL)
		{
			int number = cuda_take_chunk(card, &is_full);

			if (number >= 0)
				return cuda_open_chunk(card, number);
			if (!is_full)
				return NULL;
		}
		if (!cuda_spill(card))
			return NULL;
	}
}

Chunk *
cuda_get_chunk(CudaCard *card, Size at_least)
{
	return cuda_helps(card) ? cuda_apart_chunk(card, at_least) : make_room(card, at_least);
}

void
cuda_put_chunk(CudaCard *card, Chunk *chunk)
{
	if (chunk == card->lone)
		cuda_put_lone_chunk(card);
	else if (cuda_owns_chunk(card, chunk))
		(void) cuda_submit_chunk(card, chunk);
	else
		sort_device_cpu.put_chunk(card->apart, 0, chunk);
}

/* Waits until all chunks have found room. */
static bool
settle_chunks(CudaCard *card)
{
	while (cuda_submit_refused(card) && cuda_flush(card))
	{
		if (card->refused == NULL)
			return true;
		if (!cuda_spill(card))
			break;
	}
	return false;
}

/* Has all that was fed, by all processes, where it is sorted. */
static bool
settle(CudaCard *card)
{
	if (card->stage < CUDA_SETTLED && cuda_share_is_alive(card) && settle_chunks(card))
		card->stage = CUDA_SETTLED;
	return card->stage >= CUDA_SETTLED;
}

bool
cuda_perform(CudaCard *card)
{
	if (card->stage == CUDA_SORTED)
	{
		card->range_end = card->nrows;
		cuda_seek(card, SORT_SEEK_FIRST, 0, 0);
		return card->failure == NULL;
	}
	if (card->failure != NULL || !settle(card))
		return false;
	if (card->external != NULL || (card->share != NULL && card->share->napart > 0))
		return cuda_finish_external(card);
	return cuda_sort_job(card);
}

/* ---------------------------------------------------------------- rows */

MinimalTuple
cuda_next(CudaCard *card, bool forward)
{
	if (unlikely(card->external != NULL))
		return merged_rows_next(external_sort_rows(card->external), forward);
	return likely(forward) ? cuda_next_row(card) : cuda_look_for_row(card, false);
}

void
cuda_seek(CudaCard *card, SortSeek where, int range, int nranges)
{
	MergedRows *merged = card->external != NULL ? external_sort_rows(card->external) : NULL;

	switch (where)
	{
		case SORT_SEEK_FIRST:
			card->position = -1;
			if (merged != NULL)
				merged_rows_rewind(merged);
			break;
		case SORT_SET_MARK:
			card->mark = card->position;
			if (merged != NULL)
				merged_rows_mark(merged);
			return;
		case SORT_SEEK_MARK:
			card->position = card->mark;
			if (merged != NULL)
				merged_rows_restore(merged);
			break;
		case SORT_SEEK_RANGE:
			card->position = card->nrows * range / nranges - 1;
			card->range_end = card->nrows * (range + 1) / nranges;
			break;
		case SORT_PASS_RANGE_END:
			Assert(card->at >= card->at_end && card->whole->at >= card->whole->at_end);
			card->range_end = card->nrows;
			break;
	}
	cuda_forget_place(card);
}

void
cuda_add_stats(SorterStats *stats, const SorterStats *more)
{
	if (stats->method == NULL || more->disk_bytes > 0)
		stats->method = more->method;
	stats->rows += more->rows;
	stats->bytes += more->bytes;
	stats->peak_memory += more->peak_memory;
	stats->disk_bytes += more->disk_bytes;
	stats->runs += more->runs;
	stats->merge_passes = Max(stats->merge_passes, more->merge_passes);
	stats->sort_ms += more->sort_ms;
	stats->spill_ms += more->spill_ms;
	stats->merge_ms += more->merge_ms;
	stats->processes = Max(stats->processes, more->processes);
	stats->device_memory += more->device_memory;
	stats->bytes_in += more->bytes_in;
	stats->bytes_out += more->bytes_out;
	stats->transfer_ms += more->transfer_ms;
	stats->gather_ms += more->gather_ms;
	stats->queue_ms += more->queue_ms;
}

void
cuda_end(CudaCard *card)
{
	cuda_share_leave(card);
	if (card->apart != NULL)
		sort_device_cpu.end(card->apart);
	if (card->external != NULL)
		external_sort_end(card->external);
	MemoryContextDelete(card->context);
}
