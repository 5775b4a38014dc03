/*
 * device/cuda/device.c
 *		The cuda device: sorts on a GPU, by gpusortd, a service of its own process.
 *
 * Most sorts are one CudaCard (on_card.h), whose calls are here.  A sort that a GPU has no room for is cut
 * into parts that take turns on it (turns.c).
 */
#include "postgres.h"

#include "miscadmin.h"

#include "device/cuda/turns.h"
#include "files/merged_rows.h"
#include "sort/bound.h"

/* ---------------------------------------------------------------- beginning */

static void
create_share(CudaCard *card, const SortRequest *request)
{
	CudaShare *share = cuda_share_create(card, sizeof(CudaShare),
										 sizeof(SortBound) + sizeof(GroupBound) + request->memory.groups +
											 request->memory.values,
										 1);

	if (share == NULL)
		return;
	share->nparts = 1;
	share->read_jointly = request->processes.read_jointly;
	cuda_runs_init(&share->runs, request->memory.limit / request->processes.n);
	card->runs = &share->runs;
}

static Sorter *
cuda_device_begin(const SortRequest *request)
{
	SortSplitters splitters;
	CudaCard *card;
	MemoryContext old;

	if (turns_choose(&splitters, request))
		return turns_begin(request, &splitters);
	card = cuda_card_create(NULL, request->key);
	old = MemoryContextSwitchTo(card->context);
	(void) cuda_begin(card, request);
	if (card->base.failure == NULL && request->processes.share)
		create_share(card, request);
	card->base.bound = sort_share_create_bound(card->base.share, request);
	card->base.groups = sort_share_create_groups(card->base.share, request);
	cuda_begin_coding(card, request);
	MemoryContextSwitchTo(old);
	return &card->base;
}

static Sorter *
join_card(CudaShare *share, const SortKey *key, TupleDesc complete_rows)
{
	CudaCard *card = cuda_card_create(NULL, key);

	card->base.share = &share->base;
	card->base.bound = share->base.bound;
	card->base.groups = share->base.groups;
	card->runs = &share->runs;
	card->request.rows.desc = complete_rows;
	cuda_join_coding(card);
	cuda_enter_job(card, share);
	cuda_set_next_place(card, NULL);
	return &card->base;
}

static Sorter *
cuda_device_join(SortTeam *team, SortShare *base, const SortKey *key, TupleDesc complete_rows)
{
	CudaShare *share = (CudaShare *) base;
	int process = base != NULL ? sort_share_enter(base) : -1;
	Sorter *sorter;

	if (base == NULL)
		(void) sort_team_add_lone(team);
	if (process < 0)
		return NULL;
	if (share->nparts > 1)
		sorter = turns_join(share, key, process);
	else
		sorter = join_card(share, key, complete_rows);
	sorter->process = process;
	return sorter;
}

static void
cuda_device_finish_feed(Sorter *base)
{
	CudaCard *card = (CudaCard *) base;

	cuda_end_feed(card);
	if (cuda_has_joined(card) && base->failure == NULL)
		cuda_publish_runs(card);
	sorter_note_fed(base);
	base->process = -1;
}

/* ---------------------------------------------------------------- sorting */

static bool
cuda_device_sort(Sorter *base)
{
	CudaCard *card = (CudaCard *) base;

	if (!cuda_share_is_alive(card))
		return false;
	sort_share_check_all_fed(base->share);
	return cuda_perform(card) && cuda_keep_small_result(card);
}

static bool
cuda_device_sort_together(Sorter *base)
{
	return cuda_sort_together((CudaCard *) base);
}

/* ---------------------------------------------------------------- rows */

static MinimalTuple
cuda_device_next(Sorter *base, bool forward)
{
	return unlikely(base->merged != NULL) ? merged_rows_next(base->merged, forward)
										  : cuda_next_of_job((CudaCard *) base, forward);
}

/* ---------------------------------------------------------------- statistics, end */

static void
cuda_device_get_stats(const Sorter *base, SorterStats *stats)
{
	const CudaCard *card = (const CudaCard *) base;

	cuda_get_stats(card, base->share, stats);
	if (base->bound != NULL)
	{
		stats->rows_wanted = card->request.rows.wanted;
		stats->rows_dropped = bound_dropped(base->bound);
	}
	sorter_get_groups(base, stats);
}

static void
cuda_device_end(Sorter *base)
{
	if (sort_share_is_joined(base->share))
		sorter_note_fed(base);
	cuda_end((CudaCard *) base);
}

const SortDevice sort_device_cuda = {
	.kind = DEVICE_CUDA,
	.properties = CUDA_PROPERTIES,
	.count_parts = turns_count,
	.begin = cuda_device_begin,
	.join = cuda_device_join,
	.enter = sorter_enter,
	.end_coding = cuda_end_coding,
	.finish_feed = cuda_device_finish_feed,
	.sort = cuda_device_sort,
	.sort_together = cuda_device_sort_together,
	.help = sorter_can_not, /* to read what a GPU has sorted */
	.dismiss = sorter_does_nothing,
	.next = cuda_device_next,
	.count_keys = sorter_cannot_count,
	.seek_range = sorter_seek_range,
	.pass_range_end = sorter_pass_range_end,
	.get_stats = cuda_device_get_stats,
	.end = cuda_device_end,
};
