/*
 * exec/chunk_feed.c
 *		Rows into chunks: the way from a slot to a device.
 *
 * Each row is copied once, to where it stays until it is returned; its key is
 * encoded in place beside it.
 */
#include "postgres.h"

#include "exec/chunk_feed.h"
#include "monitor/progress.h"

void
sort_feed_begin(SortFeed *feed, Sorter *sorter, SortKey *key, const Bitmapset *unused, bool with_others)
{
	feed->sorter = sorter;
	feed->key = key;
	feed->with_others = with_others;
	feed->chunk = NULL;
	feed->noted_rows = 0;
	feed->noted_bytes = 0;
	row_source_init(&feed->row, unused);
}

/* Counts what was added to the chunk since the last time. */
static void
note_progress(SortFeed *feed)
{
	uint64		rows = feed->chunk->nrows;
	Size		bytes = chunk_bytes(feed->chunk);

	progress_note_fed(feed->sorter, rows - feed->noted_rows, bytes - feed->noted_bytes);
	feed->noted_rows = rows;
	feed->noted_bytes = bytes;
}

/* Hands the chunk being filled, if any, to the device. */
static void
put_chunk(SortFeed *feed)
{
	Chunk	   *chunk = feed->chunk;

	if (chunk == NULL)
		return;
	note_progress(feed);
	feed->chunk = NULL;
	feed->noted_rows = 0;
	feed->noted_bytes = 0;
	feed->sorter->device->put_chunk(feed->sorter, chunk);
}

/* A chunk with room for so many more bytes; NULL: the sorter has failed, or there is no room. */
static pg_noinline Chunk *
next_chunk(SortFeed *feed, Size bytes)
{
	const SortDevice *device = feed->sorter->device;

	put_chunk(feed);
	feed->chunk = feed->with_others ? device->try_chunk(feed->sorter, bytes) : device->get_chunk(feed->sorter, bytes);
	return feed->chunk;
}

static inline Chunk *
chunk_for(SortFeed *feed, Size bytes)
{
	if (likely(feed->chunk != NULL && chunk_has_room(feed->chunk, bytes)))
		return feed->chunk;
	return next_chunk(feed, bytes);
}

static inline bool
put_fixed(SortFeed *feed, TupleTableSlot *slot)
{
	const RowSource *row = &feed->row;
	int			width = feed->key->width;
	Size		row_size = row_source_size(row);
	Chunk	   *chunk = chunk_for(feed, chunk_entry_size(width) + row_size);
	char	   *key_place;
	char	   *row_place;

	if (unlikely(chunk == NULL))
		return false;
	key_place = chunk_reserve_fixed(chunk, width, row_size, &row_place);
	sort_key_encode_fixed(feed->key, slot, (uint8 *) key_place);
	row_source_write(row, row_place);
	chunk_commit_fixed(chunk, width);
	return true;
}

static inline bool
put_variable(SortFeed *feed, TupleTableSlot *slot)
{
	const RowSource *row = &feed->row;
	Size		key_size;
	const uint8 *key = sort_key_encode_variable(feed->key, slot, &key_size);
	Size		row_size = row_source_size(row);
	Chunk	   *chunk = chunk_for(feed, chunk_variable_size(key_size, row_size));

	if (unlikely(chunk == NULL))
		return false;
	row_source_write(row, chunk_append_variable(chunk, key, key_size, row_size));
	return true;
}

bool
sort_feed_put(SortFeed *feed, TupleTableSlot *slot)
{
	row_source_open(&feed->row, slot);
	if (unlikely(!(feed->key->variable ? put_variable(feed, slot) : put_fixed(feed, slot))))
		return false;
	if (unlikely(feed->chunk->nrows % PROGRESS_ROWS == 0))
		note_progress(feed);
	return true;
}

void
sort_feed_end(SortFeed *feed)
{
	put_chunk(feed);
}
