/*
 * rows.h
 *		One gather of rows, from making them to comparing the result byte by byte.
 */
#ifndef CHECK_ROWS_CASE_H
#define CHECK_ROWS_CASE_H

#include <vector>

#include "check/proof/guarded.h"

typedef enum RowsLength
{
	ROWS_EMPTY, /* all of length 0 */
	ROWS_OF_8,
	ROWS_NARROW,	 /* 24 to 256 bytes */
	ROWS_WITH_EMPTY, /* 0 to 64 bytes, a third of length 0 */
	ROWS_WIDE,		 /* up to 16 KB */
	ROWS_MIXED,		 /* narrow ones, and some of 1 MB */
	NROWS_LENGTHS
} RowsLength;

typedef enum RowsOrder
{
	ROWS_SHUFFLED,
	ROWS_IN_ORDER,
	ROWS_REVERSED,
	NROWS_ORDERS
} RowsOrder;

typedef struct RowsCase
{
	RowsLength length;
	RowsOrder order;
	uint64_t n;
	size_t window_bytes; /* a row's worth at least */
	uint64_t seed;
} RowsCase;

/* What is kept from case to case. */
typedef struct RowsRunner
{
	Guarded guarded;
	RowsCase rows_case;
	DevSortRowsJob job;
	void *workspace;
	size_t workspace_bytes;
	uint8_t *window;
	size_t window_bytes; /* as asked for, or as the longest row needs */
	size_t longest;
	std::vector<uint64_t> rows; /* words */
	std::vector<uint64_t> offsets;
	std::vector<uint32_t> order;
	std::vector<uint64_t> sorted_rows; /* what is right */
	std::vector<uint64_t> sorted_offsets;
	std::vector<uint64_t> got; /* what came */
} RowsRunner;

/* Plans, gathers all windows, compares. */
bool rows_run(RowsRunner *runner, const RowsCase *rows_case, Why *why);

/* The steps of a run, for tests in which the second one fails. */
bool rows_prepare(RowsRunner *runner, const RowsCase *rows_case, Why *why);
DevSortStatus rows_plan_and_gather(RowsRunner *runner);
bool rows_prove(RowsRunner *runner, Why *why);

const char *rows_length_name(int length);
const char *rows_order_name(int order);

#endif /* CHECK_ROWS_CASE_H */
