/*
 * files/verified_merge.c
 *		Merging runs by keys that guess at the order, and verifying it.
 *
 * To merge k runs by comparisons takes log2(k) of them a row.  Here rows are merged by their keys, into a
 * window, and verified there, which takes one.  That says that the rows of the window are in order; each run
 * is in order; so if no run's next row comes before the window's last one, which takes k comparisons a
 * window, none of the rows to come does, and the window can be handed out.
 *
 * Runs whose next rows do come before that one, as their keys guessed too high, have these taken out of turn
 * into the window.  If there is no room for them the guesses are worth nothing: the rest is merged by
 * comparisons, and with what the window holds.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "files/verified_merge.h"
#include "sort/verify.h"

/* What is filled of a window by the keys' order; the rest is for rows that are taken out of turn. */
#define FILLED_PART(size) ((size) / 4 * 3)

/* Records of a window, at most one for each of so many bytes: the least that one takes, with its item. */
#define RECORD_BYTES_MIN 48

struct VerifiedMerge
{
	Merger *merger;
	SortKeyComparer *comparer;
	SorterStats *stats;
	const RunReader *next; /* whose record comes next by the keys; NULL: none, or not started */
	bool started;
	bool by_comparisons; /* from now on */
	bool returned_next;	 /* then: was it handed out? */

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

	merger_guess(merger);
	merge->merger = merger;
	merge->comparer = comparer;
	merge->stats = stats;
	merge->room = memory / (RECORD_BYTES_MIN + sizeof(StringSortItem)) + 1;
	merge->size = memory - memory / (RECORD_BYTES_MIN + sizeof(StringSortItem)) * sizeof(StringSortItem);
	merge->items = MemoryContextAllocHuge(CurrentMemoryContext, merge->room * sizeof(StringSortItem));
	merge->buffer = MemoryContextAllocHuge(CurrentMemoryContext, merge->size);
	return merge;
}

void
verified_merge_end(VerifiedMerge *merge)
{
	merger_end(merge->merger);
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
has_room(const VerifiedMerge *merge, const RunReader *reader, Size bytes, uint64 items)
{
	return merge->used + record_size(reader) <= bytes && merge->nitems < items;
}

/* The first record of a window has room, however large it is. */
static void
make_room(VerifiedMerge *merge, const RunReader *reader)
{
	if (FILLED_PART(merge->size) >= record_size(reader))
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
	while (merge->next != NULL &&
		   has_room(merge, merge->next, FILLED_PART(merge->size), FILLED_PART(merge->room) + 1))
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

/* Adds what comes before the last row of the window; if there is no room for that it is not all. */
static void
add_late_records(VerifiedMerge *merge)
{
	const char *last = merge->items[merge->nitems - 1].record;

	for (int run = 0; run < merger_runs(merge->merger); run++)
	{
		const RunReader *reader = merger_reader(merge->merger, run);

		while (!reader->ended && comes_before(merge, reader, last))
		{
			if (!has_room(merge, reader, merge->size, merge->room))
			{
				merge->by_comparisons = true;
				return;
			}
			add_record(merge, reader);
			merger_take(merge->merger, run);
		}
	}
}

/* Puts the next rows of all, as far as they are known to be that, into the window. */
static void
make_window(VerifiedMerge *merge)
{
	uint64 in_turn;
	uint64 late;

	merge->used = merge->nitems = merge->at = 0;
	fill(merge);
	in_turn = merge->nitems;
	merge->stats->corrections += verify_items(merge->comparer, merge->items, in_turn);
	add_late_records(merge);
	late = merge->nitems - in_turn;
	if (late > 0)
	{
		(void) verify_items(merge->comparer, merge->items + in_turn, late);
		(void) verify_join(merge->comparer, merge->items, in_turn, merge->nitems);
		merge->stats->corrections += late;
	}
	if (late > 0 || merge->by_comparisons)
		merge->next = merger_choose_again(merge->merger, merge->by_comparisons ? merge->comparer : NULL);
}

/* ---------------------------------------------------------------- reading */

/* Is the window's next row the next one of all?  Where it was verified it is. */
static inline bool
window_comes_first(const VerifiedMerge *merge)
{
	if (merge->at == merge->nitems)
		return false;
	return !merge->by_comparisons || merge->next == NULL ||
		   !comes_before(merge, merge->next, merge->items[merge->at].record);
}

bool
verified_merge_next(VerifiedMerge *merge, MergedRecord *record)
{
	if (!merge->started)
	{
		merge->next = merger_next(merge->merger);
		merge->started = true;
	}
	else if (merge->returned_next)
	{
		merge->next = merger_next(merge->merger);
		merge->returned_next = false;
	}
	if (merge->at == merge->nitems && merge->next != NULL && !merge->by_comparisons)
		make_window(merge);
	if (window_comes_first(merge))
	{
		const char *next = merge->items[merge->at++].record;

		*record = (MergedRecord){record_row(next), record_key(next), record_key_length(next)};
		return true;
	}
	if (merge->next == NULL)
		return false;
	*record = (MergedRecord){merge->next->row, merge->next->key, merge->next->key_size};
	merge->returned_next = true;
	return true;
}
