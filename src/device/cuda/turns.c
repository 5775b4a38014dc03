/*
 * device/cuda/turns.c
 *		Parts of a sort (turns.h) that a GPU has no room for at once: they take turns on it.
 *
 * The first part goes to the GPU as it is read, as long as the GPU takes it.  The rows of the others wait in
 * host memory and temporary files (waiting.c), to which each process that feeds brings its own.  When a part
 * has been returned the next one is sent, sorted and returned: so nothing is merged, and each row is written
 * and read once at most, as it is.  A part that is too large for its turn goes through runs (spill.c).
 *
 * Those who have fed may stay to send (SortDevice.help).  The first process begins a part's job and names the
 * part; each takes a chunk or a file of what waits after the other, until none is left.  What finds no room
 * waits again (WAITING_AGAIN).  Then the first process names nothing any more, waits for those who send, and
 * sends alone what is left, making room by spilling.  Who helps waits for a turn for a while only: longer
 * than that whoever reads the rows is busy with something else.
 *
 * If anybody has stayed the next part is sent ahead, while one is read.  There are two connections then, each
 * of which has every other part, and begins its job in the place of the one that is over.  Parts are made so
 * small that there is room for both (base/limits.h).  If the second job can't be had the part is sent when
 * its turn has come.
 *
 * If the GPU is lost between two turns, or others have its memory then, the cpu device sorts the parts that
 * are left: their rows are all here.
 */
#include "postgres.h"

#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "utils/memutils.h"

#include "base/limits.h"
#include "base/wait_events.h"
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

/* A process that helps waits for the next turn so long. */
#define PATIENCE_MS 1000

StaticAssertDecl(GPU_TURNS_MAX == SPLIT_PARTS_MAX, "a turn for each part");

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

/* Bytes that each process may have of a buffer for each part. */
static Size
buffer_size(const SortRequest *request, int parts)
{
	return request->memory_limit * BUFFERS_SHARE / (request->processes * parts);
}

void
turns_choose(SortSplitters *splitters, const SortRequest *request)
{
	double share = request->helped ? gpu_turn_share(true) : 1;
	double with_room = share * rows_with_room(request) / request->expected_rows;
	double largest = 1;

	for (int parts = sort_turns_on_gpu(request); parts > 1 && parts <= GPU_TURNS_MAX; parts++)
	{
		largest = splitters_choose(splitters, request->sample, parts);
		if (largest <= with_room)
			break;
	}
	if (largest > GPU_LARGEST_PART || buffer_size(request, splitters->n + 1) < BUFFER_MIN)
		splitters->n = 0;
}

Size
turns_memory_of_part(const SortRequest *request)
{
	return (request->process_memory > 0 ? request->process_memory : request->memory_limit) *
		   TURN_MEMORY_SHARE;
}

/* ---------------------------------------------------------------- feeding */

Size
turns_room(const SortRequest *request)
{
	return request->memory_limit * GPU_WAITING_SHARE;
}

void
turns_create_waiting(PartsSorter *sorter, const SortRequest *request)
{
	PartsShare *share = parts_share(sorter);
	WaitingShare *waiting = share != NULL ? &share->waiting : &sorter->own;

	waiting_create(waiting,
				   Min(sorter->card->client.job.chunk_bytes, buffer_size(request, parts_number(sorter))),
				   turns_room(request));
	waiting_open(&sorter->waiting, waiting, share != NULL ? &share->base.base.arena : NULL, request->key, 0);
}

void
turns_enter(PartsSorter *sorter, int processes)
{
	PartsShare *share = parts_share(sorter);

	if (sorter->process_memory > 0)
		waiting_limit_room(&sorter->waiting, sorter->process_memory * processes * GPU_WAITING_SHARE);
	if (share != NULL && sorter->of_part.helped && share->help.state == TURN_HELP_UNWANTED)
		share->help.state = TURN_HELP_WANTED;
}

/* A chunk on its way to the GPU, in the first turn; NULL: there is no room, or the GPU has failed. */
static Chunk *
chunk_of_card(PartsSorter *sorter, Size at_least)
{
	CudaCard *card = sorter->card;
	Chunk *chunk;

	if (sorter->card_state != TURNS_CARD_TAKES)
		return NULL;
	chunk = cuda_try_chunk(card, at_least);
	if (chunk == NULL && at_least <= card->client.job.chunk_bytes)
		sorter->card_state = TURNS_CARD_FULL;
	return chunk;
}

/* For any row there is room: it waits. */
Chunk *
turns_get_chunk(PartsSorter *sorter, int part, Size at_least)
{
	Chunk *chunk = part == 0 ? chunk_of_card(sorter, at_least) : NULL;

	if (chunk != NULL || !cuda_share_is_alive(sorter->card))
		return chunk;
	return waiting_get_chunk(&sorter->waiting, part, at_least);
}

void
turns_keep_refused(PartsSorter *sorter, CudaCard *card, int part)
{
	while (cuda_helps(card) && card->refused != NULL)
	{
		waiting_add_copy(&sorter->waiting, part, card->refused);
		cuda_free_first(&card->refused);
	}
}

/* ---------------------------------------------------------------- the first process lets others help */

/* Sets what others may send, a part or 0 for nothing; or, when that is over, has them go. */
static void
set_help(PartsShare *share, int part, TurnHelpState state)
{
	SpinLockAcquire(&share->base.base.mutex);
	share->help.part = part;
	share->help.state = state;
	SpinLockRelease(&share->base.base.mutex);
	ConditionVariableBroadcast(&share->base.base.changed);
}

static bool
want_help(const PartsSorter *sorter)
{
	return sorter->base.share != NULL && parts_share(sorter)->help.state == TURN_HELP_WANTED;
}

void
turns_dismiss(PartsSorter *sorter)
{
	PartsShare *share = parts_share(sorter);

	if (share == NULL || !parts_take_turns(sorter) || share->help.state == TURN_HELP_OVER)
		return;
	set_help(share, 0, TURN_HELP_OVER);
	waiting_dismiss(&sorter->waiting);
}

/* Nobody joins any more, and none of those who have still sends. */
static void
wait_for_helpers(PartsSorter *sorter)
{
	PartsShare *share = parts_share(sorter);

	set_help(share, 0, share->help.state);
	cuda_share_wait_for_none(&share->base.base, &share->help.nsending);
}

/* Others may send of this part, whose job is begun; false: nobody will. */
static bool
let_help(PartsSorter *sorter, CudaCard *card, int part)
{
	if (!want_help(sorter))
		return false;
	cuda_let_join(card);
	set_help(parts_share(sorter), part, TURN_HELP_WANTED);
	return true;
}

/* All must be through with feeding: nobody waits for that any more once rows are read. */
static bool
others_help(PartsSorter *sorter)
{
	if (!want_help(sorter))
		return false;
	if (sort_share_wait_all_fed(sorter->base.share))
		return true;
	(void) cuda_share_is_alive(sorter->card);
	(void) parts_go_on(sorter, sorter->card);
	return false;
}

/* ---------------------------------------------------------------- those who help */

/* A part after the last one that this process has sent of, for it to send; 0: not yet, -1: it is to go. */
static int
next_turn(PartsShare *share, int last)
{
	int part = 0;

	SpinLockAcquire(&share->base.base.mutex);
	if (share->help.state != TURN_HELP_WANTED || share->base.base.failed)
		part = -1;
	else if (share->help.part > last)
	{
		part = share->help.part;
		share->help.nsending++;
	}
	SpinLockRelease(&share->base.base.mutex);
	return part;
}

/* The same, but waits; 0: for too long. */
static int
wait_for_turn(PartsShare *share, int last)
{
	int part;
	bool timed_out = false;

	while ((part = next_turn(share, last)) == 0 && !timed_out)
		timed_out = ConditionVariableTimedSleep(&share->base.base.changed, PATIENCE_MS,
												gpusort_wait_event(GPUSORT_WAIT_READER));
	ConditionVariableCancelSleep();
	return part;
}

static void
note_sent(PartsShare *share)
{
	SpinLockAcquire(&share->base.base.mutex);
	share->help.nsending--;
	SpinLockRelease(&share->base.base.mutex);
	ConditionVariableBroadcast(&share->base.base.changed);
}

/* Sends of a part by a connection of its own, for as long as there is room. */
static void
help_send(PartsSorter *sorter, int part)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cuda turn", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	CudaCard *card = cuda_join(&sorter->base, sorter->waiting.key, NULL);

	if (card->stage < CUDA_LEFT && card->client.job.chunk_bytes >= sorter->waiting.share->chunk_bytes)
		(void) waiting_send_beside(&sorter->waiting, part, card);
	cuda_end_feed(card);
	turns_keep_refused(sorter, card, WAITING_AGAIN);
	waiting_finish(&sorter->waiting);
	note_sent(parts_share(sorter));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

bool
turns_help(PartsSorter *sorter)
{
	PartsShare *share = parts_share(sorter);
	MemoryContext old;
	int part = 0;

	if (!sort_share_is_joined(sorter->base.share))
		return others_help(sorter);
	old = MemoryContextSwitchTo(sorter->context);
	while ((part = wait_for_turn(share, part)) > 0)
		help_send(sorter, part);
	MemoryContextSwitchTo(old);
	return false;
}

/* ---------------------------------------------------------------- a part's job */

/* The next part that has rows, or their number. */
static int
next_part(const PartsSorter *sorter)
{
	int part = sorter->current + 1;

	while (part < parts_number(sorter) && sorter->waiting.share->parts[part].rows == 0)
		part++;
	return part;
}

/* Begins a job for what waits of a part; false: the GPU can't. */
static bool
begin_job(PartsSorter *sorter, CudaCard *card, int part)
{
	const WaitingPart *waits = &sorter->waiting.share->parts[part];

	waiting_rewind(&sorter->waiting, part);
	return cuda_begin_again(card, waits->rows, waits->key_bytes + waits->row_bytes) &&
		   card->client.job.chunk_bytes >= sorter->waiting.share->chunk_bytes;
}

/* Keeps what a sorter has done that is to end. */
static void
keep_stats(PartsSorter *sorter, SorterStats stats)
{
	stats.device_memory = 0; /* of both that there are at a time, or there were */
	cuda_add_stats(&sorter->ended, &stats);
}

/* ---------------------------------------------------------------- ahead */

/* The second connection; it is made if it is not there. */
static CudaCard *
second_card(PartsSorter *sorter)
{
	if (sorter->second == NULL)
	{
		sorter->second = cuda_card_create(&sorter->base, sorter->of_part.key);
		sorter->second->further = true;
		cuda_note_request(sorter->second, &sorter->of_part);
	}
	return sorter->second;
}

static void
end_second_card(PartsSorter *sorter)
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
can_be_ahead(const PartsSorter *sorter)
{
	return want_help(sorter) && sorter->card_state != TURNS_CARD_LOST && sorter->card->external == NULL;
}

/* Has the next part sent while the current one is read, if that can be. */
static void
begin_ahead(PartsSorter *sorter, int part)
{
	if (can_be_ahead(sorter) && begin_job(sorter, second_card(sorter), part))
		(void) let_help(sorter, sorter->second, part);
	else
		end_second_card(sorter);
}

/* The part before is over: what it has of the GPU's memory is the current one's. */
static void
end_part_before(PartsSorter *sorter)
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
change_turns(PartsSorter *sorter, int part)
{
	CudaCard *before = sorter->card;

	sorter->current = part;
	if (sorter->second == NULL)
		return false;
	sorter->card = sorter->second;
	sorter->second = before;
	gpu_client_set_further(&before->client, true);
	gpu_client_set_further(&sorter->card->client, false);
	before->further = true;
	sorter->card->further = false;
	return true;
}

/*
 * What is left of the part, and what waits again or was refused, is sent by this process alone, with all the
 * GPU's memory.
 */
static bool
send_rest(PartsSorter *sorter, CudaCard *card, int part)
{
	Waiting *waiting = &sorter->waiting;

	if (!cuda_flush(card))
		return false;
	waiting_rewind(waiting, WAITING_AGAIN);
	if (!waiting_has_more(waiting, part) && !waiting_has_more(waiting, WAITING_AGAIN) &&
		card->refused == NULL)
		return true;
	end_part_before(sorter);
	return waiting_send(waiting, part, card) && waiting_send(waiting, WAITING_AGAIN, card);
}

/* Sends all of the part whose job is begun; false: the GPU can't go on, and nobody sends any more. */
static bool
send_with_others(PartsSorter *sorter, CudaCard *card, int part)
{
	if (waiting_has_more(&sorter->waiting, part))
		end_part_before(sorter);
	(void) waiting_send_beside(&sorter->waiting, part, card);
	cuda_end_feed(card);
	waiting_finish(&sorter->waiting);
	wait_for_helpers(sorter);
	return cuda_share_is_alive(card) && send_rest(sorter, card, part);
}

/* Has the GPU sort the current part, which waits; false: it can't. */
static bool
sort_on_card(PartsSorter *sorter, bool is_ahead)
{
	int part = sorter->current;
	CudaCard *card = sorter->card;

	if (sorter->card_state == TURNS_CARD_LOST || !(is_ahead || begin_job(sorter, card, part)))
		return false;
	if (is_ahead || let_help(sorter, card, part))
		return send_with_others(sorter, card, part) && parts_perform(sorter, card);
	return waiting_send(&sorter->waiting, part, card) && parts_perform(sorter, card);
}

/* From now on the cpu device sorts. */
static void
lose_card(PartsSorter *sorter)
{
	CudaCard *card = sorter->card;

	if (sorter->card_state == TURNS_CARD_LOST)
		return;
	sorter->card_state = TURNS_CARD_LOST;
	turns_dismiss(sorter);
	if (card->failure != NULL)
	{
		stats_count_fallback(sort_device_cuda.name, card->failure_reason);
		fallback_log_device(sort_device_cuda.name, card->failure_reason, card->failure);
	}
	gpu_client_close(&card->client);
	end_second_card(sorter);
}

static void
sort_on_cpu(PartsSorter *sorter)
{
	SortRequest request = sorter->of_part;

	lose_card(sorter);
	request.shared = false;
	request.processes = 1;
	request.complete_rows = true;
	request.expected_rows = sorter->waiting.share->parts[sorter->current].rows;
	sorter->cpu = sort_device_cpu.begin(&request);
	waiting_send_to_cpu(&sorter->waiting, sorter->current, sorter->cpu);
	(void) sort_device_cpu.sort(sorter->cpu);
}

static void
end_cpu(PartsSorter *sorter)
{
	SorterStats stats;

	if (sorter->cpu == NULL)
		return;
	sort_device_cpu.get_stats(sorter->cpu, &stats);
	keep_stats(sorter, stats);
	sort_device_cpu.end(sorter->cpu);
	sorter->cpu = NULL;
}

/* The current part is sorted: what is not needed any more is let go, and the next one may be sent. */
static void
go_on_sending(PartsSorter *sorter)
{
	int next = next_part(sorter);

	sorter->card->share = NULL;
	waiting_drop(&sorter->waiting, sorter->current);
	waiting_drop(&sorter->waiting, WAITING_AGAIN);
	if (next == parts_number(sorter))
		turns_dismiss(sorter);
	else
		begin_ahead(sorter, next);
}

/* What waits of the first part is sent after the rest. */
void
turns_sort_first(PartsSorter *sorter)
{
	CudaCard *card = sorter->card;
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	waiting_finish(&sorter->waiting);
	waiting_rewind(&sorter->waiting, 0);
	if (waiting_send(&sorter->waiting, 0, card))
		(void) parts_perform(sorter, card);
	sorter->first_rows = card->stats.rows;
	sorter->first_bytes = card->stats.bytes;
	if (parts_go_on(sorter, card))
		go_on_sending(sorter);
	MemoryContextSwitchTo(old);
}

bool
turns_sort_next(PartsSorter *sorter)
{
	MemoryContext old;
	ProgressPhase phase;
	bool is_ahead;
	int part = next_part(sorter);

	if (part == parts_number(sorter))
		return false;
	old = MemoryContextSwitchTo(sorter->context);
	phase = progress_enter(&sorter->base, PROGRESS_SORTING);
	end_cpu(sorter);
	is_ahead = change_turns(sorter, part);
	if (!sort_on_card(sorter, is_ahead))
		sort_on_cpu(sorter);
	go_on_sending(sorter);
	progress_enter(&sorter->base, phase);
	MemoryContextSwitchTo(old);
	return true;
}

/* ---------------------------------------------------------------- statistics, end */

/* Rows of the first part went to the GPU, some of which had to wait; those of the others waited all. */
void
turns_add_stats(const PartsSorter *sorter, SorterStats *stats)
{
	const WaitingShare *waiting = sorter->waiting.share;

	if (sorter->second != NULL)
		cuda_add_stats(stats, &sorter->second->stats);
	stats->device_memory = Max(stats->device_memory, sorter->most_device_memory);
	cuda_add_stats(stats, &sorter->ended);
	if (waiting == NULL)
		return;
	stats->turns = parts_number(sorter);
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

void
turns_end(PartsSorter *sorter)
{
	if (parts_take_turns(sorter) && sort_share_is_own(sorter->base.share))
	{
		/* they may be sending ahead, of files that go now */
		turns_dismiss(sorter);
		wait_for_helpers(sorter);
	}
	/* after a failure files may be open that nobody has finished */
	if (parts_take_turns(sorter))
		waiting_finish(&sorter->waiting);
	if (sorter->cpu != NULL)
		sort_device_cpu.end(sorter->cpu);
	if (sorter->second != NULL)
		cuda_end(sorter->second);
}
