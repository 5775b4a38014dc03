/*
 * rows.cu
 *		Making up rows.
 */
#include <algorithm>
#include <random>

#include "leaf_pages/rows.h"

#define HEAP_TUPLES_PER_BLOCK 226

/* With two columns, the keys that agree in the first one. */
#define KEYS_PER_FIRST_COLUMN 3

/* Numbers of rows, shuffled, but in order where keys are equal. */
static void
make_order(std::vector<uint32_t> *order, uint64_t n, int equal, uint64_t seed)
{
	std::mt19937_64 random(seed);

	order->resize(n);
	for (uint64_t i = 0; i < n; i++)
		(*order)[i] = (uint32_t) i;
	std::shuffle(order->begin(), order->end(), random);
	for (uint64_t i = 0; i < n && equal > 1; i += equal)
		std::sort(order->begin() + i, order->begin() + std::min(n, i + equal));
}

/* The first word of the tuple of that heap row. */
static uint64_t
make_tuple_head(uint64_t row, int columns)
{
	uint64_t block = row / HEAP_TUPLES_PER_BLOCK;
	uint64_t offset = row % HEAP_TUPLES_PER_BLOCK + 1;

	/* Of the block's halves the upper one comes first. */
	return block >> 16 | (block & 0xFFFF) << 16 | offset * 2 << TUPLE_OFFSET_SHIFT |
		   (uint64_t) (8 * tuple_longs(columns)) << TUPLE_INFO_SHIFT;
}

/* Key number `key` of some, negative ones among them. */
static void
make_key(uint64_t *values, int64_t key, int64_t keys, int columns)
{
	if (columns == 1)
		values[0] = (uint64_t) ((key - keys / 2) * 1000003);
	else
	{
		values[0] = (uint64_t) (key / KEYS_PER_FIRST_COLUMN - keys / 6);
		values[1] = (uint64_t) (key % KEYS_PER_FIRST_COLUMN - 1);
	}
}

static void
point_to_rows(Rows *rows, uint64_t n, int columns)
{
	rows->leaf_rows = {rows->longs.data(), rows->order.empty() ? NULL : rows->order.data(), n, columns};
}

void
rows_make(Rows *rows, uint64_t n, int columns, int equal, uint64_t seed)
{
	int longs = row_longs(columns);

	make_order(&rows->order, n, equal, seed);
	rows->longs.resize(n * longs);
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t *row = &rows->longs[(uint64_t) rows->order[i] * longs];

		row[0] = (uint64_t) (8 * longs);
		row[1] = 0;
		row[ROW_HEADER_LONGS] = make_tuple_head(rows->order[i], columns);
		make_key(row + ROW_HEADER_LONGS + 1, (int64_t) (i / equal), (int64_t) (n / equal), columns);
	}
	point_to_rows(rows, n, columns);
}

void
rows_sort(const Rows *rows, Rows *sorted)
{
	const LeafRows &from = rows->leaf_rows;
	int longs = row_longs(from.columns);

	sorted->order.clear();
	sorted->longs.resize(from.n * longs);
	for (uint64_t i = 0; i < from.n; i++)
		std::copy_n(leaf_row(from, i) - ROW_HEADER_LONGS, longs, &sorted->longs[i * longs]);
	point_to_rows(sorted, from.n, from.columns);
}
