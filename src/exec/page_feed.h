/*
 * exec/page_feed.h
 *		Rows of a table's page into chunks, as many at a time as there are.
 */
#ifndef GPUSORT_EXEC_PAGE_FEED_H
#define GPUSORT_EXEC_PAGE_FEED_H

#include "postgres.h"

#include "exec/chunk_feed.h"
#include "exec/input_rows.h"

/*
 * Feeds rows that follow, on the page where the input stands, the row that input_rows_next returned last and
 * sort_feed_put has put; returns how many.  What it does not feed, input_rows_next returns next: a row for
 * which there is no room in the chunk at hand, or whose key takes more than a look at the row.
 */
extern uint64 page_feed_rows(SortFeed *feed, InputRows *rows);

#endif /* GPUSORT_EXEC_PAGE_FEED_H */
