/*
 * exec/page_feed.c
 *		Rows of a table's page into chunks, as many at a time as there are.
 *
 * To hand on a row in a slot, and to ask for each of its parts what kind of slot it is, takes longer than to
 * copy the row and to encode a key of fixed width.  So where a scan returns rows as they are (input_rows.c),
 * one row of a page goes through a slot, and those behind it are read and written here, at once.  It ends at
 * the first row that needs more than that, and leaves the scan before it.
 */
#include "postgres.h"

#include "access/htup_details.h"

#include "exec/page_feed.h"

/* A row is fetched into the caches so many bytes ahead: rows are put into a page from its end on. */
#define PAGE_AHEAD 512

/* A row of the page, which is a MinimalTuple but for what precedes its infomask. */
typedef struct StoredRow
{
	HeapTupleHeader header;
	uint32 length; /* of the MinimalTuple */
} StoredRow;

/* Are rows, as far as they are wanted, kept as they stand in the page? */
static inline bool
rows_are_plain(const SortFeed *feed, const InputRows *rows)
{
	const PlanState *node = &rows->scan->ss.ps;

	return !feed->key->policy.alone && node->qual == NULL && node->ps_ProjInfo == NULL;
}

/*
 * Where the key says that the row goes: the feed, or the one of the sorter's part that the key belongs to;
 * NULL: it can't be wanted.
 */
static inline SortFeed *
feed_of_key(SortFeed *feed, const void *key, Size size)
{
	if (feed->parts != NULL)
		return &feed->parts[splitters_find(feed->sorter->splitters, key, size)];
	if (feed->filter != NULL && sort_feed_leave_out(feed, key, size))
		return NULL;
	return feed;
}

/* The row with this key was put. */
static inline void
note_put(SortFeed *feed, const void *key, Size size)
{
	if (feed->filter != NULL)
		bound_filter_note(feed->filter, key, size);
}

/* Bytes of a chunk that a row takes: rows of pages are aligned to 8 bytes, too. */
static inline Size
stored_size(const StoredRow *row)
{
	return TYPEALIGN(8, (Size) row->length);
}

/* The row as a MinimalTuple, of which t_len and what is before the infomask are not there. */
static inline const char *
minimal_start(const StoredRow *row)
{
	return (const char *) row->header + MINIMAL_TUPLE_OFFSET;
}

/* Writes the row to dst, and what stands behind it up to a multiple of 8 bytes. */
static inline void
write_row(char *dst, const StoredRow *row)
{
	const char *from = minimal_start(row);

	for (uint32 i = 0; i < row->length; i += sizeof(uint64))
		memcpy(dst + i, from + i, sizeof(uint64));
	((MinimalTuple) dst)->t_len = row->length;
}

/* Has the chunk being filled, if there is one, room for so many bytes? */
static inline bool
has_room(const SortFeed *feed, Size bytes)
{
	return feed->chunk != NULL && chunk_has_room(feed->chunk, bytes);
}

/*
 * Puts a row with a fixed key.  False: it has to go through a slot, since it has a NULL, a column of the key
 * is not at the same place in all rows, or the chunk has no room.  True: it is in the chunk, or was left out.
 */
static inline bool
put_fixed(SortFeed *feed, TupleDesc desc, const StoredRow *row)
{
	uint64 key[KEY_MAX_WORDS];
	int width = feed->key->width;
	Size row_size = stored_size(row);
	Chunk *chunk;
	char *key_place;
	char *row_place;

	if (!sort_key_encode_stored(feed->key, desc, row->header, (uint8 *) key))
		return false;
	feed = feed_of_key(feed, key, width);
	if (feed == NULL)
		return true;
	if (!has_room(feed, chunk_entry_size(width, true) + row_size))
		return false;
	chunk = feed->chunk;
	key_place = chunk_reserve_fixed(chunk, width, row_size, &row_place);
	for (int i = 0; i < width; i += sizeof(uint64))
		memcpy(key_place + i, (const char *) key + i, sizeof(uint64));
	write_row(row_place, row);
	chunk_commit_fixed(chunk, width);
	note_put(feed, key, width);
	return true;
}

/* Does the key end with what the row has? Then it is not stored twice. */
static inline void
share_row(const SortFeed *feed, RecordKey *key, const StoredRow *row)
{
	const char *tail = feed->key->builder.tail;
	const char *start = minimal_start(row);

	key->kind = RECORD_WITH_KEY;
	if (feed->reads_tails && tail >= start && tail < start + row->length)
		record_key_share_row(key, feed->key->builder.tail_start, tail - start);
}

/* Puts a row with a variable key; the result is that of put_fixed. */
static inline bool
put_variable(SortFeed *feed, TupleDesc desc, const StoredRow *row)
{
	Size row_size = stored_size(row);
	RecordKey key;

	key.bytes = sort_key_encode_variable_stored(feed->key, desc, row->header, &key.size);
	if (key.bytes == NULL)
		return false;
	feed = feed_of_key(feed, key.bytes, key.size);
	if (feed == NULL)
		return true;
	share_row(feed, &key, row);
	if (!has_room(feed, chunk_record_size(&key, row_size)))
		return false;
	write_row(chunk_append_record(feed->chunk, &key, row_size), row);
	chunk_commit_record(feed->chunk, &key);
	note_put(feed, key.bytes, key.size);
	return true;
}

/* Fetches what lies so far ahead of a row as the row is long. */
static inline void
fetch_ahead(const StoredRow *row)
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

uint64
page_feed_rows(SortFeed *feed, InputRows *rows)
{
	HeapScanDesc scan = rows->pages;
	bool variable = feed->key->variable;
	TupleDesc desc;
	Page page;
	uint32 first;
	uint32 index;

	if (scan == NULL || !rows_are_plain(feed, rows))
		return 0;
	desc = rows->scan->ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	page = BufferGetPage(scan->rs_cbuf);
	first = (uint32) scan->rs_cindex + 1;
	for (index = first; index < (uint32) scan->rs_ntuples; index++)
	{
		ItemId item = PageGetItemId(page, scan->rs_vistuples[index]);
		StoredRow row = {(HeapTupleHeader) PageGetItem(page, item),
						 ItemIdGetLength(item) - MINIMAL_TUPLE_OFFSET};

		fetch_ahead(&row);
		if (!(variable ? put_variable(feed, desc, &row) : put_fixed(feed, desc, &row)))
			break;
	}
	note_rows(scan, index - 1, index - first);
	sort_feed_note_progress(feed);
	return index - first;
}
