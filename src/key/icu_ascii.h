/*
 * key/icu_ascii.h
 *		ICU sort keys of ASCII strings, put together from those of single characters.
 */
#ifndef GPUSORT_KEY_ICU_ASCII_H
#define GPUSORT_KEY_ICU_ASCII_H

#include "postgres.h"

#ifdef USE_ICU

#include <unicode/ucol.h>

typedef struct IcuAscii IcuAscii;

/*
 * What single characters have to know for this collator, or NULL if its sort keys can't be put together.
 * Takes some milliseconds the first time; the result is kept as long as the process lives.
 */
extern const IcuAscii *icu_ascii_get(UCollator *collator);

/* Has this process asked for them already? */
extern bool icu_ascii_is_known(UCollator *collator);

/* Bytes that icu_ascii_sort_key may write for a string of so many bytes. */
#define ICU_ASCII_ROOM(len) (9 * (len) + 16)

/*
 * Writes the sort key, exactly the bytes that ucol_getSortKey would give, 00 and all; returns its size, or 0
 * if the string has other characters, or none.
 */
extern Size icu_ascii_sort_key(const IcuAscii *ascii, const char *bytes, Size len, uint8 *dst);

#endif /* USE_ICU */

#endif /* GPUSORT_KEY_ICU_ASCII_H */
