/*
 * host_pages.cu
 *		Leaf pages filled one tuple after the other.
 */
#include <cstring>

#include "leaf_pages/host_pages.h"

/* A leaf in the making. */
typedef struct Filling
{
	Page *page;
	uint64_t leaf; /* its number */
	int lower;
	int upper;
	int tuples;
	bool with_checksums;
} Filling;

static void
begin_leaf(Filling *filling)
{
	Page *page = filling->page;

	memset(page, 0, PAGE_BYTES);
	page->halves[HEADER_SPECIAL] = PAGE_SPECIAL;
	page->halves[HEADER_SIZE_VERSION] = PAGE_BYTES | PAGE_LAYOUT_VERSION;
	page->words[LINKS_PREVIOUS] = (uint32_t) filling->leaf;
	page->words[LINKS_FLAGS] = FLAG_LEAF;
	filling->lower = PAGE_HEADER_BYTES + LINE_POINTER_BYTES; /* the high key's */
	filling->upper = PAGE_SPECIAL;
	filling->tuples = 0;
}

/* Takes space for a tuple, whose line pointer is there. */
static inline void
store_tuple(Filling *filling, int pointer, const uint64_t *tuple, int longs)
{
	filling->upper -= 8 * longs;
	filling->page->words[pointer / 4] = line_pointer(filling->upper, 8 * longs);
	for (int i = 0; i < longs; i++)
		filling->page->longs[filling->upper / 8 + i] = tuple[i];
}

static inline void
append_tuple(Filling *filling, const uint64_t *tuple, int longs)
{
	store_tuple(filling, filling->lower, tuple, longs);
	filling->lower += LINE_POINTER_BYTES;
	filling->tuples++;
}

/* Takes the last tuple back. */
static void
take_last(Filling *filling, uint64_t *tuple, int longs)
{
	uint64_t *place = filling->page->longs + filling->upper / 8;

	memcpy(tuple, place, 8 * longs);
	memset(place, 0, 8 * longs);
	filling->upper += 8 * longs;
	filling->lower -= LINE_POINTER_BYTES;
	filling->page->words[filling->lower / 4] = 0;
}

/* Writes the header; the page is complete. */
static void
end_leaf(Filling *filling)
{
	filling->page->halves[HEADER_LOWER] = (uint16_t) filling->lower;
	filling->page->halves[HEADER_UPPER] = (uint16_t) filling->upper;
	if (filling->with_checksums)
		filling->page->halves[HEADER_CHECKSUM] = host_checksum(filling->page, (uint32_t) filling->leaf + 1);
	filling->page++;
	filling->leaf++;
}

/* The leaf is full: its last tuple tells it from the next one, and is the first one there. */
static void
turn_leaf(Filling *filling, int columns, uint64_t *moving)
{
	const uint64_t *left;
	Pivot pivot;

	take_last(filling, moving, tuple_longs(columns));
	left = filling->page->longs + filling->upper / 8;
	pivot = pivot_between(left[0], left, moving, columns);
	store_tuple(filling, PAGE_HEADER_BYTES, pivot.value, pivot.longs);
	filling->page->words[LINKS_NEXT] = (uint32_t) filling->leaf + 2;
	end_leaf(filling);
}

/* The index's last leaf has no high key, and is the root if it is the only one. */
static void
end_last_leaf(Filling *filling)
{
	char *pointers = (char *) filling->page + PAGE_HEADER_BYTES;

	memmove(pointers, pointers + LINE_POINTER_BYTES, filling->tuples * LINE_POINTER_BYTES);
	filling->lower -= LINE_POINTER_BYTES;
	filling->page->words[filling->lower / 4] = 0;
	if (filling->leaf == 0)
		filling->page->words[LINKS_FLAGS] |= FLAG_ROOT;
	end_leaf(filling);
}

static inline bool
is_full(const Filling *filling, int longs)
{
	return leaf_is_full(filling->upper - filling->lower - LINE_POINTER_BYTES, 8 * longs, filling->tuples);
}

int
host_fill_leaves(const LeafRows &rows, uint64_t first, int nleaves, bool with_checksums, Page *pages)
{
	int longs = tuple_longs(rows.columns);
	uint64_t end = first + nleaves;
	uint64_t tuple[TUPLE_LONGS_MAX];
	Filling filling = {};

	filling.page = pages;
	filling.leaf = first;
	filling.with_checksums = with_checksums;
	begin_leaf(&filling);
	for (uint64_t i = 0; i < rows.n; i++)
	{
		const uint64_t *row = leaf_row(rows, i);

		if (is_full(&filling, longs))
		{
			turn_leaf(&filling, rows.columns, tuple);
			if (filling.leaf == end)
				return nleaves;
			begin_leaf(&filling);
			append_tuple(&filling, tuple, longs);
		}
		tuple[0] = tuple_unmark(row[0]);
		for (int word = 1; word < longs; word++)
			tuple[word] = row[word];
		append_tuple(&filling, tuple, longs);
	}
	end_last_leaf(&filling);
	return (int) (filling.leaf - first);
}

uint16_t
host_checksum(const Page *page, uint32_t block)
{
	Page copy = *page;
	uint32_t sums[CHECKSUM_COLUMNS];
	uint32_t all = 0;

	copy.halves[HEADER_CHECKSUM] = 0;
	for (int column = 0; column < CHECKSUM_COLUMNS; column++)
		sums[column] = checksum_begin(column);
	for (int row = 0; row < PAGE_BYTES / 4; row += CHECKSUM_COLUMNS)
	{
		for (int column = 0; column < CHECKSUM_COLUMNS; column++)
			sums[column] = checksum_mix(sums[column], copy.words[row + column]);
	}
	for (int column = 0; column < CHECKSUM_COLUMNS; column++)
		all ^= checksum_mix(checksum_mix(sums[column], 0), 0);
	return checksum_finish(all, block);
}
