/*
 * key/icu.h
 *		Sort keys of ICU collations: whether they can be trusted, and making them.
 */
#ifndef GPUSORT_KEY_ICU_H
#define GPUSORT_KEY_ICU_H

#include "key/column.h"

/* Do keys order strings as PostgreSQL's comparisons do? */
typedef enum SortKeyTrust
{
	SORT_KEY_EXACT, /* yes, all strings */
	SORT_KEY_GUESS, /* all except a few strings, so the order must be verified */
	SORT_KEY_WRONG
} SortKeyTrust;

/*
 * Returns whether keys by this ICU collation can be trusted.  *setting: the setting that prevents it; NULL:
 * none.  Raises PostgreSQL's own error if the collation cannot be opened.
 */
extern SortKeyTrust sort_key_icu_trust(Oid collation, const char **setting);

/*
 * Does this process already have the table for encoding strings of this ICU collation quickly?  Raises
 * PostgreSQL's own error if the collation cannot be opened.
 */
extern bool sort_key_knows_collation(Oid collation);

/* Opens an ICU collation in CurrentMemoryContext.  Raises PostgreSQL's own error if it cannot be opened. */
extern SortKeyIcu *sort_key_icu_create(Oid collation);

/*
 * Calls ICU and stores up to "room" bytes of a string's sort key at dst, without the zero at its end.
 * Returns the size of the sort key.
 */
extern Size sort_key_icu_ask(SortKeyIcu *icu, const char *bytes, Size len, uint8 *dst, Size room);

/* Are the weights of the string the weights of its single characters? */
extern bool sort_key_icu_is_by_character(SortKeyIcu *icu, const char *bytes, Size len);

#endif /* GPUSORT_KEY_ICU_H */
