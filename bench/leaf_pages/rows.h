/*
 * rows.h
 *		Rows of an index, in the order of the heap, and which one comes when in the index's order.
 */
#ifndef ROWS_H
#define ROWS_H

#include <vector>

#include "leaf_pages/leaf_page.h"

typedef struct Rows
{
	std::vector<uint64_t> longs;
	std::vector<uint32_t> order;
	LeafRows leaf_rows; /* of these, in order */
} Rows;

/*
 * Makes n rows, fewer than 2^32, of one or two columns, in random order, of which so many after each other
 * have equal keys.
 */
void rows_make(Rows *rows, uint64_t n, int columns, int equal, uint64_t seed);

/* The same rows as they come in order. */
void rows_sort(const Rows *rows, Rows *sorted);

#endif /* ROWS_H */
