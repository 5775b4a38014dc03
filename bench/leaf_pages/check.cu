/*
 * check.cu
 *		Are the pages right?
 */
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "leaf_pages/card.h"
#include "leaf_pages/check.h"
#include "leaf_pages/host_pages.h"

#define EMULATED_WORKERS 32

/* Leaves of a window on the card, few, so that checks have several. */
#define CHECK_WINDOW_LEAVES 5

#define METAPAGE_MAGIC UINT32_C(0x53162)
#define FLAGS_MASK 0xFFFF
#define POINTER_PLACE(pointer) ((pointer) &0x7FFF)
#define POINTER_BYTES(pointer) ((pointer) >> 17)

typedef std::vector<Page> Pages;

/* ---- several workers against one ---- */

/* One worker after the other, as a warp does it at once. */
static void
fill_by_workers(const LeafRows &rows, const Leaf &leaf, uint32_t block, bool with_checksum, Page *page)
{
	uint32_t sums = 0;

	/* Whatever stood there must not matter. */
	memset(page, 0xAA, sizeof(Page));
	for (int worker = EMULATED_WORKERS - 1; worker >= 0; worker--)
		leaf_fill(page, rows, leaf, worker, EMULATED_WORKERS);
	for (int column = 0; with_checksum && column < CHECKSUM_COLUMNS; column++)
		sums ^= checksum_column(page, column);
	if (with_checksum)
		page->halves[HEADER_CHECKSUM] = checksum_finish(sums, block);
}

static Pages
pages_of_workers(const LeafRows &rows, bool with_checksums)
{
	int capacity = leaf_capacity(rows.columns);
	Pages pages(leaf_count(rows.n, capacity));

	for (uint64_t i = 0; i < pages.size(); i++)
		fill_by_workers(rows, leaf_of_index(i, pages.size(), rows.n, capacity), (uint32_t) i + 1,
						with_checksums, &pages[i]);
	return pages;
}

/* All in one go: nothing of where leaves begin is known beforehand. */
static Pages
pages_of_host(const LeafRows &rows, bool with_checksums)
{
	Pages pages(rows.n / leaf_capacity(rows.columns) + 2);

	pages.resize(host_fill_leaves(rows, 0, (int) pages.size(), with_checksums, pages.data()));
	return pages;
}

static DevSortStatus
pages_of_card(const LeafRows &rows, bool with_checksums, Pages *pages)
{
	Card card = {};
	DevSortStatus status = card_open(&card, rows, 1, CHECK_WINDOW_LEAVES, with_checksums);

	pages->resize(leaf_count(rows.n, leaf_capacity(rows.columns)));
	for (uint64_t first = 0; status.code == DEVSORT_OK && first < pages->size(); first += CHECK_WINDOW_LEAVES)
	{
		CardWindow window = card_window(rows, first, CHECK_WINDOW_LEAVES);

		memset(card.lanes[0].host, 0xAA, window.leaves * sizeof(Page));
		status = card_fetch(&card, WAY_PAGES, card.lanes[0], window);
		if (status.code == DEVSORT_OK)
			status = card_wait(card.lanes[0]);
		memcpy(&(*pages)[first], card.lanes[0].host, window.leaves * sizeof(Page));
	}
	card_close(&card);
	return status;
}

/* The number of the first page that differs; -1: none. */
static long
first_difference(const Pages &pages, const Pages &others)
{
	if (pages.size() != others.size())
		return (long) std::min(pages.size(), others.size());
	for (size_t i = 0; i < pages.size(); i++)
	{
		if (memcmp(&pages[i], &others[i], sizeof(Page)) != 0)
			return (long) i;
	}
	return -1;
}

static bool
are_same(const char *whose, uint64_t n, const Pages &pages, const Pages &host)
{
	long difference = first_difference(pages, host);

	if (difference >= 0)
		printf("#   %s pages of %llu rows: page %ld differs, of %zu and %zu\n", whose, (unsigned long long) n,
			   difference, pages.size(), host.size());
	return difference < 0;
}

static bool
check_size(uint64_t n, int columns, int equal, bool with_checksums, bool with_card)
{
	Rows rows;
	Rows sorted;
	Pages host;
	Pages pages;
	DevSortStatus status;
	bool same;

	rows_make(&rows, n, columns, equal, n);
	rows_sort(&rows, &sorted);
	host = pages_of_host(sorted.leaf_rows, with_checksums);
	same = are_same("workers'", n, pages_of_workers(rows.leaf_rows, with_checksums), host);
	if (!with_card)
		return same;
	status = pages_of_card(rows.leaf_rows, with_checksums, &pages);
	if (status.code != DEVSORT_OK)
		printf("#   %s\n", status.message);
	return status.code == DEVSORT_OK && are_same("the card's", n, pages, host) && same;
}

/* Sizes at which a leaf more is needed, and a large one. */
static bool
check_kind(int number, int columns, int equal, bool with_checksums, bool with_card)
{
	uint64_t capacity = (uint64_t) leaf_capacity(columns);
	bool right = true;

	for (uint64_t n : {UINT64_C(1), UINT64_C(2), capacity, capacity + 1, capacity + 2, 2 * capacity + 1,
					   2 * capacity + 2, UINT64_C(100000)})
		right = check_size(n, columns, equal, with_checksums, with_card) && right;
	printf("%s %d - %d columns, %d rows a key, %s checksums%s\n", right ? "ok" : "not ok", number, columns,
		   equal, with_checksums ? "with" : "without", with_card ? ", on the card too" : "");
	return right;
}

int
check_pages(bool with_card)
{
	int number = 0;
	int failures = 0;

	for (int columns = 1; columns <= 2; columns++)
	{
		for (int equal : {1, 5, 500})
		{
			failures += !check_kind(++number, columns, equal, false, with_card);
			failures += !check_kind(++number, columns, equal, true, with_card);
		}
	}
	return failures;
}

/* ---- against PostgreSQL ---- */

/* The leaves of a file, and the rows in them. */
typedef struct IndexFile
{
	Pages leaves;
	std::vector<uint32_t> blocks;
	Rows rows;
} IndexFile;

static bool
read_pages(const char *path, Pages *pages)
{
	FILE *file = fopen(path, "rb");
	Page page;

	if (!file)
	{
		perror(path);
		return false;
	}
	while (fread(&page, sizeof(page), 1, file) == 1)
		pages->push_back(page);
	fclose(file);
	return true;
}

static bool
is_leaf(const Page &page)
{
	return page.halves[HEADER_UPPER] != 0 && (page.words[LINKS_FLAGS] & FLAGS_MASK & ~FLAG_ROOT) == FLAG_LEAF;
}

/* The leaves in their order. */
static bool
find_leaves(const Pages &pages, IndexFile *index)
{
	uint32_t block = 0;

	for (uint32_t i = 1; i < pages.size() && block == 0; i++)
	{
		if (is_leaf(pages[i]) && pages[i].words[LINKS_PREVIOUS] == 0)
			block = i;
	}
	while (block != 0 && block < pages.size() && is_leaf(pages[block]) && index->blocks.size() < pages.size())
	{
		index->blocks.push_back(block);
		index->leaves.push_back(pages[block]);
		block = pages[block].words[LINKS_NEXT];
	}
	return block == 0 && !index->leaves.empty();
}

/* The tuples of a leaf, without its high key, as rows with marked tids. */
static bool
add_rows(const Page &page, int columns, Rows *rows)
{
	bool is_last = page.words[LINKS_NEXT] == 0;

	for (int pointer = PAGE_HEADER_BYTES + (is_last ? 0 : LINE_POINTER_BYTES);
		 pointer < page.halves[HEADER_LOWER]; pointer += LINE_POINTER_BYTES)
	{
		uint32_t value = page.words[pointer / 4];
		const uint64_t *tuple = page.longs + POINTER_PLACE(value) / 8;
		uint64_t offset = tuple[0] >> TUPLE_OFFSET_SHIFT & 0xFFFF;

		if ((int) POINTER_BYTES(value) != 8 * tuple_longs(columns) ||
			tuple[0] >> TUPLE_INFO_SHIFT != POINTER_BYTES(value))
			return false;
		rows->longs.insert(rows->longs.end(), ROW_HEADER_LONGS, 0);
		rows->longs.push_back(tuple[0] + (offset << TUPLE_OFFSET_SHIFT));
		rows->longs.insert(rows->longs.end(), tuple + 1, tuple + 1 + columns);
	}
	return true;
}

static bool
read_index(const char *path, int columns, IndexFile *index)
{
	Pages pages;
	const char *problem = NULL;

	if (!read_pages(path, &pages))
		return false;
	if (pages.empty() || pages[0].words[PAGE_HEADER_BYTES / 4] != METAPAGE_MAGIC)
		problem = "it is no B-tree";
	else if (!find_leaves(pages, index))
		problem = "its leaves are no chain";
	for (size_t i = 0; i < index->leaves.size() && problem == NULL; i++)
	{
		if (!add_rows(index->leaves[i], columns, &index->rows))
			problem = "there are tuples of another length";
	}
	if (problem)
		fprintf(stderr, "leaf_pages: %s: %s\n", path, problem);
	index->rows.leaf_rows = {index->rows.longs.data(), NULL, index->rows.longs.size() / row_longs(columns),
							 columns};
	return problem == NULL;
}

/* Without what is between the line pointers and the tuples. */
static Page
without_hole(Page page)
{
	uint16_t lower = page.halves[HEADER_LOWER];

	memset((char *) &page + lower, 0, page.halves[HEADER_UPPER] - lower);
	page.halves[HEADER_CHECKSUM] = 0;
	return page;
}

/*
 * What the file alone knows: the place in the write-ahead log; other blocks, as pages above the leaves stand
 * between these.
 */
static void
take_places(Page *page, const Page &file)
{
	page->longs[0] = file.longs[0];
	page->words[LINKS_PREVIOUS] = file.words[LINKS_PREVIOUS];
	page->words[LINKS_NEXT] = file.words[LINKS_NEXT];
}

static bool
compare_leaf(const IndexFile &index, size_t i, Page page, const char *whose)
{
	Page expected = without_hole(index.leaves[i]);

	take_places(&page, expected);
	if (memcmp(&page, &expected, sizeof(Page)) == 0)
		return true;
	fprintf(stderr, "leaf_pages: block %u differs from %s\n", index.blocks[i], whose);
	return false;
}

/* By both ways of summing up, if the page has one. */
static bool
compare_checksum(const IndexFile &index, size_t i)
{
	Page page = index.leaves[i];
	uint16_t checksum = page.halves[HEADER_CHECKSUM];
	uint32_t sums = 0;

	page.halves[HEADER_CHECKSUM] = 0;
	for (int column = 0; column < CHECKSUM_COLUMNS; column++)
		sums ^= checksum_column(&page, column);
	if (checksum == 0 || (checksum == checksum_finish(sums, index.blocks[i]) &&
						  checksum == host_checksum(&page, index.blocks[i])))
		return true;
	fprintf(stderr, "leaf_pages: block %u has another checksum\n", index.blocks[i]);
	return false;
}

bool
check_file(const char *path, int columns)
{
	IndexFile index;
	Pages workers;
	Pages host;
	size_t checksums = 0;
	bool same = true;

	if (!read_index(path, columns, &index))
		return false;
	workers = pages_of_workers(index.rows.leaf_rows, false);
	host = pages_of_host(index.rows.leaf_rows, false);
	if (workers.size() != index.leaves.size() || host.size() != index.leaves.size())
	{
		fprintf(stderr, "leaf_pages: %s has %zu leaves, not %zu\n", path, index.leaves.size(), host.size());
		return false;
	}
	for (size_t i = 0; i < index.leaves.size(); i++)
	{
		same = compare_leaf(index, i, workers[i], "the workers' page") && same;
		same = compare_leaf(index, i, host[i], "the host's page") && same;
		same = compare_checksum(index, i) && same;
		checksums += index.leaves[i].halves[HEADER_CHECKSUM] != 0;
	}
	printf("%s: %zu leaves of %llu rows in %s, %zu of them with a checksum\n", same ? "ok" : "not ok",
		   index.leaves.size(), (unsigned long long) index.rows.leaf_rows.n, path, checksums);
	return same;
}
