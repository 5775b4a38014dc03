/*
 * leaf_page.h
 *		A leaf page of a PostgreSQL B-tree, filled by many workers at once: what a card does with a warp a
 *		page.
 *
 * The tuples have one length, and none is a posting list, so where everything stands in the file follows from
 * the tuples' numbers: every leaf but the last has as many as any other.  The functions run on the host, too,
 * where tests have a loop in place of a warp.
 *
 * A row is as gpusortd has it of a build: two words of 8 bytes, the first of which says its length, then the
 * index tuple: a word that has the tid (its offset doubled, as src/index/index_key.h marks it) and the
 * tuple's length, and a word a column.
 */
#ifndef LEAF_PAGE_H
#define LEAF_PAGE_H

#include <cstdint>

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

#define PAGE_BYTES 8192
#define PAGE_HEADER_BYTES 24
#define PAGE_SPECIAL (PAGE_BYTES - 16) /* where the links begin */
#define PAGE_LAYOUT_VERSION 4
#define PAGE_FILL_FACTOR 90

/* Fields of the header, in halves of a page's words, and of the links, in words. */
#define HEADER_CHECKSUM 4
#define HEADER_LOWER 6
#define HEADER_UPPER 7
#define HEADER_SPECIAL 8
#define HEADER_SIZE_VERSION 9
#define LINKS_PREVIOUS (PAGE_SPECIAL / 4)
#define LINKS_NEXT (PAGE_SPECIAL / 4 + 1)
#define LINKS_LEVEL (PAGE_SPECIAL / 4 + 2)
#define LINKS_FLAGS (PAGE_SPECIAL / 4 + 3)
#define FLAG_LEAF 1
#define FLAG_ROOT 2

#define LINE_POINTER_BYTES 4
#define ROW_HEADER_LONGS 2
#define TUPLE_LONGS_MAX 3
#define PIVOT_LONGS_MAX (TUPLE_LONGS_MAX + 1)

/* Of the first word of a tuple, from the lowest bits on: block, offset, length and flags. */
#define TUPLE_OFFSET_SHIFT 32
#define TUPLE_INFO_SHIFT 48
#define TUPLE_BLOCK_MASK UINT64_C(0xFFFFFFFF)
#define TUPLE_TID_MASK UINT64_C(0xFFFFFFFFFFFF)
#define PIVOT_INFO UINT64_C(0x2000) /* with the length */
/* with the number of columns, which is where the offset is elsewhere */
#define PIVOT_HAS_TID UINT64_C(0x1000)

#define CHECKSUM_COLUMNS 32
#define CHECKSUM_PRIME UINT32_C(16777619)

typedef union Page
{
	uint64_t longs[PAGE_BYTES / 8];
	uint32_t words[PAGE_BYTES / 4];
	uint16_t halves[PAGE_BYTES / 2];
} Page;

/* Rows in order, or in the order of their numbers. */
typedef struct LeafRows
{
	const uint64_t *longs;
	const uint32_t *order; /* NULL: as they stand */
	uint64_t n;
	int columns; /* of 8 bytes */
} LeafRows;

/* A leaf that is to be filled. */
typedef struct Leaf
{
	uint64_t first; /* row */
	int tuples;
	bool is_last;
	uint32_t previous; /* blocks; 0: none */
	uint32_t next;
	uint32_t flags;
} Leaf;

/* What tells a leaf's tuples from those of the next one. */
typedef struct Pivot
{
	int longs;
	uint64_t value[PIVOT_LONGS_MAX];
} Pivot;

/* ---- where tuples go ---- */

static inline HOST_DEVICE int
tuple_longs(int columns)
{
	return 1 + columns;
}

static inline HOST_DEVICE int
row_longs(int columns)
{
	return ROW_HEADER_LONGS + tuple_longs(columns);
}

/*
 * Must a leaf be turned before the next tuple?  So much is free besides that tuple's line pointer.  As in
 * PostgreSQL: the high key may need a tid more, and a tenth is spared once there are two tuples.
 */
static inline HOST_DEVICE bool
leaf_is_full(int free_bytes, int tuple_bytes, int tuples)
{
	return free_bytes < tuple_bytes + 8 ||
		   (free_bytes < PAGE_BYTES * (100 - PAGE_FILL_FACTOR) / 100 && tuples > 1);
}

/* The tuples of each leaf but the last: those that find room, but one, which moves to the next leaf. */
static inline int
leaf_capacity(int columns)
{
	int tuple_bytes = 8 * tuple_longs(columns);
	/* the high key's, the next one's */
	int free_bytes = PAGE_SPECIAL - PAGE_HEADER_BYTES - 2 * LINE_POINTER_BYTES;
	int tuples = 0;

	for (; !leaf_is_full(free_bytes, tuple_bytes, tuples); tuples++)
		free_bytes -= tuple_bytes + LINE_POINTER_BYTES;
	return tuples - 1;
}

/* The leaves of n rows, of which the last one may have one more than the others. */
static inline uint64_t
leaf_count(uint64_t n, int capacity)
{
	return n <= 1 ? n : (n - 2) / capacity + 1;
}

/* Leaf number i of so many; the file's block 0 is the metapage, then come the leaves. */
static inline HOST_DEVICE Leaf
leaf_of_index(uint64_t i, uint64_t leaves, uint64_t n, int capacity)
{
	Leaf leaf;

	leaf.first = i * capacity;
	leaf.is_last = i + 1 == leaves;
	leaf.tuples = leaf.is_last ? (int) (n - leaf.first) : capacity;
	leaf.previous = (uint32_t) i;
	leaf.next = leaf.is_last ? 0 : (uint32_t) i + 2;
	leaf.flags = leaves == 1 ? FLAG_LEAF | FLAG_ROOT : FLAG_LEAF;
	return leaf;
}

/* ---- tuples ---- */

/* The words of the row that is number i in the order, without the header. */
static inline HOST_DEVICE const uint64_t *
leaf_row(const LeafRows &rows, uint64_t i)
{
	uint64_t row = rows.order ? rows.order[i] : i;

	return rows.longs + row * row_longs(rows.columns) + ROW_HEADER_LONGS;
}

/* The first word of a tuple, its tid no longer marked. */
static inline HOST_DEVICE uint64_t
tuple_unmark(uint64_t word)
{
	uint64_t offset = word >> TUPLE_OFFSET_SHIFT & 0xFFFF;

	return (word & ~(UINT64_C(0xFFFF) << TUPLE_OFFSET_SHIFT)) | offset >> 1 << TUPLE_OFFSET_SHIFT;
}

/*
 * The fewest columns of the right tuple that tell it from the left one, and if all are equal the left tid.
 * left_word is the left tuple's first word, its tid not marked.
 */
static inline HOST_DEVICE Pivot
pivot_between(uint64_t left_word, const uint64_t *left, const uint64_t *right, int columns)
{
	Pivot pivot = {};
	int kept = 1;
	bool has_tid;

	while (kept <= columns && left[kept] == right[kept])
		kept++;
	has_tid = kept > columns;
	if (has_tid)
		kept = columns;
	pivot.longs = tuple_longs(kept) + (has_tid ? 1 : 0);
	pivot.value[0] = (right[0] & TUPLE_BLOCK_MASK) |
					 (kept | (has_tid ? PIVOT_HAS_TID : 0)) << TUPLE_OFFSET_SHIFT |
					 (8 * pivot.longs | PIVOT_INFO) << TUPLE_INFO_SHIFT;
	for (int i = 1; i <= kept; i++)
		pivot.value[i] = right[i];
	if (has_tid)
		pivot.value[kept + 1] = (left_word & TUPLE_TID_MASK) << 16;
	return pivot;
}

static inline HOST_DEVICE uint32_t
line_pointer(int place, int bytes)
{
	return (uint32_t) place | UINT32_C(1) << 15 | (uint32_t) bytes << 17;
}

/* ---- a page by many workers ---- */

/* The header and the links. */
static inline HOST_DEVICE void
leaf_frame(Page *page, const Leaf &leaf, int lower, int upper)
{
	for (int i = 0; i < PAGE_HEADER_BYTES / 8; i++)
		page->longs[i] = 0;
	page->halves[HEADER_LOWER] = (uint16_t) lower;
	page->halves[HEADER_UPPER] = (uint16_t) upper;
	page->halves[HEADER_SPECIAL] = PAGE_SPECIAL;
	page->halves[HEADER_SIZE_VERSION] = PAGE_BYTES | PAGE_LAYOUT_VERSION;
	page->words[LINKS_PREVIOUS] = leaf.previous;
	page->words[LINKS_NEXT] = leaf.next;
	page->words[LINKS_LEVEL] = 0;
	page->words[LINKS_FLAGS] = leaf.flags;
}

/* What tells the leaf from the next one; nothing, if there is none. */
static inline HOST_DEVICE Pivot
leaf_high_key(const LeafRows &rows, const Leaf &leaf)
{
	const uint64_t *left = leaf_row(rows, leaf.first + leaf.tuples - 1);
	Pivot none = {};

	if (leaf.is_last)
		return none;
	return pivot_between(tuple_unmark(left[0]), left, leaf_row(rows, leaf.first + leaf.tuples), rows.columns);
}

/* A page's tuple number i from the front. */
static inline HOST_DEVICE void
leaf_put_tuple(Page *page, const uint64_t *row, int pointer, int place, int longs)
{
	page->words[pointer / 4] = line_pointer(place, 8 * longs);
	page->longs[place / 8] = tuple_unmark(row[0]);
	for (int i = 1; i < longs; i++)
		page->longs[place / 8 + i] = row[i];
}

/*
 * Fills a page's part of one of some workers; the checksum is 0.  The page is complete when all have done
 * that.
 */
static inline HOST_DEVICE void
leaf_fill(Page *page, const LeafRows &rows, const Leaf &leaf, int worker, int workers)
{
	int longs = tuple_longs(rows.columns);
	Pivot high_key = leaf_high_key(rows, leaf);
	int first_pointer = PAGE_HEADER_BYTES + (leaf.is_last ? 0 : LINE_POINTER_BYTES);
	int lower = first_pointer + LINE_POINTER_BYTES * leaf.tuples;
	int upper = PAGE_SPECIAL - 8 * longs * leaf.tuples - 8 * high_key.longs;

	if (worker == 0)
	{
		leaf_frame(page, leaf, lower, upper);
		if (!leaf.is_last)
			page->words[PAGE_HEADER_BYTES / 4] = line_pointer(upper, 8 * high_key.longs);
		/* Up to a constant, for a card keeps what is indexed by a variable in slow memory. */
		for (int i = 0; i < PIVOT_LONGS_MAX; i++)
		{
			if (i < high_key.longs)
				page->longs[upper / 8 + i] = high_key.value[i];
		}
	}
	for (int i = lower / 4 + worker; i < upper / 4; i += workers)
		page->words[i] = 0;
	for (int i = worker; i < leaf.tuples; i += workers)
		leaf_put_tuple(page, leaf_row(rows, leaf.first + i), first_pointer + LINE_POINTER_BYTES * i,
					   PAGE_SPECIAL - 8 * longs * (i + 1), longs);
}

/* ---- checksums ---- */

static inline HOST_DEVICE uint32_t
checksum_mix(uint32_t sum, uint32_t word)
{
	uint32_t mixed = sum ^ word;

	return mixed * CHECKSUM_PRIME ^ mixed >> 17;
}

/* What a column begins with in PostgreSQL's format. */
static inline HOST_DEVICE uint32_t
checksum_begin(int column)
{
	static const uint32_t begin[CHECKSUM_COLUMNS] = {0x5B1F36E9, 0xB8525960, 0x02AB50AA, 0x1DE66D2A,
													 0x79FF467A, 0x9BB9F8A3, 0x217E7CD2, 0x83E13D2C,
													 0xF8D4474F, 0xE39EB970, 0x42C6AE16, 0x993216FA,
													 0x7B093B5D, 0x98DAFF3C, 0xF718902A, 0x0B1C9CDB,
													 0xE58F764B, 0x187636BC, 0x5D7B3BB1, 0xE73DE7DE,
													 0x92BEC979, 0xCCA6C0B2, 0x304A0979, 0x85AA43D4,
													 0x783125BB, 0x6CA8EAA2, 0xE407EAC6, 0x4B5CFC3E,
													 0x9FBF8C76, 0x15CA20BE, 0xF2CA9FD3, 0x959BD756};

	return begin[column];
}

/* One of the CHECKSUM_COLUMNS columns of a page, whose own field for the checksum is 0. */
static inline HOST_DEVICE uint32_t
checksum_column(const Page *page, int column)
{
	uint32_t sum = checksum_begin(column);

	for (int row = 0; row < PAGE_BYTES / 4 / CHECKSUM_COLUMNS; row++)
		sum = checksum_mix(sum, page->words[row * CHECKSUM_COLUMNS + column]);
	return checksum_mix(checksum_mix(sum, 0), 0);
}

/* The checksum of a page, of all its columns' exclusive or. */
static inline HOST_DEVICE uint16_t
checksum_finish(uint32_t sums, uint32_t block)
{
	return (uint16_t) ((sums ^ block) % 65535 + 1);
}

#endif /* LEAF_PAGE_H */
