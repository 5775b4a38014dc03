/*
 * key/images.h
 *		Images of strings, and what may stand between an image and its string.
 */
#ifndef GPUSORT_KEY_IMAGES_H
#define GPUSORT_KEY_IMAGES_H

#include "key/types.h"

/*
 * An image, 00, the string, 00.  Between the image and the string may stand ties, which also guess at the
 * order: one of the first two of these, bytes that are not zero, 00.  So those in front of something come
 * before, those behind it after, a string without ties.  Then, where the string tells more of the order than
 * what stands before it, or could be taken for ties: the third of these.
 */
#define TIES_IN_FRONT 0x01
#define TIES_BEHIND 0xFF
#define STRING_TELLS 0x02

/*
 * Of longer strings it is the image of so many bytes, and at the first level alone: enough for a guess.  So
 * are as many bytes of the key of a value that stands whole (whole.c).
 */
#define IMAGED_BYTES_MAX 256

/* Is that not the string's first byte? */
static inline bool
begins_ties(uint8 byte)
{
	return byte == TIES_IN_FRONT || byte == TIES_BEHIND || byte == STRING_TELLS;
}

/* What makes images of strings by this collation of ICU, or the C library, in CurrentMemoryContext. */
extern SortKeyImages *sort_key_images_create(Oid collation, bool by_icu);

#endif /* GPUSORT_KEY_IMAGES_H */
