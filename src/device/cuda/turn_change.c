/*
 * device/cuda/turn_change.c
 *		Parts that take turns on a GPU: each is sent and sorted in its turn, or ahead of it.
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

#include "device/cuda/turns.h"
#include "monitor/counters.h"
#include "monitor/fallback_log.h"
#include "monitor/progress.h"

/* ---------------------------------------------------------------- a part's job */

/* The next part that has rows, or their number. */
static int
next_part(const TurnsSorter *sorter)
{
	int part = sorter->current + 1;

	while (part < turns_parts(sorter) && sorter->waiting.share->parts[part].rows == 0)
		part++;
	return part;
}

/*
 * Begins a job for what waits of a part; false: the GPU can't.  One of two connections counts among the
 * session's sorts, and waits for other sorts if it has to: the one whose turn it is.
 */
static bool
begin_job(TurnsSorter *sorter, CudaCard *card, int part)
{
	const WaitingPart *waits = &sorter->waiting.share->parts[part];

	card->further = card == sorter->second;
	waiting_rewind(&sorter->waiting, part);
	return cuda_begin_again(card, waits->rows, waits->key_bytes + waits->row_bytes) &&
		   card->client.job.chunk_bytes >= sorter->waiting.share->chunk_bytes;
}

/* Keeps what a sorter has done that is to end. */
static void
keep_stats(TurnsSorter *sorter, SorterStats stats)
{
	stats.device_memory = 0; /* that of the cards that there are is told */
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
		cuda_note_request(sorter->second, &sorter->card->request);
	}
	return sorter->second;
}

static void
end_second_card(TurnsSorter *sorter)
{
	CudaCard *second = sorter->second;

	if (second == NULL)
		return;
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
	bool goes_on = sorter->current + 1 < turns_parts(sorter);

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
	if (next == turns_parts(sorter))
		turn_help_dismiss(&sorter->base);
	else
		begin_ahead(sorter, next);
}

/* What waits of the first part is sent after the rest. */
void
turns_sort_first(TurnsSorter *sorter)
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

bool
turns_sort_next(TurnsSorter *sorter)
{
	MemoryContext old;
	ProgressPhase phase;
	bool is_ahead;
	int part = next_part(sorter);

	if (part == turns_parts(sorter))
		return false;
	old = MemoryContextSwitchTo(sorter->context);
	phase = progress_enter(&sorter->base, PROGRESS_SORTING);
	end_part_on_cpu(sorter);
	sorter->card->replaceable = true;
	is_ahead = change_turns(sorter, part);
	sorter->sorter = sort_on_card(sorter, is_ahead) ? &sorter->card->base : sort_on_cpu(sorter);
	sorter->card->replaceable = false;
	go_on_sending(sorter);
	progress_enter(&sorter->base, phase);
	MemoryContextSwitchTo(old);
	return true;
}
