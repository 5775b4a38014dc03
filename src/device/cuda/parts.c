/*
 * device/cuda/parts.c
 *		The cuda device: a sort in parts, which gpusortd sorts on a GPU.
 *
 * Most sorts are one part.  One that a GPU has no room for is cut by splitters into parts that take turns on
 * it (turns.c): so their results follow each other, and nothing is merged.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/limits.h"
#include "device/cuda/turns.h"
#include "files/shared_runs.h"

/* ---------------------------------------------------------------- beginning */

static PartsSorter *
create_sorter(void)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cuda parts", ALLOCSET_DEFAULT_SIZES);
	PartsSorter *sorter = MemoryContextAllocZero(context, sizeof(PartsSorter));

	sorter->base.device = &sort_device_cuda;
	sorter->context = context;
	sorter->process = -1;
	return sorter;
}

/* What is asked for with a part of the rows, which takes turns with others, if so many. */
static SortRequest
request_of_part(const SortRequest *request, int parts)
{
	SortRequest part = *request;

	if (parts > 1)
	{
		part.expected_rows /= parts;
		part.memory_limit = turns_memory_of_part(request);
		part.process_memory = 0;
	}
	return part;
}

/*
 * Makes what other processes need to feed all parts.  Rows of lone workers (SortTeam) are for the cpu device,
 * so without memory to share all is.
 */
static void
create_share(PartsSorter *sorter, const SortRequest *request)
{
	bool take_turns = parts_take_turns(sorter);
	Size room = take_turns ? turns_room(request) : sizeof(SortBound);
	PartsShare *share = (PartsShare *) sort_share_create(sizeof(PartsShare) + room, sizeof(PartsShare),
														 take_turns ? request->processes : 1);

	if (share == NULL)
	{
		sorter_fail(&sorter->base, SORT_FAILURE_MEMORY, "there is no memory that the processes can share");
		return;
	}
	share->base.read_jointly = request->read_jointly;
	share->base.memory = sorter->of_part.memory_limit / Max(request->processes, 1);
	file_set_init(&share->base.files);
	share->splitters = sorter->splitters;
	sorter->base.share = &share->base.base;
	cuda_let_join(sorter->card);
}

static Sorter *
parts_begin(const SortRequest *request)
{
	PartsSorter *sorter = create_sorter();
	MemoryContext old = MemoryContextSwitchTo(sorter->context);

	if (request->sample != NULL)
		turns_choose(&sorter->splitters, request);
	if (parts_take_turns(sorter))
		sorter->base.splitters = &sorter->splitters;
	sorter->of_part = request_of_part(request, parts_number(sorter));
	sorter->process_memory = request->process_memory;
	sorter->card = cuda_card_create(&sorter->base, request->key);
	(void) cuda_begin(sorter->card, &sorter->of_part);
	(void) parts_go_on(sorter, sorter->card);
	if (sorter->base.failure == NULL && request->shared)
		create_share(sorter, request);
	if (sorter->base.failure == NULL && parts_take_turns(sorter))
		turns_create_waiting(sorter, request);
	sorter->base.bound = sort_share_create_bound(sorter->base.share, request);
	MemoryContextSwitchTo(old);
	return &sorter->base;
}

static Sorter *
parts_join(SortTeam *team, SortShare *base, const SortKey *key, TupleDesc complete_rows)
{
	PartsShare *share = (PartsShare *) base;
	int process;
	PartsSorter *sorter;
	MemoryContext old;

	if (share == NULL)
		(void) sort_team_add_lone(team);
	process = share != NULL ? sort_share_enter(base) : -1;
	if (process < 0)
		return NULL;
	sorter = create_sorter();
	old = MemoryContextSwitchTo(sorter->context);
	sorter->base.share = base;
	sorter->base.bound = base->bound;
	sorter->process = process;
	sorter->splitters = share->splitters;
	if (parts_take_turns(sorter))
		sorter->base.splitters = &sorter->splitters;
	sorter->card = cuda_join(&sorter->base, key, complete_rows);
	(void) parts_go_on(sorter, sorter->card);
	if (parts_take_turns(sorter))
		waiting_open(&sorter->waiting, &share->waiting, &base->arena, key, process + 1);
	MemoryContextSwitchTo(old);
	return &sorter->base;
}

/* ---------------------------------------------------------------- feeding */

static bool
parts_enter(Sorter *base, int processes)
{
	PartsSorter *sorter = (PartsSorter *) base;

	sorter->process = sort_share_enter(base->share);
	if (parts_take_turns(sorter))
		turns_enter(sorter, processes);
	return sorter->process >= 0;
}

static Chunk *
parts_get_chunk(Sorter *base, int part, Size at_least)
{
	PartsSorter *sorter = (PartsSorter *) base;
	Chunk *chunk = parts_take_turns(sorter) ? turns_get_chunk(sorter, part, at_least)
											: cuda_get_chunk(sorter->card, at_least);

	(void) parts_go_on(sorter, sorter->card);
	return chunk;
}

static void
parts_put_chunk(Sorter *base, int part, Chunk *chunk)
{
	PartsSorter *sorter = (PartsSorter *) base;

	if (parts_take_turns(sorter) && !cuda_owns_chunk(sorter->card, chunk))
	{
		waiting_put_chunk(&sorter->waiting, part, chunk);
		return;
	}
	cuda_put_chunk(sorter->card, chunk);
	(void) parts_go_on(sorter, sorter->card);
}

static void
parts_finish_feed(Sorter *base)
{
	PartsSorter *sorter = (PartsSorter *) base;

	cuda_end_feed(sorter->card);
	if (parts_go_on(sorter, sorter->card) && parts_take_turns(sorter))
		turns_keep_refused(sorter, sorter->card, 0);
	else
		cuda_end_apart(sorter->card);
	if (sort_share_is_joined(base->share))
		waiting_finish(&sorter->waiting);
	sort_share_note_fed(base->share, sorter->process);
	sorter->process = -1;
}

/* ---------------------------------------------------------------- sorting */

/* All processes are through with the input; or rows were read already, and are to be read from the first. */
static bool
parts_sort(Sorter *base)
{
	PartsSorter *sorter = (PartsSorter *) base;
	const SortShare *share = base->share;

	sorter_forget_rows_at_hand(&sorter->base);
	if (cuda_share_is_alive(sorter->card))
	{
		if (share != NULL && share->nfed != share->nentered)
			elog(ERROR, "gpusort: a process left a parallel sort while it fed it");
		if (parts_take_turns(sorter))
			turns_sort_first(sorter);
		else
			(void) parts_perform(sorter, sorter->card);
	}
	return parts_go_on(sorter, sorter->card);
}

static bool
parts_sort_together(Sorter *base)
{
	PartsSorter *sorter = (PartsSorter *) base;
	bool done = cuda_sort_together(sorter->card);

	(void) parts_go_on(sorter, sorter->card);
	return done;
}

/* Nobody helps to read what a GPU has sorted in one part. */
static bool
parts_help(Sorter *base)
{
	PartsSorter *sorter = (PartsSorter *) base;

	return parts_take_turns(sorter) && turns_help(sorter);
}

static void
parts_dismiss(Sorter *base)
{
	turns_dismiss((PartsSorter *) base);
}

/* ---------------------------------------------------------------- rows */

/* Parts that take turns are gone when they were read. */
static void
check_read_once(const PartsSorter *sorter, bool once)
{
	if (unlikely(!once) && parts_take_turns(sorter))
		elog(ERROR, "gpusort: a sort whose parts take turns is read backwards, or again");
}

/* The next row of the part that is read; those behind it are at hand if nobody goes back to them. */
static MinimalTuple
next_row_of_part(PartsSorter *sorter, bool forward)
{
	CudaCard *card = sorter->card;
	MinimalTuple row;

	if (unlikely(sorter->cpu != NULL))
	{
		row = sorter_next(sorter->cpu, forward);
		sorter_take_rows_at_hand(&sorter->base, sorter->cpu);
		return row;
	}
	row = cuda_next(card, forward);
	if (!card->request.random_access)
		cuda_hand_over(card);
	return row;
}

static MinimalTuple
parts_next(Sorter *base, bool forward)
{
	PartsSorter *sorter = (PartsSorter *) base;
	MinimalTuple row;

	check_read_once(sorter, forward);
	while (unlikely((row = next_row_of_part(sorter, forward)) == NULL))
	{
		if (sorter->cpu == NULL && !parts_go_on(sorter, sorter->card))
			break;
		if (!turns_sort_next(sorter))
			break;
	}
	return row;
}

static bool
parts_rewind(Sorter *base)
{
	PartsSorter *sorter = (PartsSorter *) base;
	CudaCard *card = sorter->card;

	if (parts_take_turns(sorter) || (card->external != NULL && !card->request.random_access))
		return false;
	cuda_rewind(card);
	sorter_forget_rows_at_hand(base);
	return true;
}

static void
parts_mark(Sorter *base)
{
	PartsSorter *sorter = (PartsSorter *) base;

	check_read_once(sorter, false);
	cuda_mark(sorter->card);
}

static void
parts_restore(Sorter *base)
{
	PartsSorter *sorter = (PartsSorter *) base;

	check_read_once(sorter, false);
	cuda_restore(sorter->card);
	sorter_forget_rows_at_hand(base);
}

static void
parts_seek_range(Sorter *base, int range, int nranges)
{
	PartsSorter *sorter = (PartsSorter *) base;

	check_read_once(sorter, false);
	cuda_seek_range(sorter->card, range, nranges);
	sorter_forget_rows_at_hand(base);
}

static void
parts_pass_range_end(Sorter *base)
{
	PartsSorter *sorter = (PartsSorter *) base;

	check_read_once(sorter, false);
	cuda_pass_range_end(sorter->card);
	sorter_forget_rows_at_hand(base);
}

/* ---------------------------------------------------------------- statistics, end */

static void
parts_get_stats(const Sorter *base, SorterStats *stats)
{
	const PartsSorter *sorter = (const PartsSorter *) base;

	memset(stats, 0, sizeof(*stats));
	cuda_add_stats(stats, &sorter->card->stats);
	if (base->share != NULL)
	{
		stats->processes = Max(base->share->nentered, 1);
		stats->bytes_in += parts_share(sorter)->base.bytes_in;
	}
	if (base->bound != NULL)
	{
		stats->rows_wanted = sorter->of_part.rows_wanted;
		stats->rows_dropped = bound_dropped(base->bound);
	}
	turns_add_stats(sorter, stats);
}

static void
parts_end(Sorter *base)
{
	PartsSorter *sorter = (PartsSorter *) base;

	turns_end(sorter);
	cuda_end(sorter->card);
	if (sort_share_is_joined(base->share))
		sort_share_note_fed(base->share, sorter->process);
	if (parts_take_turns(sorter) && sort_share_is_own(base->share))
		arena_end(&base->share->arena);
	MemoryContextDelete(sorter->context);
}

const SortDevice sort_device_cuda = {
	.name = "cuda",
	.properties = SORT_KEEPS_SORT_COLUMNS | SORT_KEEPS_ROWS,
	.begin = parts_begin,
	.join = parts_join,
	.enter = parts_enter,
	.get_chunk = parts_get_chunk,
	.put_chunk = parts_put_chunk,
	.finish_feed = parts_finish_feed,
	.sort = parts_sort,
	.sort_together = parts_sort_together,
	.help = parts_help,
	.dismiss = parts_dismiss,
	.next = parts_next,
	.rewind = parts_rewind,
	.mark = parts_mark,
	.restore = parts_restore,
	.seek_range = parts_seek_range,
	.pass_range_end = parts_pass_range_end,
	.get_stats = parts_get_stats,
	.end = parts_end,
};
