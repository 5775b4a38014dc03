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

/* Are keys of fixed width, of rows that are all wanted as they stand in the page? */
static inline bool
rows_are_plain(const SortFeed *feed, const InputRows *rows)
{
	const PlanState *node = &rows->scan->ss.ps;

	return !feed->key->variable && !feed->key->alone && feed->filter == NULL && node->qual == NULL &&
		   node->ps_ProjInfo == NULL;
}

/* Of the sorter's parts, the one that the key belongs to. */
static inline SortFeed *
feed_of_key(SortFeed *feed, const uint64 *key)
{
	if (feed->parts == NULL)
		return feed;
	return &feed->parts[splitters_find(feed->sorter->parts->splitters, (const uint8 *) key,
									   feed->key->width)];
}

/*
 * Writes a row of the page as a MinimalTuple to dst, and what stands behind it up to a multiple of 8 bytes,
 * to which rows of a page are aligned.
 */
static inline void
write_row(char *dst, const HeapTupleHeaderData *row, uint32 length)
{
	const char *from = (const char *) row + MINIMAL_TUPLE_OFFSET;

	for (uint32 i = 0; i < length; i += sizeof(uint64))
		memcpy(dst + i, from + i, sizeof(uint64));
	((MinimalTuple) dst)->t_len = length;
}

/* False: it needs more than that. */
static inline bool
put_row(SortFeed *feed, TupleDesc desc, HeapTupleHeader row, uint32 length)
{
	uint64 key[KEY_MAX_WORDS];
	int width = feed->key->width;
	Size row_size = TYPEALIGN(8, (Size) length);
	Chunk *chunk;
	char *key_place;
	char *row_place;

	if (!sort_key_encode_stored(feed->key, desc, row, (uint8 *) key))
		return false;
	chunk = feed_of_key(feed, key)->chunk;
	if (chunk == NULL || !chunk_has_room(chunk, chunk_entry_size(width, true) + row_size))
		return false;
	key_place = chunk_reserve_fixed(chunk, width, row_size, &row_place);
	for (int i = 0; i < width; i += sizeof(uint64))
		memcpy(key_place + i, (const char *) key + i, sizeof(uint64));
	write_row(row_place, row, length);
	chunk_commit_fixed(chunk, width);
	return true;
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
		HeapTupleHeader row = (HeapTupleHeader) PageGetItem(page, item);

		__builtin_prefetch((const char *) row - PAGE_AHEAD);
		if (!put_row(feed, desc, row, ItemIdGetLength(item) - MINIMAL_TUPLE_OFFSET))
			break;
	}
	note_rows(scan, index - 1, index - first);
	sort_feed_note_progress(feed);
	return index - first;
}
