/*
 * card.h
 *		Rows on a card, and two ways for them to the host: as rows in order, or as leaf pages.
 *
 * Both go a window at a time, that of some consecutive leaves.  A lane has a window in the card's memory, one
 * in the host's, pinned, and a stream; several lanes overlap.
 */
#ifndef CARD_H
#define CARD_H

#include <vector>

#include <cuda_runtime_api.h>

#include "devsort.h"
#include "leaf_pages/rows.h"

typedef enum Way
{
	WAY_ROWS, /* the host fills pages */
	WAY_PAGES
} Way;

typedef struct CardLane
{
	cudaStream_t stream;
	cudaEvent_t fetched;
	void *device;
	void *host;
} CardLane;

/* Leaves of a window, and rows that the host needs to fill them. */
typedef struct CardWindow
{
	uint64_t first_leaf;
	uint64_t leaves;
	uint64_t first_row;
	uint64_t rows;
} CardWindow;

typedef struct Card
{
	DevSortDevice device;
	LeafRows rows; /* on the card */
	DevSortRowsJob job;
	uint64_t window_leaves; /* at most, in a lane */
	bool with_checksums;
	std::vector<void *> allocations;
	std::vector<CardLane> lanes;
} Card;

/* The window that begins with this leaf, of so many. */
CardWindow card_window(const LeafRows &rows, uint64_t first_leaf, uint64_t leaves);

/*
 * Brings the rows to the card, and plans their gather.  Takes lanes for windows of so many leaves.  Whatever
 * comes of it, card_close() gives everything back.
 */
DevSortStatus card_open(Card *card, const LeafRows &rows, int lanes, uint64_t window_leaves,
						bool with_checksums);
void card_close(Card *card);

/* Queues the making of a window's rows or pages in the lane's memory on the card. */
DevSortStatus card_make(Card *card, Way way, const CardLane &lane, const CardWindow &window);

/* Queues that, and their copy to the host. */
DevSortStatus card_fetch(Card *card, Way way, const CardLane &lane, const CardWindow &window);

/* Waits for what was fetched. */
DevSortStatus card_wait(const CardLane &lane);

/* Makes all windows, one after the other, without copying: the card's own time. */
DevSortStatus card_time(Card *card, Way way, double *ms);

#endif /* CARD_H */
