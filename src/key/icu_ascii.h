/*
 * key/icu_ascii.h
 *		ICU sort keys of ASCII strings, built from the sort keys of single characters.
 */
#ifndef GPUSORT_KEY_ICU_ASCII_H
#define GPUSORT_KEY_ICU_ASCII_H

#include "postgres.h"

#ifdef USE_ICU

#include <unicode/ucol.h>

typedef struct IcuAscii IcuAscii;

/*
 * Returns the table of single characters for this collator, or NULL if its sort keys cannot be built from
 * characters.  The first call takes some milliseconds; the result is kept until the process ends.
 */
extern const IcuAscii *icu_ascii_get(UCollator *collator);

/* Does this process already have the table? */
extern bool icu_ascii_is_known(UCollator *collator);

/* The most bytes that icu_ascii_sort_key writes for a string of `len` bytes. */
#define ICU_ASCII_ROOM(len) (9 * (len) + 16)

/*
 * Writes the sort key, exactly the bytes of ucol_getSortKey, including the 00.  Returns its size, or 0 if the
 * string is empty or has other characters.
 */
extern Size icu_ascii_sort_key(const IcuAscii *ascii, const char *bytes, Size len, uint8 *dst);

#endif /* USE_ICU */

#endif /* GPUSORT_KEY_ICU_ASCII_H */
