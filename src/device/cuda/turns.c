/*
 * device/cuda/turns.c
 *		Parts of a sort that a GPU has no room for at once: they take turns on it.
 *
 * README.md tells of turns.  Each row is written and read once at most, as it is, and nothing is merged,
 * unless a part is too large for its turn (spill.c).
 *
 * If other processes have stayed to help (turn_help.c) the next part is sent ahead, while one is read.  There
 * are two connections then, each of which has every other part, and begins its job in the place of the one
 * that is over.  Parts are made so small that there is room for both (base/limits.h).  If the second job
 * can't be had the part is sent when its turn has come.
 *
 * If the GPU is lost between two turns, or others have its memory then, the cpu device sorts the parts that
 * are left: their rows are all here.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/limits.h"
#include "device/cuda/turns.h"
#include "monitor/counters.h"
#include "monitor/fallback_log.h"
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

static inline int
number_of_parts(const TurnsSorter *sorter)
{
	return sorter->splitters.n + 1;
}

/* ---------------------------------------------------------------- how many parts */

/* So many rows the GPU is expected to have room for; 0: not known. */
static double
rows_with_room(const SortRequest *request)
{
	return cuda_most_memory() / gpu_row_memory(request->expected.row_bytes, request->expected.key_bytes);
}

int
turns_count(const SortRequest *request)
{
	bool read_once =
		request->rows.wanted == 0 && !request->processes.read_jointly && !request->rows.random_access;

	/* the splitters tell later how large the largest part is */
	return gpu_turns(request->expected.rows, rows_with_room(request), 0, read_once, request->processes.help);
}

/* Bytes that each process may have of a buffer for each part. */
static Size
buffer_size(const SortRequest *request, int parts)
{
	return request->memory.limit * BUFFERS_SHARE / (request->processes.n * parts);
}

bool
turns_choose(SortSplitters *splitters, const SortRequest *request)
{
	int parts = request->expected.sample != NULL ? turns_count(request) : 1;
	double share = request->processes.help ? gpu_turn_share(true) : 1;
	double with_room = share * rows_with_room(request) / request->expected.rows;
	double largest = 1;

	for (; parts > 1 && parts <= GPU_TURNS_MAX; parts++)
	{
		largest = splitters_choose(splitters, request->expected.sample, parts);
		if (largest <= with_room)
			break;
	}
	return largest <= GPU_LARGEST_PART && buffer_size(request, splitters->n + 1) >= BUFFER_MIN;
}

/* ---------------------------------------------------------------- beginning */

static const SortDevice turns_device;

static TurnsSorter *
create_sorter(const SortSplitters *splitters, SortShare *share, const struct SortKey *key)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cuda parts", ALLOCSET_DEFAULT_SIZES);
	TurnsSorter *sorter = MemoryContextAllocZero(context, sizeof(TurnsSorter));

	sorter->base.device = &turns_device;
	sorter->base.splitters = &sorter->splitters;
	sorter->base.share = share;
	sorter->base.process = -1;
	sorter->base.read_once = true; /* parts are gone when they were read */
	sorter->splitters = *splitters;
	sorter->context = context;
	MemoryContextSwitchTo(context);
	sorter->card = cuda_card_create(&sorter->base, key);
	sorter->card->replaceable = false;
	sorter->sorter = &sorter->card->base;
	return sorter;
}

/* Rows go to the card, as far as they are of the first part and it has room; the others wait. */
static void
begin_waiting(TurnsSorter *sorter, WaitingShare *waiting, int writer)
{
	const SortShare *share = sorter->base.share;

	waiting_open(&sorter->waiting, waiting, share != NULL ? &turns_share(sorter)->base.base.arena : NULL,
				 sorter->card->key, writer);
	cuda_set_next_place(sorter->card, &sorter->waiting.held);
	sorter->base.places = &sorter->card->place;
}

/* What is asked for with a part of the rows, which takes turns with others: not the memory to wait in. */
static SortRequest
request_of_part(const SortRequest *request, int parts)
{
	SortRequest part = *request;
	Size memory = request->memory.of_each > 0 ? request->memory.of_each : request->memory.limit;

	part.expected.rows /= parts;
	part.memory.limit = memory * TURN_MEMORY_SHARE;
	part.memory.of_each = 0;
	return part;
}

/* Bytes of memory in which rows wait. */
static Size
waiting_room(const SortRequest *request)
{
	return request->memory.limit * GPU_WAITING_SHARE;
}

/* Makes what other processes need to feed all parts. */
static void
create_share(TurnsSorter *sorter, const SortRequest *request)
{
	TurnsShare *share =
		cuda_share_create(sorter->card, sizeof(TurnsShare), waiting_room(request), request->processes.n);

	if (share == NULL)
		return;
	share->base.nparts = number_of_parts(sorter);
	share->splitters = sorter->splitters;
}

Sorter *
turns_begin(const SortRequest *request, const SortSplitters *splitters)
{
	MemoryContext old = CurrentMemoryContext;
	TurnsSorter *sorter = create_sorter(splitters, NULL, request->key);
	SortRequest of_part = request_of_part(request, number_of_parts(sorter));

	sorter->process_memory = request->memory.of_each;
	(void) cuda_begin(sorter->card, &of_part);
	if (sorter->base.failure == NULL && request->processes.share)
		create_share(sorter, request);
	if (sorter->base.failure == NULL)
	{
		WaitingShare *waiting = sorter->base.share != NULL ? &turns_share(sorter)->waiting : &sorter->own;

		waiting_create(waiting,
					   Min(sorter->card->client.job.chunk_bytes,
						   buffer_size(request, number_of_parts(sorter))),
					   waiting_room(request));
		begin_waiting(sorter, waiting, 0);
	}
	MemoryContextSwitchTo(old);
	return &sorter->base;
}

Sorter *
turns_join(CudaShare *share, const struct SortKey *key, int process)
{
	TurnsShare *turns = (TurnsShare *) share;
	MemoryContext old = CurrentMemoryContext;
	TurnsSorter *sorter = create_sorter(&turns->splitters, &share->base, key);

	cuda_enter_job(sorter->card, share);
	begin_waiting(sorter, &turns->waiting, process + 1);
	MemoryContextSwitchTo(old);
	return &sorter->base;
}

/* ---------------------------------------------------------------- feeding */

static bool
turns_enter(Sorter *base, int processes)
{
	TurnsSorter *sorter = (TurnsSorter *) base;
	TurnsShare *share = turns_share(sorter);
	bool entered = sorter_enter(base, processes);

	if (sorter->process_memory > 0)
		waiting_limit_room(&sorter->waiting, sorter->process_memory * processes * GPU_WAITING_SHARE);
	if (share != NULL && sorter->card->request.processes.help && share->help.state == TURN_HELP_UNWANTED)
		share->help.state = TURN_HELP_WANTED;
	return entered;
}

static void
turns_finish_feed(Sorter *base)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	cuda_end_feed(sorter->card);
	waiting_end_feed(&sorter->waiting);
	sorter_note_fed(base);
	base->process = -1;
}

/* ---------------------------------------------------------------- a part's job */

/* The next part that has rows, or their number. */
static int
next_part(const TurnsSorter *sorter)
{
	int part = sorter->current + 1;

	while (part < number_of_parts(sorter) && sorter->waiting.share->parts[part].rows == 0)
		part++;
	return part;
}

/* Begins a job for what waits of a part; false: the GPU can't. */
static bool
begin_job(TurnsSorter *sorter, CudaCard *card, int part)
{
	const WaitingPart *waits = &sorter->waiting.share->parts[part];

	waiting_rewind(&sorter->waiting, part);
	return cuda_begin_again(card, waits->rows, waits->key_bytes + waits->row_bytes) &&
		   card->client.job.chunk_bytes >= sorter->waiting.share->chunk_bytes;
}

/* Keeps what a sorter has done that is to end. */
static void
keep_stats(TurnsSorter *sorter, SorterStats stats)
{
	stats.device_memory = 0; /* of both that there are at a time, or there were */
	sorter_stats_add_all(&sorter->ended, &stats);
}

/* ---------------------------------------------------------------- ahead */

/* The second connection; it is made if it is not there. */
static CudaCard *
second_card(TurnsSorter *sorter)
{
	if (sorter->second == NULL)
	{
		sorter->second = cuda_card_create(&sorter->base, sorter->card->key);
		sorter->second->further = true;
		cuda_note_request(sorter->second, &sorter->card->request);
	}
	return sorter->second;
}

static void
end_second_card(TurnsSorter *sorter)
{
	CudaCard *second = sorter->second;
	Size both;

	if (second == NULL)
		return;
	both = sorter->card->stats.device_memory + second->stats.device_memory;
	sorter->most_device_memory = Max(sorter->most_device_memory, both);
	keep_stats(sorter, second->stats);
	cuda_end(second);
	sorter->second = NULL;
}

/* Is there somebody to send it, and a sorted part on the GPU that will be read from there? */
static bool
can_be_ahead(const TurnsSorter *sorter)
{
	return turn_help_is_wanted(sorter) && !sorter->card_is_lost && sorter->card->external == NULL;
}

/* Has the next part sent while the current one is read, if that can be. */
static void
begin_ahead(TurnsSorter *sorter, int part)
{
	if (can_be_ahead(sorter) && begin_job(sorter, second_card(sorter), part))
		(void) turn_help_let_in(sorter, sorter->second, part);
	else
		end_second_card(sorter);
}

/* The part before is over: what it has of the GPU's memory is the current one's. */
static void
end_part_before(TurnsSorter *sorter)
{
	if (sorter->second != NULL && !gpusortd_end(&sorter->second->client))
		gpu_client_close(&sorter->second->client);
}

/* ---------------------------------------------------------------- turns */

/*
 * The part has its turn, by the connection by which it was sent ahead (true), or by that of the part before.
 * One of two counts among the session's sorts, and waits for other sorts if it has to: the one whose turn it
 * is.
 */
static bool
change_turns(TurnsSorter *sorter, int part)
{
	CudaCard *before = sorter->card;

	sorter->current = part;
	if (sorter->second == NULL)
		return false;
	sorter->card = sorter->second;
	sorter->second = before;
	gpu_client_set_further(&before->client, true);
	gpu_client_set_further(&sorter->card->client, false);
	before->further = before->replaceable = true;
	sorter->card->further = false;
	return true;
}

/*
 * What is left of the part, and what waits again, is sent by this process alone, with all the GPU's memory.
 */
static bool
send_rest(TurnsSorter *sorter, CudaCard *card, int part)
{
	Waiting *waiting = &sorter->waiting;

	waiting_rewind(waiting, WAITING_AGAIN);
	if (!waiting_has_more(waiting, part) && !waiting_has_more(waiting, WAITING_AGAIN))
		return true;
	end_part_before(sorter);
	cuda_set_next_place(card, NULL);
	return waiting_send(waiting, part, &card->base) && waiting_send(waiting, WAITING_AGAIN, &card->base);
}

/* Sends all of the part whose job is begun; false: the GPU can't go on, and nobody sends any more. */
static bool
send_with_others(TurnsSorter *sorter, CudaCard *card, int part)
{
	if (waiting_has_more(&sorter->waiting, part))
		end_part_before(sorter);
	cuda_set_next_place(card, &sorter->waiting.held);
	(void) waiting_send_beside(&sorter->waiting, part, card);
	cuda_end_feed(card);
	waiting_finish(&sorter->waiting);
	turn_help_end(sorter);
	return cuda_share_is_alive(card) && send_rest(sorter, card, part);
}

/* Sorts what the card was sent.  A small result is not kept here: the next part goes where it is. */
static bool
perform(TurnsSorter *sorter, CudaCard *card)
{
	bool goes_on = sorter->current + 1 < number_of_parts(sorter);

	return cuda_perform(card) && (goes_on || cuda_keep_small_result(card));
}

/* Has the GPU sort the current part, which waits; false: it can't. */
static bool
sort_on_card(TurnsSorter *sorter, bool is_ahead)
{
	int part = sorter->current;
	CudaCard *card = sorter->card;

	if (sorter->card_is_lost || !(is_ahead || begin_job(sorter, card, part)))
		return false;
	if (is_ahead || turn_help_let_in(sorter, card, part))
		return send_with_others(sorter, card, part) && perform(sorter, card);
	cuda_set_next_place(card, NULL);
	return waiting_send(&sorter->waiting, part, &card->base) && perform(sorter, card);
}

/* From now on the cpu device sorts. */
static void
lose_card(TurnsSorter *sorter)
{
	const Sorter *card = &sorter->card->base;

	if (sorter->card_is_lost)
		return;
	sorter->card_is_lost = true;
	turn_help_dismiss(&sorter->base);
	if (card->failure != NULL)
	{
		stats_count_fallback(device_names[card->device->kind], card->failure_reason);
		fallback_log_device(device_names[card->device->kind], card->failure_reason, card->failure);
	}
	gpu_client_close(&sorter->card->client);
	end_second_card(sorter);
}

static Sorter *
sort_on_cpu(TurnsSorter *sorter)
{
	SortRequest request = sorter->card->request;
	Sorter *cpu;

	lose_card(sorter);
	request.processes.share = false;
	request.processes.n = 1;
	request.rows.complete = true;
	request.expected.rows = sorter->waiting.share->parts[sorter->current].rows;
	cpu = sort_device_cpu.begin(&request);
	waiting_rewind(&sorter->waiting, sorter->current);
	(void) waiting_send(&sorter->waiting, sorter->current, cpu);
	(void) sort_device_cpu.sort(cpu);
	return cpu;
}

/* The cpu device has a sorter for each part. */
static void
end_part_on_cpu(TurnsSorter *sorter)
{
	SorterStats stats;

	if (sorter->sorter->device != &sort_device_cpu)
		return;
	sort_device_cpu.get_stats(sorter->sorter, &stats);
	keep_stats(sorter, stats);
	sort_device_cpu.end(sorter->sorter);
}

/* The current part is sorted: what is not needed any more is let go, and the next one may be sent. */
static void
go_on_sending(TurnsSorter *sorter)
{
	int next = next_part(sorter);

	sorter->card->share = NULL;
	waiting_drop(&sorter->waiting, sorter->current);
	waiting_drop(&sorter->waiting, WAITING_AGAIN);
	if (next == number_of_parts(sorter))
		turn_help_dismiss(&sorter->base);
	else
		begin_ahead(sorter, next);
}

/* What waits of the first part is sent after the rest. */
static void
sort_first_part(TurnsSorter *sorter)
{
	CudaCard *card = sorter->card;
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	if (cuda_flush(card))
	{
		waiting_end_feed(&sorter->waiting);
		waiting_rewind(&sorter->waiting, 0);
		cuda_set_next_place(card, NULL);
		if (waiting_send(&sorter->waiting, 0, &card->base))
			(void) perform(sorter, card);
	}
	sorter->first_rows = card->stats.rows;
	sorter->first_bytes = card->stats.bytes;
	if (sorter->base.failure == NULL)
		go_on_sending(sorter);
	MemoryContextSwitchTo(old);
}

static bool
turns_sort(Sorter *base)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	if (cuda_share_is_alive(sorter->card))
	{
		sort_share_check_all_fed(base->share);
		sort_first_part(sorter);
	}
	return base->failure == NULL;
}

/* Sorts the next part that has rows; false: there is none. */
static bool
sort_next_part(TurnsSorter *sorter)
{
	MemoryContext old;
	ProgressPhase phase;
	bool is_ahead;
	int part = next_part(sorter);

	if (part == number_of_parts(sorter))
		return false;
	old = MemoryContextSwitchTo(sorter->context);
	phase = progress_enter(&sorter->base, PROGRESS_SORTING);
	end_part_on_cpu(sorter);
	is_ahead = change_turns(sorter, part);
	sorter->card->replaceable = true;
	sorter->sorter = sort_on_card(sorter, is_ahead) ? &sorter->card->base : sort_on_cpu(sorter);
	sorter->card->replaceable = false;
	go_on_sending(sorter);
	progress_enter(&sorter->base, phase);
	MemoryContextSwitchTo(old);
	return true;
}

/* ---------------------------------------------------------------- rows */

static MinimalTuple
turns_next(Sorter *base, bool forward)
{
	TurnsSorter *sorter = (TurnsSorter *) base;
	MinimalTuple row;

	if (unlikely(!forward))
		elog(ERROR, "gpusort: a sort whose parts take turns is read backwards");
	while (unlikely((row = sorter_next(sorter->sorter, true)) == NULL))
	{
		if (base->failure != NULL || !sort_next_part(sorter))
			break;
	}
	sorter_take_rows_at_hand(base, sorter->sorter);
	return row;
}

/* ---------------------------------------------------------------- statistics, end */

/* Rows of the first part went to the GPU, some of which had to wait; those of the others waited all. */
static void
add_waited(const TurnsSorter *sorter, SorterStats *stats)
{
	const WaitingShare *waiting = sorter->waiting.share;

	if (waiting == NULL)
		return;
	stats->turns = number_of_parts(sorter);
	stats->rows = sorter->first_rows;
	stats->bytes = sorter->first_bytes;
	for (int i = 0; i < stats->turns; i++)
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
turns_get_stats(const Sorter *base, SorterStats *stats)
{
	const TurnsSorter *sorter = (const TurnsSorter *) base;

	cuda_get_stats(sorter->card, base->share, stats);
	if (sorter->second != NULL)
		sorter_stats_add_all(stats, &sorter->second->stats);
	stats->device_memory = Max(stats->device_memory, sorter->most_device_memory);
	sorter_stats_add_all(stats, &sorter->ended);
	add_waited(sorter, stats);
}

static void
turns_end(Sorter *base)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	if (sort_share_is_own(base->share))
	{
		/* they may be sending ahead, of files that go now */
		turn_help_dismiss(base);
		turn_help_end(sorter);
	}
	/* after a failure files may be open that nobody has finished */
	waiting_finish(&sorter->waiting);
	if (sorter->sorter->device == &sort_device_cpu)
		sort_device_cpu.end(sorter->sorter);
	if (sorter->second != NULL)
		cuda_end(sorter->second);
	if (sort_share_is_joined(base->share))
		sorter_note_fed(base);
	cuda_end(sorter->card);
	if (sort_share_is_own(base->share))
		arena_end(&base->share->arena);
	MemoryContextDelete(sorter->context);
}

/* Of a sorter that turns_begin or turns_join has made. */
static const SortDevice turns_device = {
	.kind = DEVICE_CUDA,
	.properties = CUDA_PROPERTIES,
	.count_parts = turns_count,
	.enter = turns_enter,
	.finish_feed = turns_finish_feed,
	.sort = turns_sort,
	.sort_together = sorter_can_not,
	.help = turn_help,
	.dismiss = turn_help_dismiss,
	.next = turns_next,
	.seek_range = sorter_seek_range,
	.pass_range_end = sorter_pass_range_end,
	.get_stats = turns_get_stats,
	.end = turns_end,
};
