/*
 * key/ends.c
 *		Where a key shows that nothing behind it matters to the order.
 *
 * A file of its own, which needs nothing else, for programs that sort keys outside of a server.
 */
#include "postgres.h"

#include "key/ends.h"
#include "key/images.h"

/*
 * No string has a zero byte, and none is in an image or in ties.  Images and ties tell of the order what
 * there is to tell, unless more of it is said to follow: the string behind them makes no difference then, but
 * for what is to be put right anyway.
 */
bool
sort_key_word_ends(SortKeyEnds ends, uint64 word, bool first)
{
	if (!ends.shown)
		return false;
	if (ends.descending)
		word = ~word;
	for (int shift = first ? 48 : 56; shift >= 0; shift -= 8)
	{
		if ((uint8) (word >> shift) != 0)
			continue;
		if (!ends.imaged)
			return true;
		if (shift == 0)
			return false; /* what follows is in the next word */
		if (!begins_ties((uint8) (word >> (shift - 8))))
			return true;
	}
	return false;
}
