/*
 * key/ends.h
 *		The place in a key after which no byte affects the order.
 */
#ifndef GPUSORT_KEY_ENDS_H
#define GPUSORT_KEY_ENDS_H

#include "key/types.h"

/*
 * Does a key end in these 8 bytes? word: the bytes as an integer with the same order. first: are these the
 * first bytes of the key?
 */
extern bool sort_key_word_ends(SortKeyEnds ends, uint64 word, bool first);

#endif /* GPUSORT_KEY_ENDS_H */
