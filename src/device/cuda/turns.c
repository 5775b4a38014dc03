/*
 * device/cuda/turns.c
 *		A sort that the GPU has no room for: it is cut into parts by its keys, which take turns.
 *
 * The first part goes to the GPU as it is read.  The rows of the others wait in host memory and temporary
 * files (waiting.c), to which each process that feeds brings its own.  When the first part has been returned,
 * or already while it is (turn_ahead.c), the next one's rows are sent, then they are sorted and returned, and
 * so on: so nothing is merged, and each row is written and read once at most, as it is.
 *
 * Splitters are those of a sort on several GPUs (cards.c), and like there they decide on nothing but how
 * equal the parts are.  Rows of the first part that the GPU has no room for, as others have its memory or the
 * part is larger than expected, wait too: all processes go on reading, and no row goes through the Gather for
 * want of room.  A part that is still too large when its turn has come goes through runs (spill.c).
 *
 * If the GPU is lost between two turns, or others have its memory then, the cpu device sorts the parts that
 * are left: their rows are all here.
 *
 * The result can be read forwards, once.  A card that fails in the middle of a part's result fails the
 * sorter, of which rows were returned already: that is an error of the statement (exec/node_gpusort.c).
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/limits.h"
#include "device/cuda/turns.h"
#include "monitor/counters.h"
#include "monitor/progress.h"

/*
 * Of the sort's memory, besides what rows wait in: buffers of all processes, to write the others; merging of
 * a part that is too large, or sorting by the cpu device.
 */
#define BUFFERS_SHARE 0.25
#define TURN_MEMORY_SHARE 0.25

/* If buffers would be smaller than that, rows don't wait. */
#define BUFFER_MIN ((Size) 8 * 1024)

StaticAssertDecl(GPU_TURNS_MAX == SPLIT_PARTS_MAX, "a turn for each part");

static const SortDevice sort_device_turns;

/* ---------------------------------------------------------------- how many parts */

/* So many rows the GPU is expected to have room for; 0: not known. */
static double
rows_with_room(const SortRequest *request)
{
	return cuda_most_memory() / gpu_row_memory(request->expected_row_bytes, request->expected_key_bytes);
}

int
sort_turns_on_gpu(const SortRequest *request)
{
	bool read_once = request->rows_wanted == 0 && !request->read_jointly && !request->random_access;

	/* the splitters tell later how large the largest part is */
	return gpu_turns(request->expected_rows, rows_with_room(request), 0, read_once, request->helped);
}

bool
turns_wanted(const SortRequest *request)
{
	return request->turns > 1 && request->sample != NULL;
}

/*
 * Chooses splitters for as many parts as it takes that the largest one has room, if that can be; false: it is
 * not worth while.
 */
static bool
choose_splitters(SortSplitters *splitters, const SortRequest *request)
{
	double share = request->helped ? gpu_turn_share(true) : 1;
	double with_room = share * rows_with_room(request) / request->expected_rows;
	double largest = 1;

	for (int parts = request->turns; parts <= GPU_TURNS_MAX; parts++)
	{
		largest = splitters_choose(splitters, request->sample, parts);
		if (largest <= with_room)
			break;
	}
	return largest <= GPU_LARGEST_PART && splitters->n > 0;
}

/* ---------------------------------------------------------------- beginning */

static TurnsSorter *
create_turns_sorter(const SortSplitters *splitters)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cuda turns", ALLOCSET_DEFAULT_SIZES);
	TurnsSorter *sorter = MemoryContextAllocZero(context, sizeof(TurnsSorter));

	sorter->base.device = &sort_device_turns;
	sorter->base.parts = &sorter->parts;
	sorter->splitters = *splitters;
	sorter->parts.splitters = &sorter->splitters;
	sorter->context = context;
	sorter->process = -1;
	for (int i = 0; i <= splitters->n; i++)
	{
		sorter->turns[i] = (Turn){.base.device = &sort_device_turn, .turns = sorter, .number = i};
		sorter->parts.sorters[sorter->parts.n++] = &sorter->turns[i].base;
	}
	return sorter;
}

bool
turns_go_on(TurnsSorter *sorter)
{
	Sorter *base = &sorter->base;

	sorter_fail_with_part(base, &sorter->card->base);
	if (base->failure != NULL && sorter->share != NULL)
		sort_share_fail(&sorter->share->base, base->failure_reason, base->failure);
	return base->failure == NULL;
}

/* What one part is asked for. */
static SortRequest
request_of_part(const SortRequest *request, int parts)
{
	SortRequest part = *request;

	part.expected_rows /= parts;
	part.memory_limit =
		(request->process_memory > 0 ? request->process_memory : request->memory_limit) * TURN_MEMORY_SHARE;
	part.process_memory = 0;
	return part;
}

/* Bytes that each process may have of a buffer for each part. */
static Size
buffer_size(const SortRequest *request, int parts)
{
	return request->memory_limit * BUFFERS_SHARE / (request->processes * parts);
}

/* Makes what other processes need to take part; without it they can't. */
static void
create_share(TurnsSorter *sorter, const SortRequest *request, Size room)
{
	TurnsShare *share;

	if (!request->shared || sorter->card->share == NULL)
		return;
	share =
		(TurnsShare *) sort_share_create(sizeof(TurnsShare) + room, sizeof(TurnsShare), request->processes);
	if (share == NULL)
		return;
	share->base.on_gpu = share->base.in_turns = true;
	share->card = sorter->card->share->base.arena.handle;
	share->splitters = sorter->splitters;
	sorter->share = share;
}

/* Where rows wait. */
static void
create_waiting(TurnsSorter *sorter, const SortRequest *request)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	Size room = request->memory_limit * GPU_WAITING_SHARE;
	WaitingShare *waiting = &sorter->own;

	create_share(sorter, request, room);
	if (sorter->share != NULL)
		waiting = &sorter->share->waiting;
	waiting_create(waiting, Min(sorter->card->client.job.chunk_bytes, buffer_size(request, sorter->parts.n)),
				   room);
	waiting_open(&sorter->waiting, waiting, sorter->share != NULL ? &sorter->share->base.arena : NULL,
				 request->key, 0);
	MemoryContextSwitchTo(old);
}

Sorter *
turns_begin(const SortRequest *request)
{
	MemoryContext old;
	TurnsSorter *sorter;
	SortSplitters splitters;

	if (!choose_splitters(&splitters, request) || buffer_size(request, splitters.n + 1) < BUFFER_MIN)
		return NULL;
	sorter = create_turns_sorter(&splitters);
	old = MemoryContextSwitchTo(sorter->context);
	sorter->of_part = request_of_part(request, sorter->parts.n);
	sorter->process_memory = request->process_memory;
	sorter->helped = request->helped;
	sorter->card = cuda_sorter_create(request->key);
	sorter->card->whole = &sorter->base;
	sorter->card->goes_on = true;
	cuda_begin_on(sorter->card, &sorter->of_part, 0);
	MemoryContextSwitchTo(old);
	if (turns_go_on(sorter))
		create_waiting(sorter, request);
	return &sorter->base;
}

Sorter *
turns_join(SortShare *base, const SortKey *key)
{
	TurnsShare *share = (TurnsShare *) base;
	int process = sort_share_enter(base);
	MemoryContext old;
	TurnsSorter *sorter;

	if (process < 0)
		return NULL;
	sorter = create_turns_sorter(&share->splitters);
	old = MemoryContextSwitchTo(sorter->context);
	sorter->share = share;
	sorter->process = process;
	sorter->card = cuda_join_part(&share->card, key);
	sorter->card->whole = &sorter->base;
	waiting_open(&sorter->waiting, &share->waiting, &base->arena, key, process + 1);
	MemoryContextSwitchTo(old);
	(void) turns_go_on(sorter);
	return &sorter->base;
}

/* ---------------------------------------------------------------- feeding */

/* Who feeds asks the parts for chunks: there are none for just any row. */
static Chunk *
turns_get_chunk(Sorter *base, Size at_least)
{
	elog(ERROR, "gpusort: a row for no part of a sort");
}

static void
turns_put_chunk(Sorter *base, Chunk *chunk)
{
	elog(ERROR, "gpusort: a chunk of no part of a sort");
}

static SortShare *
turns_share(Sorter *base)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	return sorter->share != NULL ? &sorter->share->base : NULL;
}

static bool
turns_enter(Sorter *base, int processes)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	if (sorter->process_memory > 0)
		waiting_limit_room(&sorter->waiting, sorter->process_memory * processes * GPU_WAITING_SHARE);
	if (sorter->share != NULL)
	{
		sorter->process = sort_share_enter(&sorter->share->base);
		sorter->share->help.wanted = sorter->helped;
	}
	return cuda_enter(&sorter->card->base, processes);
}

static void
turns_finish_feed(Sorter *base, bool others_pass)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	cuda_finish_feed(&sorter->card->base, others_pass);
	if (turns_go_on(sorter))
		turns_keep_refused(sorter, sorter->card, 0);
	if (sorter->share != NULL && !arena_is_own(&sorter->share->base.arena))
		waiting_finish(&sorter->waiting);
	else if (others_pass)
		turns_dismiss_helpers(base); /* rows come through the Gather, until the workers have ended */
	if (sorter->share != NULL && sorter->process >= 0)
		sort_share_note_fed(&sorter->share->base, sorter->process);
	sorter->process = -1;
}

static MinimalTuple
turns_take_back(Sorter *base)
{
	return NULL;
}

/* ---------------------------------------------------------------- turns */

const WaitingPart *
turns_waiting_part(const TurnsSorter *sorter, int part)
{
	return &sorter->waiting.share->parts[part];
}

int
turns_next_part(const TurnsSorter *sorter)
{
	int part = sorter->current + 1;

	while (part < sorter->parts.n && turns_waiting_part(sorter, part)->rows == 0)
		part++;
	return part;
}

bool
turns_begin_job(TurnsSorter *sorter, CudaSorter *card, int part)
{
	const WaitingPart *waits = turns_waiting_part(sorter, part);

	card->goes_on = part + 1 < sorter->parts.n;
	return cuda_begin_again(card, waits->rows, waits->key_bytes + waits->row_bytes) &&
		   card->client.job.chunk_bytes >= sorter->waiting.share->chunk_bytes;
}

/* Has the GPU sort the rows of the part that wait; false: it can't. */
static bool
sort_on_card(TurnsSorter *sorter, int part)
{
	bool is_ahead = sorter->ahead == part;

	if (sorter->card_is_lost ||
		!(is_ahead ? turns_finish_ahead(sorter)
				   : turns_begin_job(sorter, sorter->card, part) && turns_send(sorter, part)))
		return false;
	sort_device_cuda.perform(&sorter->card->base);
	return sorter->card->base.failure == NULL;
}

/* From now on the cpu device sorts. */
static void
lose_card(TurnsSorter *sorter)
{
	CudaSorter *card = sorter->card;

	if (sorter->card_is_lost)
		return;
	sorter->card_is_lost = true;
	turns_dismiss_helpers(&sorter->base);
	if (card->base.failure != NULL)
		stats_count_fallback(sort_device_cuda.name, card->base.failure_reason);
	gpu_client_close(&card->client);
	turns_close_other(sorter);
}

void
turns_end_sorter(TurnsSorter *sorter, Sorter *ended)
{
	SorterStats stats;

	ended->device->get_stats(ended, &stats);
	stats.device_memory = 0; /* of both that there are at a time, or there were */
	cuda_add_stats(&sorter->ended, &stats);
	ended->device->end(ended);
}

static void
sort_on_cpu(TurnsSorter *sorter, int part)
{
	SortRequest request = sorter->of_part;

	lose_card(sorter);
	request.shared = false;
	request.processes = 1;
	request.complete_rows = true;
	request.expected_rows = turns_waiting_part(sorter, part)->rows;
	sorter->cpu = sort_device_cpu.begin(&request);
	waiting_rewind(&sorter->waiting, part);
	(void) waiting_send(&sorter->waiting, part, sorter->cpu, false);
	sort_device_cpu.perform(sorter->cpu);
}

/* The current part is sorted: what is not needed any more is let go, and the next one may be sent. */
static void
go_on_sending(TurnsSorter *sorter)
{
	waiting_drop(&sorter->waiting, sorter->current);
	waiting_drop(&sorter->waiting, WAITING_AGAIN);
	if (turns_next_part(sorter) == sorter->parts.n)
		turns_dismiss_helpers(&sorter->base);
	else
		turns_begin_ahead(sorter);
}

/* Sorts the next part that has rows, whose turn it is then; false: there is none. */
static bool
begin_next_turn(TurnsSorter *sorter)
{
	MemoryContext old;
	ProgressPhase phase;
	int part = turns_next_part(sorter);

	if (part == sorter->parts.n)
		return false;
	sorter->current = part;
	old = MemoryContextSwitchTo(sorter->context);
	phase = progress_enter(&sorter->base, PROGRESS_SORTING);
	if (sorter->cpu != NULL)
		turns_end_sorter(sorter, sorter->cpu);
	sorter->cpu = NULL;
	if (!sort_on_card(sorter, part))
		sort_on_cpu(sorter, part);
	go_on_sending(sorter);
	progress_enter(&sorter->base, phase);
	MemoryContextSwitchTo(old);
	return true;
}

/* The first part's turn; what waits of it is sent after the rest. */
static void
turns_perform(Sorter *base)
{
	TurnsSorter *sorter = (TurnsSorter *) base;
	CudaSorter *card = sorter->card;
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	waiting_finish(&sorter->waiting);
	waiting_rewind(&sorter->waiting, 0);
	if (waiting_send(&sorter->waiting, 0, &card->base, false))
		sort_device_cuda.perform(&card->base);
	sorter->first_rows = card->stats.rows;
	sorter->first_bytes = card->stats.bytes;
	card->share = NULL;
	if (turns_go_on(sorter))
		go_on_sending(sorter);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- rows */

static MinimalTuple
turns_next(Sorter *base, bool forward)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	if (!forward)
		elog(ERROR, "gpusort: a sort whose parts take turns is read backwards");
	for (;;)
	{
		Sorter *by = sorter->cpu != NULL ? sorter->cpu : &sorter->card->base;
		MinimalTuple row = sorter_next(by, true);

		if (likely(row != NULL))
		{
			sorter_take_rows_at_hand(base, by);
			return row;
		}
		sorter_fail_with_part(base, by);
		if (base->failure != NULL || !begin_next_turn(sorter))
			return NULL;
	}
}

static void
turns_cannot(Sorter *base)
{
	elog(ERROR, "gpusort: a sort whose parts take turns is read again");
}

static bool
turns_has_random_access(const Sorter *base)
{
	return false;
}

/* ---------------------------------------------------------------- statistics, end */

static void
turns_get_stats(const Sorter *base, SorterStats *stats)
{
	const TurnsSorter *sorter = (const TurnsSorter *) base;
	const WaitingShare *waiting = sorter->waiting.share;

	*stats = sorter->card->stats;
	if (sorter->other != NULL)
		cuda_add_stats(stats, &sorter->other->stats);
	stats->device_memory = Max(stats->device_memory, sorter->most_device_memory);
	cuda_add_stats(stats, &sorter->ended);
	if (waiting == NULL)
		return;
	stats->turns = sorter->parts.n;
	stats->rows = sorter->first_rows;
	stats->bytes = sorter->first_bytes;
	for (int i = 0; i < sorter->parts.n; i++)
	{
		const WaitingPart *part = &waiting->parts[i];

		stats->rows += i > 0 ? part->rows : 0;
		stats->bytes += i > 0 ? part->key_bytes + part->row_bytes : 0;
		stats->waited_rows += part->rows;
		stats->waited_disk_bytes += part->file_bytes;
	}
	stats->waited_disk_bytes += waiting->parts[WAITING_AGAIN].file_bytes;
	if (stats->runs > 0)
		stats->method = "external merge";
	stats->disk_bytes += stats->waited_disk_bytes;
	stats->spill_ms += sorter->waiting.write_ms;
	stats->peak_memory += waiting->most_held + sorter->waiting.most_buffered;
}

static void
turns_end(Sorter *base)
{
	TurnsSorter *sorter = (TurnsSorter *) base;
	bool is_first = sorter->share != NULL && arena_is_own(&sorter->share->base.arena);

	if (is_first)
	{
		/* they may be sending ahead, of files that go now */
		turns_dismiss_helpers(base);
		turns_wait_for_helpers(sorter);
	}
	if (sorter->cpu != NULL)
		sorter->cpu->device->end(sorter->cpu);
	sort_device_cuda.end(&sorter->card->base);
	if (sorter->other != NULL)
		sort_device_cuda.end(&sorter->other->base);
	if (is_first)
		arena_end(&sorter->share->base.arena);
	MemoryContextDelete(sorter->context);
}

static const SortDevice sort_device_turns = {
	.name = "cuda",
	.keeps_sort_columns = true,
	.keeps_rows = true,
	.may_refuse_rows = true,
	.get_chunk = turns_get_chunk,
	.try_chunk = turns_get_chunk,
	.put_chunk = turns_put_chunk,
	.take_back = turns_take_back,
	.share = turns_share,
	.enter = turns_enter,
	.finish_feed = turns_finish_feed,
	.is_helped = turns_are_helped,
	.help_reader = turns_help_reader,
	.dismiss_helpers = turns_dismiss_helpers,
	.perform = turns_perform,
	.next = turns_next,
	.rewind = turns_cannot,
	.mark = turns_cannot,
	.restore = turns_cannot,
	.has_random_access = turns_has_random_access,
	.get_stats = turns_get_stats,
	.end = turns_end,
};
