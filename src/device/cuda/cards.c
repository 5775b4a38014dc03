/*
 * device/cuda/cards.c
 *		One sort on several GPUs: each has the rows between two splitters, so that their results follow each
 *		other, and nothing is merged.
 *
 * The sort is made of parts, a CudaSorter each, with a connection, a job, chunks and, if its GPU is full,
 * runs of its own; a part knows nothing of the others.  Rows come to it by the splitters, which are chosen
 * from a sample of the keys when it is known how many GPUs there are, and are the same for all processes that
 * feed: they stand in the shared memory.
 *
 * The first part waits for a GPU as any sort does.  The others take one that is to be had at once, and
 * another than the parts before have, or there are fewer of them: so no sort waits for a GPU while it has
 * one.
 *
 * Processes that feed share the parts one by one, as they share a sort on one GPU (parallel_feed.c); what the
 * whole shares is where to find them, and who fed how much.  A process through with its input is so in all
 * parts.  One that finds no room in some part leaves all of them before it returns a row, so who waits for it
 * in any part does not wait for ever.
 *
 * If one part fails the whole does.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/limits.h"
#include "device/cuda/sorter.h"

StaticAssertDecl(SPLIT_PARTS_MAX == GPUSORTD_MAX_DEVICES && SORT_CARDS_MAX == GPUSORTD_MAX_DEVICES,
				 "a part for each device");

/* What processes share of the whole. */
typedef struct CardsShare
{
	SortShare base;
	int nparts;
	ArenaHandle parts[SPLIT_PARTS_MAX];
	SortSplitters splitters;
} CardsShare;

typedef struct CardsSorter
{
	Sorter base; /* its share is a CardsShare */
	int nparts;
	CudaSorter *parts[SPLIT_PARTS_MAX]; /* in the order of their rows */
	SortSplitters splitters;
	MemoryContext context;
	int process; /* its number among those that feed; -1: it does not, or not any more */

	/* Reading: in this part; parts behind the furthest one were not read from yet. */
	int current;
	int furthest;
	int mark;

	double parallel_ms; /* that parts sorted beside each other: so much less than all their times */
	int next_taken_back;
} CardsSorter;

static const SortDevice sort_device_cards;

/* ---------------------------------------------------------------- parts */

/* Takes note of a part that has failed; false: one has. */
static bool
all_go_on(CardsSorter *sorter)
{
	for (int i = 0; i < sorter->nparts; i++)
		sorter_fail_with_part(&sorter->base, &sorter->parts[i]->base);
	return sorter->base.failure == NULL;
}

static CardsSorter *
create_cards_sorter(void)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cuda devices", ALLOCSET_SMALL_SIZES);
	CardsSorter *sorter = MemoryContextAllocZero(context, sizeof(CardsSorter));

	sorter->base.device = &sort_device_cards;
	sorter->base.splitters = &sorter->splitters;
	sorter->context = context;
	sorter->process = -1;
	return sorter;
}

static void
add_part(CardsSorter *sorter, CudaSorter *part)
{
	part->whole = &sorter->base;
	sorter->parts[sorter->nparts++] = part;
}

/* ---------------------------------------------------------------- beginning */

bool
cards_wanted(const SortRequest *request)
{
	return request->cards > 1 && request->sample != NULL && request->rows_wanted == 0 &&
		   !request->read_jointly;
}

/* What one of so many parts is asked for. */
static SortRequest
request_of_part(const SortRequest *request, int parts)
{
	SortRequest part = *request;

	part.expected_rows /= parts;
	part.memory_limit /= parts;
	part.process_memory /= parts;
	return part;
}

/* Begins as many parts as there are GPUs to be had, so many at most; their places, in bits, are `had`. */
static void
begin_parts(CardsSorter *sorter, const SortRequest *request, int most)
{
	SortRequest of_part = request_of_part(request, most);
	uint32 had = 0;

	while (sorter->nparts < most)
	{
		CudaSorter *part = cuda_sorter_create(request->key);

		part->further = sorter->nparts > 0;
		cuda_begin_on(part, &of_part, had);
		if (part->base.failure != NULL && part->further)
		{
			cuda_end(&part->base);
			return;
		}
		add_part(sorter, part);
		if (part->base.failure != NULL)
			return;
		had |= UINT32_C(1) << part->client.job.device;
		if (part->client.welcome.devices <= sorter->nparts)
			return;
	}
}

/* Makes what other processes need to find all parts; without it, or without a part's, they can't. */
static void
create_share(CardsSorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->context);
	CardsShare *share = (CardsShare *) sort_share_create(sizeof(CardsShare), sizeof(CardsShare), 1);

	MemoryContextSwitchTo(old);
	for (int i = 0; i < sorter->nparts && share != NULL; i++)
	{
		const SortShare *of_part = sorter->parts[i]->base.share;

		if (of_part == NULL)
			return;
		share->parts[i] = of_part->arena.handle;
	}
	if (share == NULL)
		return;
	share->base.on_gpu = share->base.on_cards = true;
	share->nparts = sorter->nparts;
	share->splitters = sorter->splitters;
	sorter->base.share = &share->base;
}

/* The only part that there is does all of the sort. */
static Sorter *
only_part(CardsSorter *sorter, const SortRequest *request)
{
	CudaSorter *part = sorter->parts[0];

	part->whole = &part->base;
	cuda_note_request(part, request);
	MemoryContextDelete(sorter->context);
	return &part->base;
}

Sorter *
cards_begin(const SortRequest *request)
{
	CardsSorter *sorter = create_cards_sorter();
	int most = Min(request->cards, SPLIT_PARTS_MAX);

	if (splitters_choose(&sorter->splitters, request->sample, most) > GPU_LARGEST_PART)
		most = 1;
	begin_parts(sorter, request, most);
	if (sorter->nparts == 1)
		return only_part(sorter, request);
	(void) splitters_choose(&sorter->splitters, request->sample, sorter->nparts);
	if (request->shared)
		create_share(sorter);
	return &sorter->base;
}

Sorter *
cards_join(SortShare *base, const SortKey *key, FileSet *files)
{
	CardsShare *share = (CardsShare *) base;
	int process = sort_share_enter(base);
	CardsSorter *sorter;

	if (process < 0)
		return NULL;
	sorter = create_cards_sorter();
	sorter->base.share = base;
	sorter->process = process;
	sorter->splitters = share->splitters;
	for (int i = 0; i < share->nparts; i++)
		add_part(sorter, cuda_join_part(&share->parts[i], key));
	(void) all_go_on(sorter);
	return &sorter->base;
}

/* ---------------------------------------------------------------- feeding */

static Chunk *
cards_get_chunk(Sorter *base, int part, Size at_least, bool makes_room)
{
	Sorter *of_part = &((CardsSorter *) base)->parts[part]->base;
	Chunk *chunk = cuda_get_chunk(of_part, 0, at_least, makes_room);

	sorter_fail_with_part(base, of_part);
	return chunk;
}

static void
cards_put_chunk(Sorter *base, int part, Chunk *chunk)
{
	Sorter *of_part = &((CardsSorter *) base)->parts[part]->base;

	cuda_put_chunk(of_part, 0, chunk);
	sorter_fail_with_part(base, of_part);
}

static bool
cards_enter(Sorter *base, int processes, FileSet *files)
{
	CardsSorter *sorter = (CardsSorter *) base;
	bool entered = true;

	sorter->process = sort_share_enter(base->share);
	for (int i = 0; i < sorter->nparts; i++)
		entered &= cuda_enter(sorter->parts[i]);
	return entered;
}

/* In all parts, before a row is returned: others may wait for that in any of them. */
static void
cards_finish_feed(Sorter *base, bool others_pass)
{
	CardsSorter *sorter = (CardsSorter *) base;

	for (int i = 0; i < sorter->nparts; i++)
		cuda_finish_feed(&sorter->parts[i]->base, others_pass);
	sort_share_note_fed(base->share, sorter->process);
	sorter->process = -1;
	(void) all_go_on(sorter);
}

static MinimalTuple
cards_take_back(Sorter *base)
{
	CardsSorter *sorter = (CardsSorter *) base;

	while (sorter->next_taken_back < sorter->nparts)
	{
		MinimalTuple row = cuda_take_back(&sorter->parts[sorter->next_taken_back]->base);

		if (row != NULL)
			return row;
		sorter->next_taken_back++;
	}
	return NULL;
}

/* ---------------------------------------------------------------- sorting */

/* All GPUs sort at the same time. */
static bool
sort_parts(CardsSorter *sorter)
{
	double all = 0;
	double longest = 0;

	for (int i = 0; i < sorter->nparts && all_go_on(sorter); i++)
		cuda_start_sort(sorter->parts[i]);
	for (int i = 0; i < sorter->nparts && all_go_on(sorter); i++)
	{
		CudaSorter *part = sorter->parts[i];
		double before = part->stats.sort_ms;
		double took;

		(void) cuda_perform(part);
		took = part->stats.sort_ms - before;
		all += took;
		longest = Max(longest, took);
	}
	sorter->parallel_ms = all - longest;
	sorter->current = sorter->furthest = 0;
	return all_go_on(sorter);
}

static bool
cards_work(Sorter *base, SortWork work)
{
	return work == SORT_WORK_SORT && sort_parts((CardsSorter *) base);
}

/* ---------------------------------------------------------------- rows */

/* Goes to the next part in this direction, before its rows or behind them; false: there is none. */
static bool
go_to_next_part(CardsSorter *sorter, bool forward)
{
	int next = sorter->current + (forward ? 1 : -1);

	if (next < 0 || next >= sorter->nparts)
		return false;
	sorter->current = next;
	if (!forward)
		cuda_go_to_end(sorter->parts[next]);
	else if (next <= sorter->furthest)
		(void) cuda_seek(&sorter->parts[next]->base, SORT_SEEK_FIRST, 0, 0);
	else
		sorter->furthest = next;
	return true;
}

static MinimalTuple
cards_next(Sorter *base, bool forward)
{
	CardsSorter *sorter = (CardsSorter *) base;

	for (;;)
	{
		Sorter *part = &sorter->parts[sorter->current]->base;
		MinimalTuple row = sorter_next(part, forward);

		if (likely(row != NULL))
		{
			sorter_take_rows_at_hand(base, part);
			return row;
		}
		sorter_fail_with_part(base, part);
		if (base->failure != NULL || !go_to_next_part(sorter, forward))
			return NULL;
	}
}

static bool
have_random_access(const CardsSorter *sorter)
{
	bool have = true;

	for (int i = 0; i < sorter->nparts; i++)
		have &= cuda_has_random_access(sorter->parts[i]);
	return have;
}

static bool
cards_seek(Sorter *base, SortSeek where, int range, int nranges)
{
	CardsSorter *sorter = (CardsSorter *) base;

	if (where == SORT_SEEK_FIRST)
	{
		if (!have_random_access(sorter))
			return false;
		sorter->current = 0;
		sorter_forget_rows_at_hand(base);
	}
	else if (where == SORT_SET_MARK)
		sorter->mark = sorter->current;
	else if (where == SORT_SEEK_MARK)
		sorter->current = sorter->mark;
	return cuda_seek(&sorter->parts[sorter->current]->base, where, range, nranges);
}

/* ---------------------------------------------------------------- statistics, end */

static void
cards_get_stats(const Sorter *base, SorterStats *stats)
{
	const CardsSorter *sorter = (const CardsSorter *) base;

	memset(stats, 0, sizeof(*stats));
	for (int i = 0; i < sorter->nparts; i++)
	{
		const CudaSorter *part = sorter->parts[i];

		cuda_add_stats(stats, &part->stats);
		stats->cards[stats->ncards++] = (SortCard){.number = part->card, .rows = part->stats.rows};
	}
	stats->sort_ms -= sorter->parallel_ms;
}

static void
cards_end(Sorter *base)
{
	CardsSorter *sorter = (CardsSorter *) base;

	for (int i = 0; i < sorter->nparts; i++)
		cuda_end(&sorter->parts[i]->base);
	MemoryContextDelete(sorter->context);
}

static const SortDevice sort_device_cards = {
	.name = "cuda",
	.properties = CUDA_PROPERTIES,
	.begin = cards_begin,
	.join = cards_join,
	.enter = cards_enter,
	.get_chunk = cards_get_chunk,
	.put_chunk = cards_put_chunk,
	.finish_feed = cards_finish_feed,
	.take_back = cards_take_back,
	.work = cards_work,
	.next = cards_next,
	.seek = cards_seek,
	.get_stats = cards_get_stats,
	.end = cards_end,
};
