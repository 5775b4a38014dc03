/*
 * exec/batch_feed.h
 *		Rows of a page into chunks, some at a time.
 */
#ifndef GPUSORT_EXEC_BATCH_FEED_H
#define GPUSORT_EXEC_BATCH_FEED_H

#include "postgres.h"

#include "exec/chunk_feed.h"
#include "exec/input_rows.h"

/* Makes the batch of a feed, if the input is a scan and the feed has a filter that looks at batches. */
extern void batch_feed_init(SortFeed *feed, const InputRows *rows);

/* Are rows put some at a time?  They are as long as a filter drops rows. */
extern bool batch_feed_is_useful(const SortFeed *feed);

/*
 * Puts the next rows of the page, whatever the scan does with its rows.  Returns how many.  input_rows_next
 * returns the rows that are not put here.
 */
extern uint64 batch_feed_put(SortFeed *feed, InputRows *rows, bool has_row);

#endif /* GPUSORT_EXEC_BATCH_FEED_H */
