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
	Sorter base;
	SorterParts parts;
	SortSplitters splitters;
	MemoryContext context;
	CardsShare *share; /* NULL: this process alone */
	int process;	   /* its number among those that feed; -1: it does not, or not any more */

	/* Reading: in this part; parts behind the furthest one were not read from yet. */
	int current;
	int furthest;
	int mark;

	double parallel_ms; /* that parts sorted beside each other: so much less than all their times */
	int next_taken_back;
} CardsSorter;

static const SortDevice sort_device_cards;

/* ---------------------------------------------------------------- parts */

static inline CudaSorter *
part_of(const CardsSorter *sorter, int i)
{
	return (CudaSorter *) sorter->parts.sorters[i];
}

/* Takes note of a part that has failed; false: one has. */
static bool
all_go_on(CardsSorter *sorter)
{
	for (int i = 0; i < sorter->parts.n; i++)
		sorter_fail_with_part(&sorter->base, sorter->parts.sorters[i]);
	return sorter->base.failure == NULL;
}

static CardsSorter *
create_cards_sorter(void)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cuda devices", ALLOCSET_SMALL_SIZES);
	CardsSorter *sorter = MemoryContextAllocZero(context, sizeof(CardsSorter));

	sorter->base.device = &sort_device_cards;
	sorter->base.parts = &sorter->parts;
	sorter->parts.splitters = &sorter->splitters;
	sorter->context = context;
	sorter->process = -1;
	return sorter;
}

static void
add_part(CardsSorter *sorter, CudaSorter *part)
{
	part->whole = &sorter->base;
	sorter->parts.sorters[sorter->parts.n++] = &part->base;
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

	while (sorter->parts.n < most)
	{
		CudaSorter *part = cuda_sorter_create(request->key);

		part->further = sorter->parts.n > 0;
		cuda_begin_on(part, &of_part, had);
		if (part->base.failure != NULL && part->further)
		{
			part->base.device->end(&part->base);
			return;
		}
		add_part(sorter, part);
		if (part->base.failure != NULL)
			return;
		had |= UINT32_C(1) << part->client.job.device;
		if (part->client.welcome.devices <= sorter->parts.n)
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
	for (int i = 0; i < sorter->parts.n && share != NULL; i++)
	{
		const CudaSorter *part = part_of(sorter, i);

		if (part->share == NULL)
			return;
		share->parts[i] = part->share->base.arena.handle;
	}
	if (share == NULL)
		return;
	share->base.on_gpu = share->base.on_cards = true;
	share->nparts = sorter->parts.n;
	share->splitters = sorter->splitters;
	sorter->share = share;
}

/* The only part that there is does all of the sort. */
static Sorter *
only_part(CardsSorter *sorter, const SortRequest *request)
{
	CudaSorter *part = part_of(sorter, 0);

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
	if (sorter->parts.n == 1)
		return only_part(sorter, request);
	(void) splitters_choose(&sorter->splitters, request->sample, sorter->parts.n);
	if (request->shared)
		create_share(sorter);
	return &sorter->base;
}

Sorter *
cards_join(SortShare *base, const SortKey *key)
{
	CardsShare *share = (CardsShare *) base;
	int process = sort_share_enter(base);
	CardsSorter *sorter;

	if (process < 0)
		return NULL;
	sorter = create_cards_sorter();
	sorter->share = share;
	sorter->process = process;
	sorter->splitters = share->splitters;
	for (int i = 0; i < share->nparts; i++)
		add_part(sorter, cuda_join_part(&share->parts[i], key));
	(void) all_go_on(sorter);
	return &sorter->base;
}

/* ---------------------------------------------------------------- feeding */

/* Who feeds asks the parts for chunks: there are none for just any row. */
static Chunk *
cards_get_chunk(Sorter *base, Size at_least)
{
	elog(ERROR, "gpusort: a row for no part of a sort");
}

static void
cards_put_chunk(Sorter *base, Chunk *chunk)
{
	elog(ERROR, "gpusort: a chunk of no part of a sort");
}

static SortShare *
cards_share(Sorter *base)
{
	CardsSorter *sorter = (CardsSorter *) base;

	return sorter->share != NULL ? &sorter->share->base : NULL;
}

static bool
cards_enter(Sorter *base, int processes)
{
	CardsSorter *sorter = (CardsSorter *) base;
	bool entered = true;

	if (sorter->share != NULL)
		sorter->process = sort_share_enter(&sorter->share->base);
	for (int i = 0; i < sorter->parts.n; i++)
		entered &= sort_device_cuda.enter(sorter->parts.sorters[i], processes);
	return entered;
}

/* In all parts, before a row is returned: others may wait for that in any of them. */
static void
cards_finish_feed(Sorter *base, bool others_pass)
{
	CardsSorter *sorter = (CardsSorter *) base;

	for (int i = 0; i < sorter->parts.n; i++)
		sort_device_cuda.finish_feed(sorter->parts.sorters[i], others_pass);
	if (sorter->share != NULL && sorter->process >= 0)
		sort_share_note_fed(&sorter->share->base, sorter->process);
	sorter->process = -1;
	(void) all_go_on(sorter);
}

static MinimalTuple
cards_take_back(Sorter *base)
{
	CardsSorter *sorter = (CardsSorter *) base;

	while (sorter->next_taken_back < sorter->parts.n)
	{
		MinimalTuple row = sort_device_cuda.take_back(sorter->parts.sorters[sorter->next_taken_back]);

		if (row != NULL)
			return row;
		sorter->next_taken_back++;
	}
	return NULL;
}

/* ---------------------------------------------------------------- sorting */

/* All GPUs sort at the same time. */
static void
cards_perform(Sorter *base)
{
	CardsSorter *sorter = (CardsSorter *) base;
	double all = 0;
	double longest = 0;

	for (int i = 0; i < sorter->parts.n && all_go_on(sorter); i++)
		cuda_start_sort(part_of(sorter, i));
	for (int i = 0; i < sorter->parts.n && all_go_on(sorter); i++)
	{
		double before = part_of(sorter, i)->stats.sort_ms;
		double took;

		sort_device_cuda.perform(sorter->parts.sorters[i]);
		took = part_of(sorter, i)->stats.sort_ms - before;
		all += took;
		longest = Max(longest, took);
	}
	sorter->parallel_ms = all - longest;
	sorter->current = sorter->furthest = 0;
	(void) all_go_on(sorter);
}

/* ---------------------------------------------------------------- rows */

/* Goes to the next part in this direction, before its rows or behind them; false: there is none. */
static bool
go_to_next_part(CardsSorter *sorter, bool forward)
{
	int next = sorter->current + (forward ? 1 : -1);

	if (next < 0 || next >= sorter->parts.n)
		return false;
	sorter->current = next;
	if (!forward)
		cuda_go_to_end(part_of(sorter, next));
	else if (next <= sorter->furthest)
		sort_device_cuda.rewind(sorter->parts.sorters[next]);
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
		Sorter *part = sorter->parts.sorters[sorter->current];
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

static void
cards_rewind(Sorter *base)
{
	CardsSorter *sorter = (CardsSorter *) base;

	sorter->current = 0;
	sorter_forget_rows_at_hand(base);
	sort_device_cuda.rewind(sorter->parts.sorters[0]);
}

static void
cards_mark(Sorter *base)
{
	CardsSorter *sorter = (CardsSorter *) base;

	sorter->mark = sorter->current;
	sort_device_cuda.mark(sorter->parts.sorters[sorter->current]);
}

static void
cards_restore(Sorter *base)
{
	CardsSorter *sorter = (CardsSorter *) base;

	sorter->current = sorter->mark;
	sort_device_cuda.restore(sorter->parts.sorters[sorter->current]);
}

static bool
cards_has_random_access(const Sorter *base)
{
	const CardsSorter *sorter = (const CardsSorter *) base;
	bool has = true;

	for (int i = 0; i < sorter->parts.n; i++)
		has &= sort_device_cuda.has_random_access(sorter->parts.sorters[i]);
	return has;
}

/* ---------------------------------------------------------------- statistics, end */

static void
cards_get_stats(const Sorter *base, SorterStats *stats)
{
	const CardsSorter *sorter = (const CardsSorter *) base;

	memset(stats, 0, sizeof(*stats));
	for (int i = 0; i < sorter->parts.n; i++)
	{
		const CudaSorter *part = part_of(sorter, i);

		cuda_add_stats(stats, &part->stats);
		stats->cards[stats->ncards++] = (SortCard){.number = part->card, .rows = part->stats.rows};
	}
	stats->sort_ms -= sorter->parallel_ms;
}

static void
cards_end(Sorter *base)
{
	CardsSorter *sorter = (CardsSorter *) base;

	for (int i = 0; i < sorter->parts.n; i++)
		sort_device_cuda.end(sorter->parts.sorters[i]);
	MemoryContextDelete(sorter->context);
}

static const SortDevice sort_device_cards = {
	.name = "cuda",
	.keeps_sort_columns = true,
	.keeps_rows = true,
	.may_refuse_rows = true,
	.get_chunk = cards_get_chunk,
	.try_chunk = cards_get_chunk,
	.put_chunk = cards_put_chunk,
	.take_back = cards_take_back,
	.share = cards_share,
	.enter = cards_enter,
	.finish_feed = cards_finish_feed,
	.perform = cards_perform,
	.next = cards_next,
	.rewind = cards_rewind,
	.mark = cards_mark,
	.restore = cards_restore,
	.has_random_access = cards_has_random_access,
	.get_stats = cards_get_stats,
	.end = cards_end,
};
