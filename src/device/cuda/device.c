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
begin_on_any(const SortRequest *request)
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

static Sorter *
join_on_any(SortShare *share, const SortKey *key, FileSet *files)
{
	if (share->on_cards)
		return cards_join(share, key, files);
	if (share->in_turns)
		return turns_join(share, key, files);
	return (Sorter *) cuda_join(share, key);
}

static bool
enter(Sorter *base, int processes, FileSet *files)
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
	.take_back = cuda_take_back,
	.work = cuda_work,
	.next = cuda_next,
	.seek = cuda_seek,
	.get_stats = cuda_get_stats,
	.end = cuda_end,
};
