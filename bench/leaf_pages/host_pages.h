/*
 * host_pages.h
 *		Leaf pages filled one tuple after the other by the host, as src/index/btree_levels.c does it.
 *
 * It knows nothing of how many tuples a leaf will have: a leaf is turned when it is full.  So it is both what
 * the card is measured against and what its pages are compared with.
 */
#ifndef HOST_PAGES_H
#define HOST_PAGES_H

#include "leaf_pages/leaf_page.h"

/*
 * Fills leaf number `first` of the file and up to nleaves - 1 after it, with checksums or without.  The rows
 * begin with the first one of that leaf, and end with the index's last one, or two behind the last leaf's.
 * Returns how many leaves there were.
 */
int host_fill_leaves(const LeafRows &rows, uint64_t first, int nleaves, bool with_checksums, Page *pages);

/* The checksum of a page of the file; the one that it has doesn't count. */
uint16_t host_checksum(const Page *page, uint32_t block);

#endif /* HOST_PAGES_H */
