/*
 * files/verified_merge.c
 *		Merging runs by keys that guess at the order, and verifying it.
 *
 * To merge k runs by comparisons takes log2(k) of them a row.  Here rows are merged by their keys, into a
 * window, and verified there, which takes one.  That says that the rows of the window are in order; each run
 * is in order; so if no run's next row comes before the window's last one, which takes k comparisons a
 * window, none of the rows to come does, and the window can be handed out.
 *
 * If some run's next row does, as its key guessed too high, the window is merged with the runs' rows by
 * comparisons until it is empty.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "files/verified_merge.h"
#include "sort/record.h"
#include "sort/verify.h"

/* Records of a window, at most one for each of so many bytes: the least that one takes, with its item. */
#define RECORD_BYTES_MIN 48

struct VerifiedMerge
{
	Merger *merger;
	SortKeyComparer *comparer;
	SorterStats *stats;
	const RunReader *next; /* whose record comes next and is not in the window; NULL: none, or not started */
	bool next_is_read;	   /* it was handed out, or there was none yet */
	bool by_comparisons;   /* some record that is not in the window comes before its last one */

	/* The window. */
	char *buffer; /* records */
	Size size;
	Size used;
	StringSortItem *items; /* of them */
	uint64 room;
	uint64 nitems;
	uint64 at; /* those before it were handed out */
};

VerifiedMerge *
verified_merge_create(Merger *merger, SortKeyComparer *comparer, Size memory, SorterStats *stats)
{
	VerifiedMerge *merge = palloc0(sizeof(VerifiedMerge));

	merge->merger = merger;
	merge->comparer = comparer;
	merge->stats = stats;
	merge->next_is_read = true;
	merge->room = memory / (RECORD_BYTES_MIN + sizeof(StringSortItem)) + 1;
	merge->size = memory - memory / (RECORD_BYTES_MIN + sizeof(StringSortItem)) * sizeof(StringSortItem);
	merge->items = MemoryContextAllocHuge(CurrentMemoryContext, merge->room * sizeof(StringSortItem));
	merge->buffer = MemoryContextAllocHuge(CurrentMemoryContext, merge->size);
	return merge;
}

void
verified_merge_end(VerifiedMerge *merge)
{
	pfree(merge->buffer);
	pfree(merge->items);
	pfree(merge);
}

/* ---------------------------------------------------------------- the window */

/* Bytes of a run's record in the window. */
static inline Size
record_size(const RunReader *reader)
{
	return RECORD_HEADER_SIZE + TYPEALIGN(8, reader->key_size) + MAXALIGN(reader->row->t_len);
}

static inline bool
has_room(const VerifiedMerge *merge, const RunReader *reader)
{
	return merge->used + record_size(reader) <= merge->size && merge->nitems < merge->room;
}

/* The first record of a window has room, however large it is. */
static void
make_room(VerifiedMerge *merge, const RunReader *reader)
{
	if (merge->size >= record_size(reader))
		return;
	pfree(merge->buffer);
	merge->size = 2 * record_size(reader);
	merge->buffer = MemoryContextAllocHuge(GetMemoryChunkContext(merge), merge->size);
}

static inline void
add_record(VerifiedMerge *merge, const RunReader *reader)
{
	char *record = merge->buffer + merge->used;

	*(uint64 *) record = reader->key_size;
	memcpy(record + RECORD_HEADER_SIZE, reader->key, reader->key_size);
	memcpy(record_row(record), reader->row, reader->row->t_len);
	merge->items[merge->nitems++] = (StringSortItem){.record = record};
	merge->used += record_size(reader);
}

/* Fills the window in the order of the keys. */
static void
fill(VerifiedMerge *merge)
{
	make_room(merge, merge->next);
	while (merge->next != NULL && has_room(merge, merge->next))
	{
		add_record(merge, merge->next);
		merge->next = merger_next(merge->merger);
	}
}

static bool
comes_before(const VerifiedMerge *merge, const RunReader *reader, const char *record)
{
	return sort_key_compare(merge->comparer, (const uint8 *) reader->key, reader->key_size,
							(const uint8 *) record_key(record), record_key_length(record)) < 0;
}

/* Puts the next records by the keys, of which there are some, into the window. */
static void
make_window(VerifiedMerge *merge)
{
	const char *last;

	if (merge->by_comparisons)
		merge->next = merger_choose_again(merge->merger, true);
	merge->used = merge->nitems = merge->at = 0;
	fill(merge);
	merge->stats->corrections += verify_items(merge->comparer, merge->items, merge->nitems);
	last = merge->items[merge->nitems - 1].record;
	merge->by_comparisons =
		merger_has_before(merge->merger, (const uint8 *) record_key(last), record_key_length(last));
	if (merge->by_comparisons)
		merge->next = merger_choose_again(merge->merger, false);
}

/* ---------------------------------------------------------------- reading */

StoredRow
verified_merge_next(VerifiedMerge *merge)
{
	if (merge->next_is_read)
		merge->next = merger_next(merge->merger);
	merge->next_is_read = false;
	if (merge->at == merge->nitems && merge->next != NULL)
		make_window(merge);
	if (merge->at == merge->nitems)
		return NULL;
	if (merge->by_comparisons && merge->next != NULL &&
		comes_before(merge, merge->next, merge->items[merge->at].record))
	{
		merge->stats->corrections++;
		merge->next_is_read = true;
		return merge->next->row;
	}
	return record_row(merge->items[merge->at++].record);
}
