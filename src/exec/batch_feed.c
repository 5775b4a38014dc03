/*
 * exec/batch_feed.c
 *		Rows of a page into chunks, some at a time: a filter that drops most of them looks at them together.
 *
 * The look-ups of a filter miss the caches.  Those of several rows wait for memory at the same time.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "exec/batch_feed.h"
#include "exec/feed_state.h"
#include "key/sort_key.h"

void
batch_feed_init(SortFeed *feed, const InputRows *rows)
{
	if (rows->scan != NULL && (feed->groups != NULL || feed->lowest != NULL) && !feed->key->variable)
		feed->batch = input_batch_create(rows, feed->context);
}

static inline void
encode_of_batch(SortFeed *feed, int row, uint8 *key)
{
	InputBatch *batch = feed->batch;

	if (!batch->has_tuples || !sort_key_encode_stored(feed->key, batch->slots[row]->tts_tupleDescriptor,
													  batch->tuples[row].t_data, key))
		sort_key_encode_fixed(feed->key, input_batch_slot(batch, row), key);
}

/* Puts a row that is wanted; false: the sorter has failed. */
static inline bool
put_of_batch(SortFeed *feed, int row, const uint8 *key, bool has_row)
{
	const HeapTupleData *tuple = &feed->batch->tuples[row];
	PageRow in_page = {.header = tuple->t_data, .length = tuple->t_len - MINIMAL_TUPLE_OFFSET};
	Size size = feed->key->width;

	return (feed->batch->has_tuples && feed_put_wanted_of_page(feed, key, size, &in_page, has_row)) ||
		   feed_put_wanted_of_slot(feed, key, size, input_batch_slot(feed->batch, row), has_row);
}

/* Makes the keys of the batch's rows.  False: coding has ended, and they were put one by one. */
static bool
encode_batch(SortFeed *feed, int n, uint64 (*keys)[KEY_MAX_WORDS], bool has_row)
{
	for (int i = 0; i < n; i++)
	{
		encode_of_batch(feed, i, (uint8 *) keys[i]);
		if (feed->coding != NULL)
			sort_key_place_codes(feed->coding, (uint8 *) keys[i]);
	}
	if (feed->coding != NULL)
		sort_key_settle_codes(feed->coding);
	if (!feed_coding_ends(feed))
		return true;
	for (int i = 0; i < n && sort_feed_put(feed, input_batch_slot(feed->batch, i), has_row); i++)
		;
	return false;
}

/* Asks a filter about the rows of a batch. */
static void
leave_out_of_batch(SortFeed *feed, const uint64 (*keys)[KEY_MAX_WORDS], int n, bool *left_out)
{
	int ndropped = 0;

	if (feed->groups != NULL)
	{
		ndropped = group_filter_drops_of(feed->groups, keys, n, left_out);
		feed_note_left_out(feed, group_filter_dropped(feed->groups), ndropped);
		return;
	}
	for (int i = 0; i < n; i++)
		ndropped += left_out[i] = value_filter_drops(feed->lowest, (const uint8 *) keys[i]);
	feed_note_left_out(feed, feed->lowest->dropped, ndropped);
}

bool
batch_feed_is_useful(const SortFeed *feed)
{
	return feed->batch != NULL && !feed->key->variable &&
		   (feed->lowest != NULL || group_filter_is_on(feed->groups));
}

uint64
batch_feed_put(SortFeed *feed, InputRows *rows, bool has_row)
{
	uint64 keys[GROUP_BATCH_ROWS][KEY_MAX_WORDS];
	bool left_out[GROUP_BATCH_ROWS];
	uint64 nrows = 0;
	int n;

	while ((n = input_rows_take_batch(rows, feed->batch)) > 0)
	{
		if (!encode_batch(feed, n, keys, has_row))
			return nrows + n;
		leave_out_of_batch(feed, keys, n, left_out);
		/* a note takes a lock, which would wait for all that was written of a row */
		for (int i = 0; i < n; i++)
		{
			if (!left_out[i])
				feed_note_kept(feed, (uint8 *) keys[i], feed->key->width);
		}
		for (int i = 0; i < n; i++, nrows++)
		{
			if (!left_out[i] && !put_of_batch(feed, i, (uint8 *) keys[i], has_row))
				return nrows;
		}
		for (int i = 0; i < feed->nparts; i++)
			feed_note_progress_at_times(feed, &feed->parts[i]);
		CHECK_FOR_INTERRUPTS();
	}
	return nrows;
}
