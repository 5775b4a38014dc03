/*
 * key/images.h
 *		Images of strings, and the bytes between an image and its string.
 */
#ifndef GPUSORT_KEY_IMAGES_H
#define GPUSORT_KEY_IMAGES_H

#include "key/column.h"

/*
 * The key is an image, 00, the string, 00.  Between the image and the string there may be ties, which also
 * guess the order: TIES_IN_FRONT or TIES_BEHIND, bytes that are not zero, 00.  A string with ties in front
 * therefore comes before a string without ties, and a string with ties behind comes after it.  STRING_TELLS
 * follows if the string says more about the order than the bytes before it, or if the string could be
 * mistaken for ties.
 */
#define TIES_IN_FRONT 0x01
#define TIES_BEHIND 0xFF
#define STRING_TELLS 0x02

/*
 * The image of a longer string covers this number of bytes, and only the first level, which is enough for a
 * guess.  The guess of a value that is stored whole (whole.c) has the same number of bytes.
 */
#define IMAGED_BYTES_MAX 256

/* Does this byte begin ties, so that it is not the string's first byte? */
static inline bool
begins_ties(uint8 byte)
{
	return byte == TIES_IN_FRONT || byte == TIES_BEHIND || byte == STRING_TELLS;
}

/*
 * Makes an encoder of images of strings by this collation, of ICU or the C library, in CurrentMemoryContext.
 */
extern SortKeyImages *sort_key_images_create(Oid collation, bool by_icu);

#endif /* GPUSORT_KEY_IMAGES_H */
