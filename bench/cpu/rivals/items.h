/*
 * items.h
 *		The input of a case, and how it becomes items and is checked.
 */
#ifndef GPUSORT_RIVALS_ITEMS_H
#define GPUSORT_RIVALS_ITEMS_H

#include "postgres.h"

#include "cpu/rivals/rivals.h"
#include "sort/chunk.h"

/* What an item consists of: bytes of its key, and of its row. */
typedef struct ItemShape
{
	int nwords;
	int row_size;
	int key_stride; /* bytes from a key to the next */
	int key_offset;
	int row_stride;
	int row_offset;
	bool swapped; /* the last word comes first */
	bool apart;	  /* rows are in an array of their own */
} ItemShape;

extern const ItemShape item_shapes[NITEM_LAYOUTS];

typedef enum KeyDistribution
{
	RANDOM_KEYS,
	FEW_KEYS,
	SORTED_KEYS,
	NKEY_DISTRIBUTIONS
} KeyDistribution;

extern const char *const key_distribution_name[NKEY_DISTRIBUTIONS];

/* Chunks as a feed fills them; the row of each entry is 8 bytes, its number. */
typedef struct CaseInput
{
	int nwords;
	bool has_rows;
	uint64 n;
	Chunk *first;
	Chunk **chunks; /* all of them have as many rows, but for the last */
	uint64 nchunks;
	uint64 rows_in_chunk;
} CaseInput;

extern void case_input_make(CaseInput *input, KeyDistribution distribution, int nwords, bool has_rows,
							uint64 n);
extern void case_input_free(CaseInput *input);

/*
 * Memory for n items of any layout with such rows; the array of rows, where there is one, is behind the keys.
 */
extern Size items_size(uint64 n);
extern void *items_rows(ItemLayout layout, void *items, uint64 n);

/* Makes items of all entries, in that order, by so many threads. */
extern void items_unpack(const CaseInput *input, ItemLayout layout, void *items, int threads);

/* Ends the program unless the items are the input's, each once, in order. */
extern void items_check(const CaseInput *input, ItemLayout layout, void *items, const char *name);

#endif /* GPUSORT_RIVALS_ITEMS_H */
