/*
 * device/sorter.c
 *		What is the same for all devices: where a sorter reads.
 *
 * Rows of one merge know their place by themselves (files/merged_rows.h).  All others have a position.
 */
#include "postgres.h"

#include "device/participants.h"
#include "device/sorter.h"
#include "files/merged_rows.h"
#include "key/sort_key.h"
#include "sort/chunk_pool.h"

const SortDevice *const sort_devices[DEVICES] =
	{[DEVICE_CPU] = &sort_device_cpu, [DEVICE_CUDA] = &sort_device_cuda};

void
sort_device_set_layout(const SortDevice *device, SortKey *key)
{
	key->policy.alone = key->policy.rows != NULL && !(device->properties & SORT_KEEPS_ROWS);
}

/* Rows that a cut has left are looked at again when there are so many times as many, or to make room. */
#define CUT_AGAIN 8

bool
sorter_may_cut(const Sorter *sorter, const ChunkPool *chunks, bool for_room)
{
	int processes = sorter->share != NULL ? Max(1, sorter->share->nentered) : 1;
	uint64 at_least = for_room ? chunks->cut_rows + chunks->cut_rows / 2 : chunks->cut_rows * CUT_AGAIN;

	/* what others have pushed out is not known, but about as much; and one of them may have cut it already */
	return sorter->group_filter != NULL && chunks->nrows >= at_least &&
		   group_filter_may_cut(sorter->group_filter, chunks->nrows / processes, for_room);
}

bool
sorter_can_not(Sorter *sorter)
{
	return false;
}

int64
sorter_cannot_count(Sorter *sorter, int64 first, int64 end)
{
	return -1;
}

void
sorter_does_nothing(Sorter *sorter)
{
}

void
sorter_never_coded(Sorter *sorter, void (*feed_again)(Chunk *chunk, void *arg), void *arg)
{
}

int
sorter_has_one_part(const SortRequest *request)
{
	return 1;
}

void
sorter_begin_reading(Sorter *sorter, uint64 nrows)
{
	sorter_forget_rows_at_hand(sorter);
	sorter->nrows = sorter->range_end = nrows;
	sorter->position = -1;
}

void
sorter_read_merged(Sorter *sorter, MergedRows *merged, bool random_access)
{
	sorter->merged = merged;
	sorter->read_once = !random_access;
}

bool
sorter_rewind(Sorter *sorter)
{
	if (sorter->read_once)
		return false;
	sorter->device->dismiss(sorter);
	sorter_forget_rows_at_hand(sorter);
	sorter->position = -1;
	if (sorter->merged != NULL)
		merged_rows_rewind(sorter->merged);
	return true;
}

int64
sorter_rows(const Sorter *sorter)
{
	return sorter->merged != NULL || sorter->read_once ? -1 : sorter->nrows;
}

void
sorter_seek(Sorter *sorter, int64 position)
{
	sorter->device->dismiss(sorter);
	sorter_forget_rows_at_hand(sorter);
	sorter->position = position - 1;
}

int64
sorter_count_keys(Sorter *sorter, int64 first, int64 end)
{
	sorter_seek(sorter, end);
	return sorter->device->count_keys(sorter, first, end);
}

void
sorter_mark(Sorter *sorter)
{
	sorter->marked = sorter->position;
	if (sorter->merged != NULL)
		merged_rows_mark(sorter->merged);
}

void
sorter_restore(Sorter *sorter)
{
	sorter_forget_rows_at_hand(sorter);
	sorter->position = sorter->marked;
	if (sorter->merged != NULL)
		merged_rows_restore(sorter->merged);
}

void
sorter_seek_range(Sorter *sorter, int range, int nranges)
{
	sorter_forget_rows_at_hand(sorter);
	sorter->position = sorter->nrows * range / nranges - 1;
	sorter->range_end = sorter->nrows * (range + 1) / nranges;
}

/* A reader that has met the end stands behind it. */
void
sorter_pass_range_end(Sorter *sorter)
{
	sorter->position = Min(sorter->position, sorter->range_end - 1);
	sorter->range_end = sorter->nrows;
}
