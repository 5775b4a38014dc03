/*
 * sort/string_sort.c
 *		Sort of variable keys in host memory, eight bytes at a time.
 *
 * The entries of the chunks hold the first 8 bytes, so the first sort is that of one-word fixed keys and
 * touches no record.  Then comes every segment, a run of items whose keys agree in all bytes so far:
 *	  skip				the longest common prefix, in one comparison of whole keys
 *	  load words		the next 8 bytes of each key, prefetched: these cache misses are the cost
 *	  sort				by the words just loaded; the runs of equal words are the next segments
 * and a segment is finished when it is one item, or all of its keys have ended.  Where the words themselves
 * show that (SortKeyEnds), as they do of strings, it is finished before a record is read: so repeated strings
 * cost no more than different ones.
 *
 * That would go over a staircase, keys that leave a common prefix one after the other as in a, aa, aaa, once
 * for every few steps.  It is sorted by where each key leaves one of the longest instead, in one round: those
 * that are less than it there come first, the earlier they leave it the earlier, then the others the other
 * way round.  Keys that leave it in the same place are the next segments.
 *
 * Segments that wait are on an explicit stack.  They share no item and hold more than SORT_SMALL_SEGMENT
 * each, so their number is bounded; the small ones are sorted at once, by insertion.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "key/ends.h"
#include "memory/alloc.h"
#include "sort/key_squeeze.h"
#include "sort/record.h"
#include "sort/sample_sort.h"
#include "sort/string_sort.h"
#include "sort/tuning.h"

#define WORD_BYTES sizeof(uint64)
#define NO_DEPTH (~UINT64CONST(0))

/* A StringSortItem, as the sample sort knows it. */
static const SortItemKind word_item = {1, true};

/* Keys that agree in their first depth bytes. */
typedef struct Segment
{
	StringSortItem *items;
	uint64 nitems;
	uint64 depth; /* a multiple of WORD_BYTES */
} Segment;

struct StringSorter
{
	SampleSorter *words; /* sorts by words */
	SortKeyEnds ends;
	Segment *waiting; /* a stack */
	uint64 nwaiting;
};

/*
 * place: of the word that is wanted, behind the start of the key (word_place).  Where that is the first item
 * of a segment tells of all.
 */
static inline void
prefetch_key(const StringSortItem *item, uint64 place)
{
	__builtin_prefetch(item->record);
	__builtin_prefetch(record_key(item->record) + place);
}

static inline uint64
word_place(const StringSortItem *item, uint64 depth)
{
	return depth + (depth < record_head_size(item->record) ? 0 : record_tail_shift(item->record));
}

/* ---------------------------------------------------------------- words */

uint64
record_key_agreement(const char *a, const char *b, uint64 depth, uint64 end)
{
	for (; depth < end; depth += WORD_BYTES)
	{
		if (record_key_word(a, depth) != record_key_word(b, depth))
			return depth;
		if (depth % (SORT_BLOCK * WORD_BYTES) == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return end;
}

/*
 * The first depth, from the given one on, where some key's word differs from the first item's, among every
 * step-th item; NO_DEPTH if there is none before longest.  Each key is read once, as far as it agrees.
 */
static uint64
common_depth(const StringSortItem *items, uint64 n, uint64 step, uint64 depth, uint64 longest)
{
	uint64 common = longest;
	uint64 place = word_place(items, depth);

	for (uint64 i = step; i < n && common > depth; i += step)
	{
		if (i + SORT_PREFETCH_DISTANCE / 4 < n)
			prefetch_key(&items[i + SORT_PREFETCH_DISTANCE / 4], place);
		common = record_key_agreement(items[i].record, items[0].record, depth, common);
		if (i % SORT_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return common < longest ? common : NO_DEPTH;
}

/*
 * Loads the words at the depth guess, where keys that agree from depth on are expected to differ first, and
 * finds the longest key, and whether the words differ.  Returns the depth up to which all keys do agree, at
 * most guess; if it is less, the words are undefined.
 */
static uint64
load_words(StringSortItem *items, uint64 n, uint64 depth, uint64 guess, uint64 *longest, bool *distinct)
{
	uint64 differs = 0;
	uint64 place = word_place(items, guess);

	*longest = 0;
	for (uint64 i = 0; i < n; i++)
	{
		const char *record = items[i].record;

		if (i + SORT_PREFETCH_DISTANCE < n)
			prefetch_key(&items[i + SORT_PREFETCH_DISTANCE], place);
		if (guess > depth)
			guess = record_key_agreement(record, items[0].record, depth, guess);
		items[i].word = record_key_word(record, guess);
		differs |= items[i].word ^ items[0].word;
		*longest = Max(*longest, record_key_length(record));
		if (i % SORT_BLOCK == SORT_BLOCK - 1)
			CHECK_FOR_INTERRUPTS();
	}
	*distinct = differs != 0;
	return guess;
}

/* The depth where a few keys of a segment begin to differ, or the given one if they don't. */
static uint64
guess_depth(const StringSortItem *items, uint64 n, uint64 depth)
{
	uint64 guess =
		common_depth(items, n, n / SORT_PREFIX_SAMPLE + 1, depth, record_key_length(items[0].record));

	return guess == NO_DEPTH ? depth : guess;
}

/*
 * Loads the words of a segment at the first depth, from the given one on, where they are not all equal.
 * Returns this depth, or NO_DEPTH if all keys are equal.
 *
 * Records are read as seldom as can be: a few of them told how long the common prefix may be, the guess, and
 * one pass over all checks this and loads the words behind it.
 */
static uint64
load_distinct_words(StringSortItem *items, uint64 n, uint64 depth, uint64 guess)
{
	uint64 longest;
	bool distinct;

	for (;;)
	{
		uint64 agreed = load_words(items, n, depth, guess, &longest, &distinct);

		if (agreed < guess)
			load_words(items, n, agreed, agreed, &longest, &distinct);
		if (distinct)
			return agreed;
		depth = agreed + WORD_BYTES;
		if (longest <= depth)
			return NO_DEPTH;
		guess = common_depth(items, n, 1, depth, longest);
		if (guess == NO_DEPTH)
			return NO_DEPTH;
		depth = guess;
	}
}

/* ---------------------------------------------------------------- staircases */

/* The word of a key that doesn't leave the pivot at all. */
#define AGREES_ALL (UINT64CONST(1) << 63)

/* The longest of the samples of a segment. */
static const char *
longest_sample(const Segment *segment, uint64 step)
{
	const char *longest = segment->items[0].record;

	for (uint64 i = step; i < segment->nitems; i += step)
	{
		if (record_key_length(segment->items[i].record) > record_key_length(longest))
			longest = segment->items[i].record;
	}
	return longest;
}

/*
 * If the keys of a segment leave one of the longest at many depths, far behind the first of them, guess: that
 * one; else NULL.
 */
static const char *
find_staircase(const Segment *segment, uint64 guess)
{
	uint64 step = segment->nitems / SORT_PREFIX_SAMPLE + 1;
	uint64 from = guess + SORT_STAIRCASE_BYTES;
	uint64 depths[SORT_STAIRCASE_STEPS];
	int ndepths = 0;
	const char *pivot;
	uint64 end;

	if (segment->nitems < SORT_STAIRCASE_MIN)
		return NULL;
	pivot = longest_sample(segment, step);
	if (record_key_length(pivot) <= from)
		return NULL;
	end = Min(record_key_length(pivot), guess + SORT_STAIRCASE_REACH);
	for (uint64 i = 0; i < segment->nitems && ndepths < SORT_STAIRCASE_STEPS; i += step)
	{
		uint64 depth = record_key_agreement(segment->items[i].record, pivot, guess, end);
		bool is_new = depth >= from && depth < end;

		for (int j = 0; j < ndepths; j++)
			is_new &= depths[j] != depth;
		if (is_new)
			depths[ndepths++] = depth;
	}
	return ndepths == SORT_STAIRCASE_STEPS ? pivot : NULL;
}

/* Loads words that order keys by where they leave the pivot, and on which side. */
static void
load_agreements(const Segment *segment, const char *pivot)
{
	uint64 place = word_place(segment->items, segment->depth);

	for (uint64 i = 0; i < segment->nitems; i++)
	{
		StringSortItem *item = &segment->items[i];
		uint64 longest = Max(record_key_length(item->record), record_key_length(pivot));
		uint64 depth;

		if (i + SORT_PREFETCH_DISTANCE < segment->nitems)
			prefetch_key(&segment->items[i + SORT_PREFETCH_DISTANCE], place);
		depth = record_key_agreement(item->record, pivot, segment->depth, longest);
		if (depth >= longest)
			item->word = AGREES_ALL;
		else if (record_key_word(item->record, depth) < record_key_word(pivot, depth))
			item->word = depth;
		else
			item->word = ~depth;
		if (i % SORT_BLOCK == SORT_BLOCK - 1)
			CHECK_FOR_INTERRUPTS();
	}
}

/* The depth up to which keys of this word agree, where words are those of load_agreements. */
static inline uint64
agreed_depth(uint64 word)
{
	return word < AGREES_ALL ? word : ~word;
}

/* ---------------------------------------------------------------- runs */

/* Sorts two items. */
static void
sort_pair(StringSortItem *items, uint64 depth)
{
	uint64 longest = Max(record_key_length(items[0].record), record_key_length(items[1].record));

	depth = record_key_agreement(items[0].record, items[1].record, depth, longest);
	if (depth < longest && record_key_word(items[0].record, depth) > record_key_word(items[1].record, depth))
	{
		StringSortItem first = items[0];

		items[0] = items[1];
		items[1] = first;
	}
}

/*
 * Sorts a segment of at most SORT_SMALL_SEGMENT items.  It recurses into strictly smaller segments alone,
 * since words are loaded where not all are equal.
 */
static void
sort_small_segment(StringSortItem *items, int n, uint64 depth)
{
	int end;

	CHECK_FOR_INTERRUPTS();
	if (n == 2)
	{
		sort_pair(items, depth);
		return;
	}
	depth = load_distinct_words(items, n, depth, depth);
	if (depth == NO_DEPTH)
		return;

	for (int i = 1; i < n; i++)
	{
		StringSortItem item = items[i];
		int j = i;

		for (; j > 0 && items[j - 1].word > item.word; j--)
			items[j] = items[j - 1];
		items[j] = item;
	}
	for (int start = 0; start < n; start = end)
	{
		for (end = start + 1; end < n && items[end].word == items[start].word; end++)
			;
		if (end - start > 1)
			sort_small_segment(items + start, end - start, depth + WORD_BYTES);
	}
}

/*
 * Finds the runs of equal words in items sorted by the words at depth, or by those of load_agreements if that
 * is NO_DEPTH.  Large ones are put on the stack; small ones are sorted a few runs later, when their records,
 * fetched at once, have arrived.
 */
static void
sort_runs(StringSorter *sorter, StringSortItem *items, uint64 n, uint64 depth)
{
	Segment fetched[SORT_FETCHED_SEGMENTS];
	uint64 nfetched = 0;
	bool by_agreement = depth == NO_DEPTH;
	bool first = depth == 0;
	uint64 place;
	uint64 end;

	if (!by_agreement)
		depth += WORD_BYTES;
	for (uint64 start = 0; start < n; start = end)
	{
		uint64 word = items[start].word;
		Segment *segment;

		for (end = start + 1; end < n && items[end].word == word; end++)
		{
			if (end % SORT_COPY_BLOCK == 0)
				CHECK_FOR_INTERRUPTS();
		}
		if (start / SORT_COPY_BLOCK != end / SORT_COPY_BLOCK)
			CHECK_FOR_INTERRUPTS();
		if (end - start == 1 ||
			(by_agreement ? word == AGREES_ALL : sort_key_word_ends(sorter->ends, word, first)))
			continue;

		if (by_agreement)
			depth = agreed_depth(word);
		if (end - start > SORT_SMALL_SEGMENT)
			segment = &sorter->waiting[sorter->nwaiting++];
		else
		{
			segment = &fetched[nfetched % SORT_FETCHED_SEGMENTS];
			if (nfetched++ >= SORT_FETCHED_SEGMENTS)
				sort_small_segment(segment->items, segment->nitems, segment->depth);
			place = word_place(items, depth);
			for (uint64 i = start; i < end; i++)
				prefetch_key(&items[i], place);
		}
		segment->items = items + start;
		segment->nitems = end - start;
		segment->depth = depth;
	}
	for (uint64 i = 0; i < Min(nfetched, SORT_FETCHED_SEGMENTS); i++)
		sort_small_segment(fetched[i].items, fetched[i].nitems, fetched[i].depth);
}

/* ---------------------------------------------------------------- the sort */

static void
sort_waiting(StringSorter *sorter)
{
	while (sorter->nwaiting > 0)
	{
		Segment segment = sorter->waiting[--sorter->nwaiting];
		uint64 guess = guess_depth(segment.items, segment.nitems, segment.depth);
		const char *pivot = find_staircase(&segment, guess);
		uint64 depth = NO_DEPTH;

		if (pivot != NULL)
			load_agreements(&segment, pivot);
		else
			depth = load_distinct_words(segment.items, segment.nitems, segment.depth, guess);
		if (pivot == NULL && depth == NO_DEPTH)
			continue;
		sample_sorter_sort(sorter->words, segment.items, segment.nitems, 0);
		sort_runs(sorter, segment.items, segment.nitems, depth);
	}
}

static uint64
max_waiting(uint64 nrows)
{
	return nrows / (SORT_SMALL_SEGMENT + 1) + 1;
}

Size
string_sort_scratch_size(uint64 nrows)
{
	return sizeof(StringSorter) + sample_sort_scratch_size(nrows, word_item) +
		   max_waiting(nrows) * sizeof(Segment);
}

StringSorter *
string_sorter_create(uint64 max_items, SortKeyEnds ends)
{
	StringSorter *sorter = palloc(sizeof(StringSorter));

	Assert(sizeof(StringSortItem) == sort_item_size(word_item));

	sorter->words = sample_sorter_create(max_items, word_item);
	sorter->ends = ends;
	sorter->waiting = huge_alloc(max_waiting(max_items) * sizeof(Segment));
	sorter->nwaiting = 0;
	return sorter;
}

void
string_sorter_free(StringSorter *sorter)
{
	huge_free(sorter->waiting);
	sample_sorter_free(sorter->words);
	pfree(sorter);
}

void
string_sorter_sort(StringSorter *sorter, StringSortItem *items, uint64 nitems, uint64 depth, bool loaded)
{
	if (loaded)
	{
		sample_sorter_sort(sorter->words, items, nitems, 0);
		sort_runs(sorter, items, nitems, depth);
	}
	else if (nitems > SORT_SMALL_SEGMENT)
		sorter->waiting[sorter->nwaiting++] = (Segment){items, nitems, depth};
	else if (nitems > 1)
		sort_small_segment(items, nitems, depth);
	sort_waiting(sorter);
}

void
string_sort_chunks(const Chunk *chunks, uint64 nrows, SortKeyEnds ends, StringSortItem *items)
{
	StringSorter *sorter = string_sorter_create(nrows, ends);
	KeySqueeze first_word;

	key_squeeze_plan_identity(&first_word, 1);
	sample_sorter_sort_chunks(sorter->words, chunks, nrows, &first_word, items);
	sort_runs(sorter, items, nrows, 0);
	sort_waiting(sorter);
	string_sorter_free(sorter);
}
