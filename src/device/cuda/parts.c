/*
 * device/cuda/parts.c
 *		The cuda device: a sort in parts, each of which gpusortd sorts on a GPU.
 *
 * Most sorts are one part.  One that is to be spread over several GPUs, or that a GPU has no room for, is cut
 * by splitters: so the parts' results follow each other, and nothing is merged.  Splitters are chosen from a
 * sample of the keys, and are the same for all processes that feed.  They decide on nothing but how equal the
 * parts are.
 *
 * The first part waits for a GPU as any sort does.  If there are to be several GPUs, each further part takes
 * one that is to be had at once, and another than the parts before have, or there are fewer parts: so no sort
 * waits for a GPU while it has one.  Parts of a sort that a GPU has no room for take turns on it (turns.c).
 *
 * Each part on a GPU has a connection, a job, chunks and, if the GPU is full, runs of its own (card.h), and
 * knows nothing of the others.  Processes that feed share its job (parallel_feed.c).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/limits.h"
#include "device/cuda/parts.h"
#include "files/shared_runs.h"

StaticAssertDecl(SPLIT_PARTS_MAX == GPUSORTD_MAX_DEVICES && SORT_CARDS_MAX == GPUSORTD_MAX_DEVICES,
				 "a part for each device");

/* ---------------------------------------------------------------- how many parts */

/*
 * Cuts the order into parts: `most` are to be on GPUs at once.  If there are more, they take turns; that they
 * do on one GPU.
 */
static void
choose_parts(PartsSorter *sorter, const SortRequest *request, int *most)
{
	int cards = Min(request->cards, SPLIT_PARTS_MAX);

	*most = sorter->nparts = 1;
	if (request->sample == NULL)
		return;
	if (cards > 1 && request->rows_wanted == 0 && !request->read_jointly)
	{
		if (splitters_choose(&sorter->splitters, request->sample, cards) <= GPU_LARGEST_PART)
			*most = sorter->nparts = cards;
	}
	else if (turns_choose(&sorter->splitters, request))
		sorter->nparts = sorter->splitters.n + 1;
}

/* What one of the parts is asked for. */
static SortRequest
request_of_part(const SortRequest *request, int parts, bool take_turns)
{
	SortRequest part = *request;

	part.expected_rows /= parts;
	part.memory_limit /= parts;
	part.process_memory /= parts;
	if (take_turns)
	{
		part.memory_limit = turns_memory_of_part(request);
		part.process_memory = 0;
	}
	return part;
}

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

/* Begins as many parts as there are GPUs to be had, so many at most; their places, in bits, are `had`. */
static void
begin_cards(PartsSorter *sorter, int most)
{
	uint32 had = 0;

	while (sorter->ncards < most && sorter->base.failure == NULL)
	{
		CudaCard *card = cuda_card_create(&sorter->base, sorter->of_part.key);

		card->further = sorter->ncards > 0;
		cuda_begin_on(card, &sorter->of_part, had);
		if (card->failure != NULL && card->further)
		{
			cuda_end(card);
			return;
		}
		sorter->cards[sorter->ncards++] = card;
		if (!parts_go_on(sorter, card))
			return;
		had |= UINT32_C(1) << card->client.job.device;
		if (card->client.welcome.devices <= sorter->ncards)
			return;
	}
}

/* There are fewer GPUs than there were to be parts: as many parts are left, or the only one does all. */
static void
cut_again(PartsSorter *sorter, const SortRequest *request)
{
	sorter->nparts = sorter->ncards;
	if (sorter->nparts > 1)
		(void) splitters_choose(&sorter->splitters, request->sample, sorter->nparts);
	else
		cuda_note_request(sorter->cards[0], request);
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
	share->base.base.on_gpu = true;
	share->base.read_jointly = request->read_jointly;
	share->base.memory = sorter->cards[0]->request.memory_limit / Max(request->processes, 1);
	file_set_init(&share->base.files);
	share->ncards = sorter->ncards;
	share->nparts = sorter->nparts;
	share->splitters = sorter->splitters;
	sorter->base.share = &share->base.base;
	for (int i = 0; i < sorter->ncards; i++)
		cuda_let_join(sorter->cards[i], i);
}

static Sorter *
parts_begin(const SortRequest *request)
{
	PartsSorter *sorter = create_sorter();
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	int most;

	choose_parts(sorter, request, &most);
	sorter->of_part = request_of_part(request, sorter->nparts, most < sorter->nparts);
	sorter->process_memory = request->process_memory;
	begin_cards(sorter, most);
	if (sorter->ncards < most)
		cut_again(sorter, request);
	if (sorter->nparts > 1)
		sorter->base.splitters = &sorter->splitters;
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
	sorter->ncards = share->ncards;
	sorter->nparts = share->nparts;
	sorter->splitters = share->splitters;
	if (sorter->nparts > 1)
		sorter->base.splitters = &sorter->splitters;
	for (int i = 0; i < sorter->ncards; i++)
	{
		sorter->cards[i] = cuda_join(&sorter->base, i, key, complete_rows);
		(void) parts_go_on(sorter, sorter->cards[i]);
	}
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
	bool take_turns = parts_take_turns(sorter);
	CudaCard *card = sorter->cards[take_turns ? 0 : part];
	Chunk *chunk = take_turns ? turns_get_chunk(sorter, part, at_least) : cuda_get_chunk(card, at_least);

	(void) parts_go_on(sorter, card);
	return chunk;
}

static void
parts_put_chunk(Sorter *base, int part, Chunk *chunk)
{
	PartsSorter *sorter = (PartsSorter *) base;
	CudaCard *card = sorter->cards[part];

	if (parts_take_turns(sorter) && !(card != NULL && cuda_owns_chunk(card, chunk)))
	{
		waiting_put_chunk(&sorter->waiting, part, chunk);
		return;
	}
	cuda_put_chunk(card, chunk);
	(void) parts_go_on(sorter, card);
}

static void
parts_finish_feed(Sorter *base)
{
	PartsSorter *sorter = (PartsSorter *) base;

	for (int i = 0; i < sorter->ncards; i++)
	{
		CudaCard *card = sorter->cards[i];

		cuda_end_feed(card);
		if (parts_go_on(sorter, card) && parts_take_turns(sorter))
			turns_keep_refused(sorter, card, 0);
		else
			cuda_end_apart(card);
	}
	if (sort_share_is_joined(base->share))
		waiting_finish(&sorter->waiting);
	sort_share_note_fed(base->share, sorter->process);
	sorter->process = -1;
}

/* ---------------------------------------------------------------- sorting */

/* All GPUs sort at the same time. */
static bool
sort_on_cards(PartsSorter *sorter)
{
	bool goes_on = true;
	double all = 0;
	double longest = 0;

	for (int i = 0; i < sorter->ncards && sorter->ncards > 1 && goes_on; i++)
	{
		cuda_start_sort(sorter->cards[i]);
		goes_on = parts_go_on(sorter, sorter->cards[i]);
	}
	for (int i = 0; i < sorter->ncards && goes_on; i++)
	{
		CudaCard *card = sorter->cards[i];
		double before = card->stats.sort_ms;
		double took;

		(void) parts_perform(sorter, card);
		took = card->stats.sort_ms - before;
		all += took;
		longest = Max(longest, took);
		goes_on = parts_go_on(sorter, card);
	}
	sorter->parallel_ms = all - longest;
	return goes_on;
}

/* All processes are through with the input; or rows were read already, and are to be read from the first. */
static bool
sort_parts(PartsSorter *sorter)
{
	const SortShare *share = sorter->base.share;

	sorter_forget_rows_at_hand(&sorter->base);
	if (!cuda_share_is_alive(sorter->cards[0]))
		return parts_go_on(sorter, sorter->cards[0]);
	if (share != NULL && share->nfed != share->nentered)
		elog(ERROR, "gpusort: a process left a parallel sort while it fed it");
	if (!parts_take_turns(sorter))
		return sort_on_cards(sorter);
	turns_sort_first(sorter);
	return sorter->base.failure == NULL;
}

/* Nobody helps to read what a GPU has sorted. */
static bool
parts_work(Sorter *base, SortWork work)
{
	PartsSorter *sorter = (PartsSorter *) base;
	bool done = true;

	switch (work)
	{
		case SORT_WORK_SORT:
			return sort_parts(sorter);
		case SORT_WORK_SORT_TOGETHER:
			done = cuda_sort_together(sorter->cards[0]);
			(void) parts_go_on(sorter, sorter->cards[0]);
			break;
		case SORT_WORK_HELP:
			done = parts_take_turns(sorter) && turns_help(sorter);
			break;
		case SORT_WORK_DISMISS:
			turns_dismiss(sorter);
			break;
	}
	return done;
}

/* ---------------------------------------------------------------- rows */

/* Parts that take turns are gone when they were read. */
static void
check_read_once(const PartsSorter *sorter, bool once)
{
	if (unlikely(!once) && parts_take_turns(sorter))
		elog(ERROR, "gpusort: a sort whose parts take turns is read backwards, or again");
}

/* Goes to the next part in this direction, before its rows or behind them; false: there is none. */
static bool
go_to_next_part(PartsSorter *sorter, bool forward)
{
	int next = sorter->current + (forward ? 1 : -1);

	if (parts_take_turns(sorter))
		return turns_sort_next(sorter);
	if (next < 0 || next >= sorter->nparts)
		return false;
	sorter->current = next;
	if (!forward)
		cuda_go_to_end(sorter->cards[next]);
	else if (cuda_has_random_access(sorter->cards[next]))
		cuda_seek(sorter->cards[next], SORT_SEEK_FIRST, 0, 0);
	return true;
}

/* The next row of the part that is read; those behind it are at hand if nobody goes back to them. */
static MinimalTuple
next_row_of_part(PartsSorter *sorter, bool forward)
{
	CudaCard *card = sorter->cards[sorter->current];
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
		if (sorter->cpu == NULL && !parts_go_on(sorter, sorter->cards[sorter->current]))
			break;
		if (!go_to_next_part(sorter, forward))
			break;
	}
	return row;
}

static bool
have_random_access(const PartsSorter *sorter)
{
	bool have = !parts_take_turns(sorter);

	for (int i = 0; i < sorter->ncards && have; i++)
		have = cuda_has_random_access(sorter->cards[i]);
	return have;
}

static bool
parts_seek(Sorter *base, SortSeek where, int range, int nranges)
{
	PartsSorter *sorter = (PartsSorter *) base;

	if (where == SORT_SEEK_FIRST && !have_random_access(sorter))
		return false;
	check_read_once(sorter, where == SORT_SEEK_FIRST);
	if (where == SORT_SEEK_FIRST)
		sorter->current = 0;
	else if (where == SORT_SET_MARK)
		sorter->mark = sorter->current;
	else if (where == SORT_SEEK_MARK)
		sorter->current = sorter->mark;
	cuda_seek(sorter->cards[sorter->current], where, range, nranges);
	if (where != SORT_SET_MARK)
		sorter_forget_rows_at_hand(base);
	return true;
}

/* ---------------------------------------------------------------- statistics, end */

static void
parts_get_stats(const Sorter *base, SorterStats *stats)
{
	const PartsSorter *sorter = (const PartsSorter *) base;

	memset(stats, 0, sizeof(*stats));
	for (int i = 0; i < sorter->nparts; i++)
	{
		const CudaCard *card = sorter->cards[i];

		if (card == NULL)
			continue;
		cuda_add_stats(stats, &card->stats);
		if (sorter->ncards > 1)
			stats->cards[stats->ncards++] = (SortCard){.number = card->number, .rows = card->stats.rows};
	}
	stats->sort_ms -= sorter->parallel_ms;
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
	for (int i = 0; i < sorter->nparts; i++)
	{
		if (sorter->cards[i] != NULL)
			cuda_end(sorter->cards[i]);
	}
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
	.work = parts_work,
	.next = parts_next,
	.seek = parts_seek,
	.get_stats = parts_get_stats,
	.end = parts_end,
};
