/*
 * exec/chunk_feed.c
 *		Rows into chunks: the way from a slot, or from a table's page, to a device.
 *
 * All rows go one way (put_row): the key is encoded, it says which part of the sorter the row is for, or that
 * the row can't be wanted, the chunk that is being filled makes room, key and row are written there.  So a
 * row is copied once, to where it stays until it is returned.
 *
 * A slot takes longer than to copy a row and to encode a key of fixed width.  So where a scan returns rows as
 * they are (input_rows.c), one row of a page goes through a slot, and those behind it are put at once
 * (put_page), up to the first one that needs a look at its columns one by one, or a chunk.  While a filter
 * drops rows, it looks at several rows of a page together (batch_feed.c).
 *
 * The feed owns the chunks that are being filled, one for each part of the sorter, and hands a chunk to the
 * sorter when it is full or the feed ends; it belongs to one process.  A slot's row that was not put says
 * that the sorter has failed.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "exec/batch_feed.h"
#include "exec/chunk_feed.h"
#include "exec/feed_state.h"
#include "key/sort_key.h"
#include "sort/record.h"
#include "sort/splitters.h"

/* A row of a page is fetched into the caches so many bytes ahead: rows are put there from its end on. */
#define PAGE_AHEAD 512

SortFeed *
sort_feed_begin(Sorter *sorter, SortKey *key, TupleDesc desc, const Bitmapset *unused)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "GpuSort feed", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int nparts = sorter->splitters != NULL ? sorter->splitters->n + 1 : 1;
	SortFeed *feed = palloc0(offsetof(SortFeed, parts) + sizeof(FeedPart) * nparts);

	feed->sorter = sorter;
	feed->key = key;
	feed->context = context;
	feed->nparts = nparts;
	feed->filter = sorter->bound != NULL ? bound_filter_create(sorter->bound) : NULL;
	feed->groups = sorter->groups != NULL
					   ? group_filter_create(sorter->groups, sorter->coded != NULL ? sorter->coded : key)
					   : NULL;
	sorter->group_filter = feed->groups;
	feed->reads_tails = (sorter->device->properties & SORT_READS_TAILS) && feed->filter == NULL &&
						!key->policy.alone && !key->verified && key->policy.index_rows == NULL;
	if (sorter->coded != NULL)
	{
		feed->key = sorter->coded;
		feed->coded_key = feed->key;
		feed->coding = feed->key->coding;
		feed->lowest = sorter->values != NULL ? value_filter_create(sorter->values, feed->key) : NULL;
		if (feed->filter == NULL)
			sort_key_allow_late_codes(feed->coding);
	}
	row_source_init(&feed->row, desc, sorter->device->properties & SORT_KEEPS_SORT_COLUMNS ? NULL : unused);
	MemoryContextSwitchTo(old);
	return feed;
}

/* ---------------------------------------------------------------- chunks */

void
feed_note_progress(SortFeed *feed, FeedPart *part)
{
	uint64 rows = part->chunk->nrows;
	Size bytes = chunk_bytes(part->chunk);

	progress_note_fed(feed->sorter, rows - part->noted_rows, bytes - part->noted_bytes);
	part->noted_rows = rows;
	part->noted_bytes = bytes;
}

/* Hands the chunk being filled, if any, to the device. */
static void
put_chunk(SortFeed *feed, FeedPart *part)
{
	Chunk *chunk = part->chunk;

	if (chunk == NULL)
		return;
	if (feed->coding != NULL)
		sort_key_settle_codes(feed->coding);
	feed_note_progress(feed, part);
	memset(part, 0, sizeof(*part));
	place_put(chunk);
}

/* A chunk with room for so many more bytes; NULL: the sorter has failed. */
static pg_noinline Chunk *
next_chunk(SortFeed *feed, FeedPart *part, Size bytes)
{
	put_chunk(feed, part);
	part->chunk = sorter_get_chunk(feed->sorter, part - feed->parts, bytes);
	return part->chunk;
}

/* The same, but for a row of a page none other than the one at hand, or NULL. */
static pg_attribute_always_inline Chunk *
chunk_for(SortFeed *feed, FeedPart *part, const PageRow *in_page, Size bytes)
{
	if (likely(part->chunk != NULL && chunk_has_room(part->chunk, bytes)))
		return part->chunk;
	return in_page != NULL ? NULL : next_chunk(feed, part, bytes);
}

/* ---------------------------------------------------------------- a row */

/*
 * The key, of any kind, and its size; one of fixed width stands in `fixed`.  NULL: the columns of the page's
 * row have to be taken apart first, by a slot.
 */
static pg_attribute_always_inline const uint8 *
encode_key(SortKey *key, TupleTableSlot *slot, const PageRow *in_page, uint64 *fixed, Size *size)
{
	if (key->variable)
		return in_page == NULL ? sort_key_encode_variable(key, slot, size)
							   : sort_key_encode_variable_stored(key, in_page->desc, in_page->header, size);
	*size = key->width;
	if (in_page == NULL)
		sort_key_encode_fixed(key, slot, (uint8 *) fixed);
	else if (!sort_key_encode_stored(key, in_page->desc, in_page->header, (uint8 *) fixed))
		return NULL;
	return (const uint8 *) fixed;
}

/* Can't the row with this key be wanted?  Then it is counted as left out. */
static inline bool
leave_out(SortFeed *feed, const uint8 *key, Size size)
{
	if (feed->filter != NULL && bound_filter_drops(feed->filter, key, size))
		feed_note_left_out(feed, ++feed->filter->dropped, 1);
	else if (feed->groups != NULL && group_filter_drops(feed->groups, key, size))
		feed_note_left_out(feed, group_filter_dropped(feed->groups), 1);
	else if (feed->lowest != NULL && value_filter_drops(feed->lowest, key))
		feed_note_left_out(feed, feed->lowest->dropped, 1);
	else
		return false;
	return true;
}

/* The part that a row with this key is for. */
static inline FeedPart *
part_of_key(SortFeed *feed, const uint8 *key, Size size)
{
	if (likely(feed->nparts == 1))
		return feed->parts;
	return &feed->parts[splitters_find(feed->sorter->splitters, key, size)];
}

/* Finds the row; returns how many bytes it will take. */
static pg_attribute_always_inline Size
open_row(SortFeed *feed, TupleTableSlot *slot, const PageRow *in_page)
{
	if (in_page == NULL)
		row_source_open(&feed->row, slot);
	else
		row_source_open_stored(&feed->row, (const char *) in_page->header + MINIMAL_TUPLE_OFFSET,
							   in_page->length);
	return row_source_size(&feed->row);
}

static pg_attribute_always_inline void
write_row(const SortFeed *feed, const PageRow *in_page, char *place)
{
	if (in_page == NULL)
		row_source_write(&feed->row, place);
	else
		row_source_write_words(&feed->row, place);
}

static pg_attribute_always_inline bool
put_fixed(SortFeed *feed, FeedPart *part, const uint8 *key, TupleTableSlot *slot, const PageRow *in_page,
		  bool has_row)
{
	int width = feed->key->width;
	Size row_size = has_row ? open_row(feed, slot, in_page) : 0;
	Chunk *chunk = chunk_for(feed, part, in_page, chunk_entry_size(width, has_row) + row_size);
	char *row_place = NULL;
	char *key_place;

	if (unlikely(chunk == NULL))
		return false;
	key_place = has_row ? chunk_reserve_fixed(chunk, width, row_size, &row_place) : chunk_reserve_key(chunk);
	/* words, as they were written: wider loads would wait for them */
	for (int i = 0; i < width; i += sizeof(uint64))
		memcpy(key_place + i, key + i, sizeof(uint64));
	if (has_row)
		write_row(feed, in_page, row_place);
	chunk_commit_fixed(chunk, width);
	if (feed->coding != NULL)
		sort_key_place_codes(feed->coding, (uint8 *) key_place);
	return true;
}

/* Where the key ends with what the row has, it is not stored twice. */
static pg_attribute_always_inline bool
put_variable(SortFeed *feed, FeedPart *part, const uint8 *bytes, Size size, TupleTableSlot *slot,
			 const PageRow *in_page, bool has_row)
{
	RecordKey key = {.bytes = bytes, .size = size, .kind = RECORD_WITH_KEY};
	const char *tail = feed->key->builder.tail;
	Size row_size = has_row ? open_row(feed, slot, in_page) : 0;
	Size tail_offset;
	Chunk *chunk;
	char *row_place;

	if (feed->reads_tails && tail != NULL && row_source_holds(&feed->row, tail, &tail_offset))
		record_key_share_row(&key, feed->key->builder.tail_start, tail_offset);
	chunk = chunk_for(feed, part, in_page, chunk_entry_size(0, true) + record_size_for(&key, row_size));
	if (unlikely(chunk == NULL))
		return false;
	row_place = chunk_append_record(chunk, &key, row_size);
	if (has_row)
		write_row(feed, in_page, row_place);
	chunk_commit_record(chunk, &key);
	return true;
}

/*
 * Puts the slot's row, or the page's where in_page is not NULL, which is wanted.  False: the sorter has
 * failed; the page's row has to go through a slot, since the chunk has no room.
 */
static pg_attribute_always_inline bool
put_wanted(SortFeed *feed, const uint8 *key, Size size, TupleTableSlot *slot, const PageRow *in_page,
		   bool has_row)
{
	FeedPart *part = part_of_key(feed, key, size);

	if (unlikely(!(feed->key->variable ? put_variable(feed, part, key, size, slot, in_page, has_row)
									   : put_fixed(feed, part, key, slot, in_page, has_row))))
		return false;
	if (in_page == NULL)
		feed_note_progress_at_times(feed, part);
	return true;
}

bool
feed_put_wanted_of_page(SortFeed *feed, const uint8 *key, Size size, const PageRow *row, bool has_row)
{
	return put_wanted(feed, key, size, NULL, row, has_row);
}

bool
feed_put_wanted_of_slot(SortFeed *feed, const uint8 *key, Size size, TupleTableSlot *slot, bool has_row)
{
	return put_wanted(feed, key, size, slot, NULL, has_row);
}

/* ---------------------------------------------------------------- the end of codes */

/* Feeds a row of a chunk again, with its plain key. */
static void
put_again(SortFeed *feed, const uint8 *key, Size size, const MinimalTuple row)
{
	PageRow stored = {.header = (HeapTupleHeader) ((char *) row - MINIMAL_TUPLE_OFFSET),
					  .length = row->t_len};
	FeedPart *part = feed->parts;

	if (put_variable(feed, part, key, size, NULL, &stored, true))
		return;
	if (next_chunk(feed, part, chunk_entry_size(0, true) + record_whole_size(size, row_stored_size(row))) ==
			NULL ||
		!put_variable(feed, part, key, size, NULL, &stored, true))
		elog(ERROR, "gpusort: a row that was fed again finds no room");
}

/* The row of a chunk's entry whose key has codes. */
static inline StoredRow
coded_row(SortFeed *feed, const Chunk *chunk, const char *entry)
{
	if (!chunk_has_rows(chunk))
		return coded_values_row(feed->values, (const uint8 *) entry);
	return (StoredRow) (chunk->base + *(const uint64 *) (entry + chunk->key_width));
}

static void
feed_again(Chunk *chunk, void *arg)
{
	SortFeed *feed = arg;

	if (feed->values == NULL)
		feed->values = coded_values_create(feed->coded_key);
	for (uint64 i = 0; i < chunk->nrows; i++)
	{
		const char *entry = chunk->base + i * chunk->entry_size;
		Size size;
		const uint8 *key = coded_values_plain_key(feed->values, (const uint8 *) entry, &size);

		put_again(feed, key, size, coded_row(feed, chunk, entry));
		if (i % PROGRESS_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

/* The filter of values drops no more rows. */
static void
end_lowest(SortFeed *feed)
{
	if (feed->lowest != NULL)
		value_filter_end(feed->lowest);
	feed->lowest = NULL;
}

/* Rows have plain keys from now on, also those that were fed before. */
static pg_noinline void
end_coding(SortFeed *feed)
{
	MemoryContext old = MemoryContextSwitchTo(feed->context);

	put_chunk(feed, feed->parts);
	feed->key = feed->coding->plain;
	feed->key->builder.tail = NULL; /* of an earlier scan: its address may be one of a row at hand */
	feed->coding = NULL;
	if (feed->groups != NULL)
		group_filter_end_coding(feed->groups, feed->key);
	end_lowest(feed);
	feed->sorter->device->end_coding(feed->sorter, feed_again, feed);
	if (feed->values != NULL)
		coded_values_free(feed->values);
	feed->values = NULL;
	MemoryContextSwitchTo(old);
}

/* A filter is asked about the key now. */
static inline void
settle_codes_of(SortFeed *feed, uint64 *fixed)
{
	if (feed->coding == NULL || (feed->groups == NULL && feed->lowest == NULL))
		return;
	sort_key_place_codes(feed->coding, (uint8 *) fixed);
	sort_key_settle_codes(feed->coding);
}

/*
 * Puts the row unless it is not wanted.  False: as above; or the page's row has a NULL, or a column of the
 * key is not at the same place in all rows.
 */
static pg_attribute_always_inline bool
put_row(SortFeed *feed, TupleTableSlot *slot, const PageRow *in_page, bool has_row)
{
	uint64 fixed[KEY_MAX_WORDS];
	Size size;
	const uint8 *key = encode_key(feed->key, slot, in_page, fixed, &size);

	if (key == NULL)
		return false;
	settle_codes_of(feed, fixed);
	if (feed_coding_ends(feed))
	{
		end_coding(feed);
		if (feed->coded_key->policy.alone)
			return false; /* the row may be needed now */
		key = encode_key(feed->key, slot, in_page, fixed, &size);
		if (key == NULL)
			return false;
	}
	if (leave_out(feed, key, size))
		return true;
	if (!put_wanted(feed, key, size, slot, in_page, has_row))
		return false;
	feed_note_kept(feed, key, size);
	return true;
}

SortKey *
sort_feed_key(const SortFeed *feed)
{
	return feed->key;
}

void
sort_feed_end_coding(SortFeed *feed)
{
	if (feed->coding != NULL)
		end_coding(feed);
}

bool
sort_feed_put(SortFeed *feed, TupleTableSlot *slot, bool has_row)
{
	row_source_fetch_ahead(slot);
	return put_row(feed, slot, NULL, has_row);
}

void
sort_feed_end(SortFeed *feed)
{
	for (int i = 0; i < feed->nparts; i++)
		put_chunk(feed, &feed->parts[i]);
	if (feed->coding != NULL && sort_key_tables_ended(feed->coding->tables))
	{
		end_coding(feed);
		put_chunk(feed, feed->parts);
	}
	if (feed->groups != NULL)
		group_filter_end(feed->groups);
	end_lowest(feed);
	feed->sorter->group_filter = NULL;
	if (feed->filter != NULL)
		bound_filter_flush(feed->filter);
	if (feed->batch != NULL)
		input_batch_free(feed->batch);
	MemoryContextDelete(feed->context);
}

/* ---------------------------------------------------------------- the rows of an input */

/* Fetches what lies so far ahead of a row as the row is long. */
static inline void
fetch_ahead(const PageRow *row)
{
	const char *ahead = (const char *) row->header - PAGE_AHEAD;

	for (uint32 at = 0; at < Min(row->length, PAGE_AHEAD); at += PG_CACHE_LINE_SIZE / 2)
		__builtin_prefetch(ahead - at);
}

/* The scan has returned so many more rows, the last one of them being that one of the page. */
static void
note_rows(HeapScanDesc scan, uint32 last, uint64 nrows)
{
	scan->rs_cindex = last;
	for (uint64 i = 0; i < nrows; i++)
		pgstat_count_heap_getnext(scan->rs_base.rs_rd);
}

/*
 * Puts rows that follow, on the page where the input stands, the row that input_rows_next returned last;
 * returns how many.  What is not put here, input_rows_next returns next.
 */
static uint64
put_page(SortFeed *feed, InputRows *rows, bool has_row)
{
	HeapScanDesc scan = rows->pages;
	Page page;
	PageRow row;
	uint32 first;
	uint32 index;

	if (scan == NULL || !input_rows_are_plain(rows))
		return 0;
	row.desc = rows->scan->ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	page = BufferGetPage(scan->rs_cbuf);
	first = (uint32) scan->rs_cindex + 1;
	for (index = first; index < (uint32) scan->rs_ntuples; index++)
	{
		ItemId item = PageGetItemId(page, scan->rs_vistuples[index]);

		row.header = (HeapTupleHeader) PageGetItem(page, item);
		row.length = ItemIdGetLength(item) - MINIMAL_TUPLE_OFFSET;
		fetch_ahead(&row);
		if (!put_row(feed, NULL, &row, has_row))
			break;
	}
	note_rows(scan, index - 1, index - first);
	for (int i = 0; i < feed->nparts; i++)
		feed_note_progress_at_times(feed, &feed->parts[i]);
	return index - first;
}

uint64
sort_feed_input(Sorter *sorter, SortKey *key, PlanState *input, const Bitmapset *unused)
{
	SortFeed *feed = sort_feed_begin(sorter, key, ExecGetResultType(input), unused);
	uint64 nrows = 0;
	InputRows rows;

	input_rows_begin(&rows, input);
	batch_feed_init(feed, &rows);
	for (;;)
	{
		TupleTableSlot *slot = input_rows_next(&rows);

		if (TupIsNull(slot))
			break;
		CHECK_FOR_INTERRUPTS();
		if (!sort_feed_put(feed, slot, !key->policy.alone))
			break;
		nrows += 1 + (batch_feed_is_useful(feed) ? batch_feed_put(feed, &rows, !key->policy.alone)
												 : put_page(feed, &rows, !key->policy.alone));
	}
	sort_feed_end(feed);
	return nrows;
}
