/*
 * exec/chunk_feed.c
 *		Rows into chunks: the way from a slot to a device.
 *
 * Each row is copied once, to where it stays until it is returned; its key is encoded in place beside it.
 *
 * Where the sorter has parts, each part has a feed of its own, with a chunk that is being filled; the key is
 * encoded first then, and says whose row it is.
 *
 * The feed owns the chunk that is being filled, and hands it to the sorter when it is full or the feed ends;
 * it belongs to one process.  A row that was not put says that the sorter has failed.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "exec/chunk_feed.h"
#include "monitor/progress.h"

static int
number_of_parts(const SortFeed *feed)
{
	return feed->parts != NULL ? feed->sorter->splitters->n + 1 : 0;
}

/* A feed of the rows of one part, or of all. */
static void
begin_part(SortFeed *feed, Sorter *sorter, int part, SortKey *key, TupleDesc desc, const Bitmapset *unused)
{
	MemoryContext old;

	feed->context = AllocSetContextCreate(CurrentMemoryContext, "GpuSort feed", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(feed->context);
	feed->sorter = sorter;
	feed->part = part;
	feed->parts = NULL;
	feed->key = key;
	feed->filter = sorter->bound != NULL ? bound_filter_create(sorter->bound) : NULL;
	feed->chunk = NULL;
	feed->noted_rows = 0;
	feed->noted_bytes = 0;
	row_source_init(&feed->row, desc, unused);
	feed->key_first = feed->filter != NULL;
	feed->reads_tails = (sorter->device->properties & SORT_READS_TAILS) && !feed->key_first &&
						!key->policy.alone && !key->verified && key->policy.index_rows == NULL;
	MemoryContextSwitchTo(old);
}

void
sort_feed_begin(SortFeed *feed, Sorter *sorter, SortKey *key, TupleDesc desc, const Bitmapset *unused)
{
	MemoryContext old;

	begin_part(feed, sorter, 0, key, desc, unused);
	if (sorter->splitters == NULL)
		return;
	old = MemoryContextSwitchTo(feed->context);
	feed->parts = palloc(sizeof(SortFeed) * (sorter->splitters->n + 1));
	feed->key_first = true;
	for (int i = 0; i < number_of_parts(feed); i++)
		begin_part(&feed->parts[i], sorter, i, key, desc, unused);
	MemoryContextSwitchTo(old);
}

/* Counts what was added to the chunk since the last time. */
static void
note_progress(SortFeed *feed)
{
	uint64 rows = feed->chunk->nrows;
	Size bytes = chunk_bytes(feed->chunk);

	progress_note_fed(feed->sorter, rows - feed->noted_rows, bytes - feed->noted_bytes);
	feed->noted_rows = rows;
	feed->noted_bytes = bytes;
}

static inline void
note_progress_at_times(SortFeed *feed)
{
	if (unlikely(feed->chunk != NULL && feed->chunk->nrows - feed->noted_rows >= PROGRESS_ROWS))
		note_progress(feed);
}

void
sort_feed_note_progress(SortFeed *feed)
{
	note_progress_at_times(feed);
	for (int i = 0; i < number_of_parts(feed); i++)
		note_progress_at_times(&feed->parts[i]);
}

/* Hands the chunk being filled, if any, to the device. */
static void
put_chunk(SortFeed *feed)
{
	Chunk *chunk = feed->chunk;

	if (chunk == NULL)
		return;
	note_progress(feed);
	feed->chunk = NULL;
	feed->noted_rows = 0;
	feed->noted_bytes = 0;
	feed->sorter->device->put_chunk(feed->sorter, feed->part, chunk);
}

/* A chunk with room for so many more bytes; NULL: the sorter has failed. */
static pg_noinline Chunk *
next_chunk(SortFeed *feed, Size bytes)
{
	put_chunk(feed);
	feed->chunk = feed->sorter->device->get_chunk(feed->sorter, feed->part, bytes);
	return feed->chunk;
}

static inline Chunk *
chunk_for(SortFeed *feed, Size bytes)
{
	if (likely(feed->chunk != NULL && chunk_has_room(feed->chunk, bytes)))
		return feed->chunk;
	return next_chunk(feed, bytes);
}

/* Puts the key there, the slot's unless it is encoded already. */
static inline void
write_key(SortFeed *feed, TupleTableSlot *slot, const uint8 *key, char *place)
{
	if (key != NULL)
	{
		/* words, as they were written: wider loads would wait for them */
		for (int i = 0; i < feed->key->width; i += sizeof(uint64))
			memcpy(place + i, key + i, sizeof(uint64));
	}
	else
		sort_key_encode_fixed(feed->key, slot, (uint8 *) place);
}

/* A row that its key says all of. */
static inline bool
put_key(SortFeed *feed, TupleTableSlot *slot, const uint8 *key)
{
	Chunk *chunk = chunk_for(feed, feed->key->width);

	if (unlikely(chunk == NULL))
		return false;
	write_key(feed, slot, key, chunk_reserve_key(chunk));
	chunk_commit_fixed(chunk, feed->key->width);
	return true;
}

static inline bool
put_key_and_row(SortFeed *feed, TupleTableSlot *slot, const uint8 *key)
{
	const RowSource *row = &feed->row;
	int width = feed->key->width;
	Size row_size;
	Chunk *chunk;
	char *key_place;
	char *row_place;

	row_source_open(&feed->row, slot);
	row_size = row_source_size(row);
	chunk = chunk_for(feed, chunk_entry_size(width, true) + row_size);
	if (unlikely(chunk == NULL))
		return false;
	key_place = chunk_reserve_fixed(chunk, width, row_size, &row_place);
	write_key(feed, slot, key, key_place);
	row_source_write(row, row_place);
	chunk_commit_fixed(chunk, width);
	return true;
}

/* With the key that is encoded already, or NULL. */
static inline bool
put_fixed(SortFeed *feed, TupleTableSlot *slot, const uint8 *key)
{
	return feed->key->policy.alone ? put_key(feed, slot, key) : put_key_and_row(feed, slot, key);
}

/* A row that its variable key says all of. */
bool
sort_feed_put_alone(SortFeed *feed, TupleTableSlot *slot)
{
	Size key_size;
	const uint8 *key = sort_key_encode_variable(feed->key, slot, &key_size);
	Chunk *chunk = chunk_for(feed, chunk_variable_size(key_size, 0));

	Assert(feed->key->policy.alone && feed->filter == NULL);
	if (unlikely(chunk == NULL))
		return false;
	(void) chunk_append_variable(chunk, key, key_size, 0);
	note_progress_at_times(feed);
	return true;
}

/* A row with this key; where that ends with what the row has, it is not stored twice. */
static inline bool
put_variable(SortFeed *feed, TupleTableSlot *slot, const uint8 *bytes, Size size)
{
	const RowSource *row = &feed->row;
	const char *tail = feed->key->builder.tail;
	RecordKey key = {.bytes = bytes, .size = size, .kind = RECORD_WITH_KEY};
	Size tail_offset;
	Size row_size;
	Chunk *chunk;

	row_source_open(&feed->row, slot);
	if (feed->reads_tails && tail != NULL && row_source_holds(row, tail, &tail_offset))
		record_key_share_row(&key, feed->key->builder.tail_start, tail_offset);
	row_size = row_source_size(row);
	chunk = chunk_for(feed, chunk_record_size(&key, row_size));
	if (unlikely(chunk == NULL))
		return false;
	row_source_write(row, chunk_append_record(chunk, &key, row_size));
	chunk_commit_record(chunk, &key);
	return true;
}

/* The slot's key, of any kind, and its size; one of fixed width stands in `fixed`. */
static inline const uint8 *
encode_key(SortFeed *feed, TupleTableSlot *slot, uint64 *fixed, Size *size)
{
	if (feed->key->variable)
		return sort_key_encode_variable(feed->key, slot, size);
	sort_key_encode_fixed(feed->key, slot, (uint8 *) fixed);
	*size = feed->key->width;
	return (const uint8 *) fixed;
}

static inline bool
put_with_key(SortFeed *feed, TupleTableSlot *slot, const uint8 *key, Size size)
{
	return feed->key->variable ? put_variable(feed, slot, key, size) : put_fixed(feed, slot, key);
}

/* A row of which the key decides whether it is wanted. */
static bool
put_if_wanted(SortFeed *feed, TupleTableSlot *slot)
{
	uint64 fixed[KEY_MAX_WORDS];
	Size size;
	const uint8 *key = encode_key(feed, slot, fixed, &size);

	if (sort_feed_leave_out(feed, key, size))
		return true;
	if (unlikely(!put_with_key(feed, slot, key, size)))
		return false;
	bound_filter_note(feed->filter, key, size);
	return true;
}

/* A row of which the key decides in which part it is wanted. */
static bool
put_in_part(SortFeed *feed, TupleTableSlot *slot)
{
	uint64 fixed[KEY_MAX_WORDS];
	Size size;
	const uint8 *key = encode_key(feed, slot, fixed, &size);
	SortFeed *part = &feed->parts[splitters_find(feed->sorter->splitters, key, size)];

	if (unlikely(!put_with_key(part, slot, key, size)))
		return false;
	note_progress_at_times(part);
	return true;
}

/* The key decides what becomes of the row. */
static pg_noinline bool
put_by_key(SortFeed *feed, TupleTableSlot *slot)
{
	return feed->parts != NULL ? put_in_part(feed, slot) : put_if_wanted(feed, slot);
}

/* A row that is wanted. */
static inline bool
put_row(SortFeed *feed, TupleTableSlot *slot)
{
	const uint8 *key;
	Size size;

	if (!feed->key->variable)
		return put_fixed(feed, slot, NULL);
	key = sort_key_encode_variable(feed->key, slot, &size);
	return put_variable(feed, slot, key, size);
}

bool
sort_feed_put(SortFeed *feed, TupleTableSlot *slot)
{
	row_source_fetch_ahead(slot);
	if (unlikely(!(feed->key_first ? put_by_key(feed, slot) : put_row(feed, slot))))
		return false;
	note_progress_at_times(feed);
	return true;
}

void
sort_feed_end(SortFeed *feed)
{
	put_chunk(feed);
	for (int i = 0; i < number_of_parts(feed); i++)
		sort_feed_end(&feed->parts[i]);
	if (feed->filter != NULL)
		bound_filter_free(feed->filter);
	MemoryContextDelete(feed->context);
}
