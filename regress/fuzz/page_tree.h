/*
 * regress/fuzz/page_tree.h
 *		A B-tree's pages, read from its file: compared with another one's, and checked by themselves.
 */
#ifndef FUZZ_PAGE_TREE_H
#define FUZZ_PAGE_TREE_H

#include "postgres.h"

#include "access/itup.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

typedef struct PageTree
{
	BlockNumber nblocks;
	PGAlignedBlock *blocks; /* without LSN, checksum and what is in the holes; in CurrentMemoryContext */
} PageTree;

extern PageTree page_tree_read(Relation index);

/* What is different; NULL: nothing. */
extern char *page_tree_difference(const PageTree *a, const PageTree *b);

/*
 * What is wrong with it; NULL: nothing.  The tuples are those that it must have, in order, equal ones by tid.
 */
extern char *page_tree_fault(const PageTree *tree, Relation index, const IndexTuple *tuples, int ntuples);

#endif /* FUZZ_PAGE_TREE_H */
