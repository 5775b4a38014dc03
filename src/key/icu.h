/*
 * key/icu.h
 *		Sort keys of ICU collations: how far they can be trusted, and asking for them.
 */
#ifndef GPUSORT_KEY_ICU_H
#define GPUSORT_KEY_ICU_H

#include "key/types.h"

/* Do keys order strings as PostgreSQL's comparisons do? */
typedef enum SortKeyTrust
{
	SORT_KEY_EXACT, /* for certain */
	SORT_KEY_GUESS, /* but for a few, so the order is to be verified */
	SORT_KEY_WRONG
} SortKeyTrust;

/*
 * Of keys by this ICU collation; *setting names what is in the way, NULL: nothing.  Raises PostgreSQL's own
 * error if the collation can't be opened.
 */
extern SortKeyTrust sort_key_icu_trust(Oid collation, const char **setting);

/* An open ICU collation in CurrentMemoryContext; raises PostgreSQL's own error if it can't be opened. */
extern SortKeyIcu *sort_key_icu_create(Oid collation);

/*
 * Stores up to "room" bytes of a string's sort key at dst, without the zero at its end; returns how many it
 * has.
 */
extern Size sort_key_icu_ask(SortKeyIcu *icu, const char *bytes, Size len, uint8 *dst, Size room);

/* Has the string the weights that its characters have one by one? */
extern bool sort_key_icu_is_by_character(SortKeyIcu *icu, const char *bytes, Size len);

#endif /* GPUSORT_KEY_ICU_H */
