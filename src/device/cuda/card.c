/*
 * device/cuda/card.c
 *		A sort, or a part of one, on one GPU, of gpusortd, a service of its own process.
 *
 * Filled chunks leave while the input is still read.  After the last one the service sorts and puts whole
 * rows in order, and they come back a window at a time; they stay with the service until the sort ends, so
 * they can be read again in both directions.
 *
 * When the service or the device fails the sorter does; nobody looks for another device here.
 */
#include "postgres.h"

#include <math.h>

#include "utils/memutils.h"

#include "base/guc.h"
#include "device/cuda/sorter.h"
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

/* What the service is told beforehand. */
static void
estimate_job(CudaSorter *sorter, const SortRequest *request)
{
	GpusortdBegin *estimate = &sorter->estimate;
	double rows = Min(expected_rows_kept(request), ESTIMATE_MAX);

	estimate->key_bytes = request->key->width;
	estimate->algorithm = gpusort_algorithm;
	estimate->payload = GPUSORTD_ROWS_RIDE;
	estimate->expected_rows = rows;
	estimate->expected_key_bytes = Min(rows * request->expected_key_bytes, ESTIMATE_MAX);
	estimate->expected_row_bytes = Min(rows * request->expected_row_bytes, ESTIMATE_MAX);
	estimate->most_bytes = most_device_memory();
}

void
cuda_note_request(CudaSorter *sorter, const SortRequest *request)
{
	sorter->request = *request;
	sorter->limit = request->process_memory > 0 ? request->process_memory : request->memory_limit;
	estimate_job(sorter, request);
}

void
cuda_begin_on(CudaSorter *sorter, const SortRequest *request, uint32 avoid)
{
	cuda_note_request(sorter, request);
	sorter->estimate.avoid = avoid;
	if (cuda_connect(sorter))
		(void) cuda_begin_job(sorter);
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
cuda_begin_again(CudaSorter *sorter, uint64 rows, uint64 bytes)
{
	if (sorter->external != NULL)
		external_sort_end(sorter->external);
	sorter->external = NULL;
	sorter->job = NULL;
	sorter->stage = CUDA_FEEDING;
	sorter->nrows = 0;
	sorter->position = -1;
	cuda_forget_window(sorter);
	note_known_rows(&sorter->estimate, rows, bytes);
	if (sorter->client.fd < 0 && !cuda_connect(sorter))
		return false;
	return cuda_begin_job(sorter);
}

/* A chunk to fill, when there is room; NULL: the sorter has failed. */
static Chunk *
make_room(CudaSorter *sorter, Size at_least)
{
	if (!cuda_share_is_alive(sorter))
		return NULL;
	if (at_least > sorter->client.job.chunk_bytes)
		return cuda_open_lone_chunk(sorter, at_least);
	for (;;)
	{
		bool is_full = false;

		if (!cuda_submit_refused(sorter))
			return NULL;
		if (sorter->refused == NULL)
		{
			int number = cuda_take_chunk(sorter, &is_full);

			if (number >= 0)
				return cuda_open_chunk(sorter, number);
			if (!is_full)
				return NULL;
		}
		if (!cuda_spill(sorter))
			return NULL;
	}
}

Chunk *
cuda_get_chunk(CudaSorter *sorter, Size at_least)
{
	return cuda_helps(sorter) ? cuda_apart_chunk(sorter, at_least) : make_room(sorter, at_least);
}

void
cuda_put_chunk(CudaSorter *sorter, Chunk *chunk)
{
	if (chunk == sorter->lone)
		cuda_put_lone_chunk(sorter);
	else if (cuda_owns_chunk(sorter, chunk))
		(void) cuda_submit_chunk(sorter, chunk);
	else
		sort_device_cpu.put_chunk(sorter->apart, 0, chunk);
}

/* Waits until all chunks have found room. */
static bool
settle_chunks(CudaSorter *sorter)
{
	while (cuda_submit_refused(sorter) && cuda_flush(sorter))
	{
		if (sorter->refused == NULL)
			return true;
		if (!cuda_spill(sorter))
			break;
	}
	return false;
}

static void
rewind_rows(CudaSorter *sorter)
{
	sorter->position = -1;
	cuda_forget_place(sorter);
	if (sorter->external != NULL)
		external_sort_rewind(sorter->external);
}

/* Has all that was fed, by all processes, where it is sorted. */
static bool
settle(CudaSorter *sorter)
{
	if (sorter->stage < CUDA_SETTLED && cuda_share_is_alive(sorter) && settle_chunks(sorter))
		sorter->stage = CUDA_SETTLED;
	return sorter->stage >= CUDA_SETTLED;
}

void
cuda_start_sort(CudaSorter *sorter)
{
	if (settle(sorter) && !gpusortd_start_perform(&sorter->client))
		(void) cuda_client_failed(sorter);
}

bool
cuda_perform(CudaSorter *sorter)
{
	if (sorter->stage == CUDA_SORTED)
	{
		sorter->range_end = sorter->nrows;
		rewind_rows(sorter);
		return sorter->failure == NULL;
	}
	if (sorter->failure != NULL || !settle(sorter))
		return false;
	if (sorter->external != NULL || (sorter->job != NULL && sorter->job->napart > 0))
		return cuda_finish_external(sorter);
	return cuda_sort_job(sorter);
}

/* ---------------------------------------------------------------- rows */

MinimalTuple
cuda_next(CudaSorter *sorter, bool forward)
{
	if (unlikely(sorter->external != NULL))
		return external_sort_next(sorter->external, forward);
	return likely(forward) ? cuda_next_row(sorter) : cuda_look_for_row(sorter, false);
}

static void
set_mark(CudaSorter *sorter)
{
	sorter->mark = sorter->position;
	if (sorter->external != NULL)
		external_sort_mark(sorter->external);
}

static void
seek_mark(CudaSorter *sorter)
{
	sorter->position = sorter->mark;
	cuda_forget_place(sorter);
	if (sorter->external != NULL)
		external_sort_restore(sorter->external);
}

void
cuda_seek(CudaSorter *sorter, SortSeek where, int range, int nranges)
{
	switch (where)
	{
		case SORT_SEEK_FIRST:
			rewind_rows(sorter);
			break;
		case SORT_SET_MARK:
			set_mark(sorter);
			break;
		case SORT_SEEK_MARK:
			seek_mark(sorter);
			break;
		case SORT_SEEK_RANGE:
			cuda_seek_range(sorter, range, nranges);
			break;
		case SORT_PASS_RANGE_END:
			cuda_pass_range_end(sorter);
			break;
	}
}

void
cuda_end(CudaSorter *sorter)
{
	cuda_share_leave(sorter);
	if (sorter->apart != NULL)
		sort_device_cpu.end(sorter->apart);
	if (sorter->external != NULL)
		external_sort_end(sorter->external);
	MemoryContextDelete(sorter->context);
}
