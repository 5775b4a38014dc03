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
#include "files/external_sort.h"
#include "service/state.h"

/* More than this is no estimate; the planner's may be any number. */
#define ESTIMATE_MAX 1e15

/* ---------------------------------------------------------------- its places */

/* The rows of one part alone are here, the first one of those that are fed. */
static Chunk *
take_chunk(Place *place, int part, Size at_least)
{
	CudaCard *card = (CudaCard *) place->owner;

	if (part > 0 || !cuda_share_is_alive(card) || at_least > card->client.job.chunk_bytes)
		return NULL;
	if (!card->makes_room && card->share != NULL && card->share->base.overflowed)
		cuda_leave_full_job(card);
	if (!card->makes_room && card->stage >= CUDA_LEFT)
		return NULL;
	return cuda_take_chunk(card);
}

static bool
make_room(Place *place, int part, Size at_least)
{
	CudaCard *card = (CudaCard *) place->owner;

	if (part > 0 || card->base.failure != NULL || at_least > card->client.job.chunk_bytes)
		return false;
	if (card->makes_room)
		return cuda_spill(card);
	cuda_leave_full_job(card);
	return false;
}

void
cuda_set_next_place(CudaCard *card, Place *next)
{
	card->place.next = next != NULL ? next : &card->apart;
	card->makes_room = next == NULL && !cuda_has_joined(card);
}

/* ---------------------------------------------------------------- beginning */

static void
close_connection(void *arg)
{
	gpu_client_close(&((CudaCard *) arg)->client);
}

CudaCard *
cuda_card_create(Sorter *whole, const SortKey *key)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cuda device", ALLOCSET_DEFAULT_SIZES);
	CudaCard *card = MemoryContextAllocZero(context, sizeof(CudaCard));
	MemoryContextCallback *callback = MemoryContextAllocZero(context, sizeof(MemoryContextCallback));

	card->base.device = &sort_device_cuda;
	card->base.places = &card->place;
	card->base.process = -1;
	card->whole = whole != NULL ? whole : &card->base;
	card->replaceable = whole != NULL;
	card->place = (Place){.owner = card, .take = take_chunk, .put = cuda_put_chunk, .drain = make_room};
	card->apart = (Place){.owner = card, .take = cuda_take_apart};
	card->key = key;
	card->context = context;
	card->client.fd = -1;
	card->stats.processes = 1;
	cuda_set_next_place(card, NULL);
	callback->func = close_connection;
	callback->arg = card;
	MemoryContextRegisterResetCallback(context, callback);
	return card;
}

/*
 * How many rows come to the device, if they come in no order: of the i-th one that is read, a share of wanted
 * / i is kept from when as many have come as are wanted.
 */
static double
expected_rows_kept(const SortRequest *request)
{
	double wanted = request->rows.wanted;

	if (request->rows.wanted == 0 || wanted >= request->expected.rows)
		return request->expected.kept;
	return Min(request->expected.rows,
			   wanted * (1 + log(request->expected.rows / wanted)) + BOUND_SAMPLES * request->processes.n);
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
	card->limit = request->memory.of_each > 0 ? request->memory.of_each : request->memory.limit;
	estimate->key_bytes = cuda_key_bytes(request);
	estimate->algorithm = gpusort_algorithm;
	estimate->expected_rows = rows;
	estimate->expected_key_bytes = Min(rows * request->expected.key_bytes, ESTIMATE_MAX);
	estimate->expected_row_bytes = Min(rows * request->expected.row_bytes, ESTIMATE_MAX);
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
	card->first_run_sorter = card->runs != NULL ? pg_atomic_read_u32(&card->runs->n) : 0;
	card->share = NULL;
	card->stage = CUDA_FEEDING;
	card->base.merged = NULL;
	card->base.nrows = 0;
	note_known_rows(&card->estimate, rows, bytes);
	if (card->client.fd < 0 && !cuda_connect(card))
		return false;
	return cuda_begin_job(card);
}

/* ---------------------------------------------------------------- sorting */

bool
cuda_perform(CudaCard *card)
{
	if (card->stage == CUDA_SORTED)
	{
		sorter_begin_reading(&card->base, card->base.nrows);
		return card->base.failure == NULL;
	}
	if (!cuda_share_is_alive(card) || !cuda_flush(card))
		return false;
	return card->external != NULL || cuda_has_runs(card) ? cuda_finish_external(card) : cuda_sort_job(card);
}

void
cuda_get_stats(const CudaCard *card, const SortShare *share, SorterStats *stats)
{
	*stats = card->stats;
	cuda_get_coding(card, stats);
	if (share == NULL)
		return;
	stats->processes = Max(share->nentered, 1);
	stats->bytes_in += ((const CudaShare *) share)->bytes_in;
}

void
cuda_end(CudaCard *card)
{
	cuda_leave(card);
	if (card->run_sorter != NULL)
		sort_device_cpu.end(card->run_sorter);
	if (card->external != NULL)
		external_sort_end(card->external);
	MemoryContextDelete(card->context);
}
