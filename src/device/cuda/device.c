/*
 * device/cuda/device.c
 *		The cuda device: gpusortd, a service of its own process, sorts on GPUs.
 *
 * A sort is on one GPU as a rule (card.c).  One that is spread over several (cards.c), or that a GPU has no
 * room for (turns.c), is made of parts on one each, and has functions of its own.
 */
#include "postgres.h"

#include "device/cuda/sorter.h"

static Sorter *
begin_sorter(const SortRequest *request)
{
	Sorter *turns;
	CudaSorter *sorter;

	if (cards_wanted(request))
		return cards_begin(request);
	turns = turns_begin(request);
	if (turns != NULL)
		return turns;
	sorter = cuda_sorter_create(request->key);
	cuda_begin_on(sorter, request, 0);
	return &sorter->base;
}

/* Rows of lone workers (SortTeam) are for the cpu device, so without memory to share all is. */
static Sorter *
begin_on_any(const SortRequest *request)
{
	Sorter *sorter = begin_sorter(request);

	if (request->shared && sorter->share == NULL)
		sorter_fail(sorter, SORT_FAILURE_MEMORY, "there is no memory that the processes can share");
	return sorter;
}

static Sorter *
join_on_any(SortTeam *team, SortShare *share, const SortKey *key, TupleDesc complete_rows)
{
	if (share == NULL)
	{
		(void) sort_team_add_lone(team);
		return NULL;
	}
	if (share->on_cards)
		return cards_join(team, share, key, complete_rows);
	if (share->in_turns)
		return turns_join(team, share, key, complete_rows);
	return (Sorter *) cuda_join(share, key, complete_rows);
}

static bool
enter(Sorter *base, int processes)
{
	return cuda_enter((CudaSorter *) base);
}

const SortDevice sort_device_cuda = {
	.name = "cuda",
	.properties = CUDA_PROPERTIES,
	.begin = begin_on_any,
	.join = join_on_any,
	.enter = enter,
	.get_chunk = cuda_get_chunk,
	.put_chunk = cuda_put_chunk,
	.finish_feed = cuda_finish_feed,
	.work = cuda_work,
	.next = cuda_next,
	.seek = cuda_seek,
	.get_stats = cuda_get_stats,
	.end = cuda_end,
};
