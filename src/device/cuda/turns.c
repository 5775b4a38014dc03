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
	sorter->splitters = *splitters;
	sorter->base.splitters = &sorter->splitters;
	sorter->nparts = splitters->n + 1;
	sorter->context = context;
	sorter->process = -1;
	return sorter;
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

	if (!request->shared || sorter->card->base.share == NULL)
		return;
	share =
		(TurnsShare *) sort_share_create(sizeof(TurnsShare) + room, sizeof(TurnsShare), request->processes);
	if (share == NULL)
		return;
	share->base.on_gpu = share->base.in_turns = true;
	share->card = sorter->card->base.share->arena.handle;
	share->splitters = sorter->splitters;
	sorter->base.share = &share->base;
}

/* Where rows wait. */
static void
create_waiting(TurnsSorter *sorter, const SortRequest *request)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	Size room = request->memory_limit * GPU_WAITING_SHARE;
	WaitingShare *waiting;

	create_share(sorter, request, room);
	waiting = sorter->base.share != NULL ? &turns_share(sorter)->waiting : &sorter->own;
	waiting_create(waiting, Min(sorter->card->client.job.chunk_bytes, buffer_size(request, sorter->nparts)),
				   room);
	waiting_open(&sorter->waiting, waiting, sorter->base.share != NULL ? &sorter->base.share->arena : NULL,
				 request->key, 0);
	MemoryContextSwitchTo(old);
}

Sorter *
turns_begin(const SortRequest *request)
{
	MemoryContext old;
	TurnsSorter *sorter;
	SortSplitters splitters;

	if (request->turns <= 1 || request->sample == NULL || !choose_splitters(&splitters, request) ||
		buffer_size(request, splitters.n + 1) < BUFFER_MIN)
		return NULL;
	sorter = create_turns_sorter(&splitters);
	old = MemoryContextSwitchTo(sorter->context);
	sorter->of_part = request_of_part(request, sorter->nparts);
	sorter->process_memory = request->process_memory;
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
turns_join(SortShare *base, const SortKey *key, FileSet *files)
{
	TurnsShare *share = (TurnsShare *) base;
	int process = sort_share_enter(base);
	MemoryContext old;
	TurnsSorter *sorter;

	if (process < 0)
		return NULL;
	sorter = create_turns_sorter(&share->splitters);
	old = MemoryContextSwitchTo(sorter->context);
	sorter->base.share = base;
	sorter->process = process;
	sorter->card = cuda_join_part(&share->card, key);
	sorter->card->whole = &sorter->base;
	waiting_open(&sorter->waiting, &share->waiting, &base->arena, key, process + 1);
	MemoryContextSwitchTo(old);
	(void) turns_go_on(sorter);
	return &sorter->base;
}

/* ---------------------------------------------------------------- feeding */

static bool
turns_enter(Sorter *base, int processes, FileSet *files)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	if (sorter->process_memory > 0)
		waiting_limit_room(&sorter->waiting, sorter->process_memory * processes * GPU_WAITING_SHARE);
	if (base->share != NULL)
	{
		sorter->process = sort_share_enter(base->share);
		if (sorter->of_part.helped && turns_share(sorter)->help.state == TURN_HELP_UNWANTED)
			turns_share(sorter)->help.state = TURN_HELP_WANTED;
	}
	return cuda_enter(sorter->card);
}

static void
turns_finish_feed(Sorter *base, bool others_pass)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	cuda_finish_feed(&sorter->card->base, others_pass);
	if (turns_go_on(sorter))
		turns_keep_refused(sorter, sorter->card, 0);
	if (sort_share_is_joined(base->share))
		waiting_finish(&sorter->waiting);
	else if (others_pass)
		turns_dismiss_helpers(sorter); /* rows come through the Gather, until the workers have ended */
	sort_share_note_fed(base->share, sorter->process);
	sorter->process = -1;
}

static MinimalTuple
turns_take_back(Sorter *base)
{
	return NULL;
}

/* ---------------------------------------------------------------- turns */

/* Has the GPU sort the rows of the part that wait; false: it can't. */
static bool
sort_on_card(TurnsSorter *sorter, int part)
{
	bool is_ahead = sorter->ahead == part;

	if (sorter->card_state == TURNS_CARD_LOST ||
		!(is_ahead ? turns_finish_ahead(sorter)
				   : turns_begin_job(sorter, sorter->card, part) && turns_send(sorter, part)))
		return false;
	return cuda_perform(sorter->card);
}

/* From now on the cpu device sorts. */
static void
lose_card(TurnsSorter *sorter)
{
	CudaSorter *card = sorter->card;

	if (sorter->card_state == TURNS_CARD_LOST)
		return;
	sorter->card_state = TURNS_CARD_LOST;
	turns_dismiss_helpers(sorter);
	if (card->base.failure != NULL)
		stats_count_fallback(sort_device_cuda.name, card->base.failure_reason);
	gpu_client_close(&card->client);
	turns_close_other(sorter);
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
	(void) sort_device_cpu.work(sorter->cpu, SORT_WORK_SORT);
}

/* The current part is sorted: what is not needed any more is let go, and the next one may be sent. */
static void
go_on_sending(TurnsSorter *sorter)
{
	waiting_drop(&sorter->waiting, sorter->current);
	waiting_drop(&sorter->waiting, WAITING_AGAIN);
	if (turns_next_part(sorter) == sorter->nparts)
		turns_dismiss_helpers(sorter);
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

	if (part == sorter->nparts)
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
static bool
sort_first_part(TurnsSorter *sorter)
{
	CudaSorter *card = sorter->card;
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	waiting_finish(&sorter->waiting);
	waiting_rewind(&sorter->waiting, 0);
	if (waiting_send(&sorter->waiting, 0, &card->base, false))
		(void) cuda_perform(card);
	sorter->first_rows = card->stats.rows;
	sorter->first_bytes = card->stats.bytes;
	card->base.share = NULL;
	if (turns_go_on(sorter))
		go_on_sending(sorter);
	MemoryContextSwitchTo(old);
	return sorter->base.failure == NULL;
}

static bool
turns_work(Sorter *base, SortWork work)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	switch (work)
	{
		case SORT_WORK_SORT:
			return sort_first_part(sorter);
		case SORT_WORK_SORT_TOGETHER:
			return false;
		case SORT_WORK_HELP:
			return turns_help(sorter);
		case SORT_WORK_DISMISS:
			turns_dismiss_helpers(sorter);
			break;
	}
	return true;
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

static bool
turns_seek(Sorter *base, SortSeek where, int range, int nranges)
{
	if (where != SORT_SEEK_FIRST)
		elog(ERROR, "gpusort: a sort whose parts take turns is read again");
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
	stats->turns = sorter->nparts;
	stats->rows = sorter->first_rows;
	stats->bytes = sorter->first_bytes;
	for (int i = 0; i < sorter->nparts; i++)
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
	bool is_first = sort_share_is_own(base->share);

	if (is_first)
	{
		/* they may be sending ahead, of files that go now */
		turns_dismiss_helpers(sorter);
		turns_wait_for_helpers(sorter);
	}
	if (sorter->cpu != NULL)
		sorter->cpu->device->end(sorter->cpu);
	cuda_end(&sorter->card->base);
	if (sorter->other != NULL)
		cuda_end(&sorter->other->base);
	if (is_first)
		arena_end(&base->share->arena);
	MemoryContextDelete(sorter->context);
}

static const SortDevice sort_device_turns = {
	.name = "cuda",
	.properties = CUDA_PROPERTIES,
	.begin = turns_begin,
	.join = turns_join,
	.enter = turns_enter,
	.get_chunk = turns_get_chunk,
	.put_chunk = turns_put_chunk,
	.finish_feed = turns_finish_feed,
	.take_back = turns_take_back,
	.work = turns_work,
	.next = turns_next,
	.seek = turns_seek,
	.get_stats = turns_get_stats,
	.end = turns_end,
};
