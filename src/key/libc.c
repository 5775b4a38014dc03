/*
 * key/libc.c
 *		Variable sort keys of text that the C library compares.
 *
 * strxfrm makes images of strings that are to compare as bytes just as strcoll compares the strings.
 * PostgreSQL does not trust it to, for in some versions it did not; so an image is a guess, and the order of
 * a sort is verified by comparisons (compare.h).  The string follows its image: it is what is compared then,
 * and PostgreSQL breaks ties of strcoll by it.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "key/types.h"

/* Of longer strings it is the image of so many bytes: enough for a guess. */
#define IMAGED_BYTES_MAX 65536

struct SortKeyLibc
{
	locale_t locale; /* NULL: the process's own */
	char *string;	 /* of IMAGED_BYTES_MAX bytes, with a zero at its end */
};

SortKeyLibc *
sort_key_libc_create(Oid collation)
{
	SortKeyLibc *libc = palloc0(sizeof(SortKeyLibc));
	pg_locale_t locale = pg_newlocale_from_collation(collation);

	if (locale != NULL)
		libc->locale = pg_locale_libc(locale);
	libc->string = palloc(IMAGED_BYTES_MAX + 1);
	return libc;
}

/* Stores the image, 00 and all, if it takes no more than room; returns the bytes it takes, without the 00. */
static Size
store_image(const SortKeyLibc *libc, uint8 *dst, Size room)
{
	if (libc->locale == NULL)
		return strxfrm((char *) dst, libc->string, room);
	return strxfrm_l((char *) dst, libc->string, room, libc->locale);
}

/* An image that tells nothing, of every so many strings: for tests of what verifies the order. */
static Size
spoil_image(const SortKeyLibc *libc, uint8 *dst, Size size)
{
	static uint32 strings;
	static uint32 noise = 1;

	if (++strings % gpusort_spoiled_images != 0)
		return size;
	for (Size i = 0; i < Min(size, 4); i++)
	{
		noise = noise * 1103515245 + 12345;
		dst[i] = 1 + (noise >> 16) % 255;
	}
	return size;
}

static void
append_image(SortKey *key, const SortKeyLibc *libc, Size len)
{
	uint8 *dst = sort_key_reserve(key, (SORT_KEY_IMAGE_FACTOR + 1) * len + 16);
	Size room = key->buffer_size - key->length;
	Size size = store_image(libc, dst, room);

	if (unlikely(size > MaxAllocSize))
		return; /* some C libraries fail so, on bytes that are no characters: there is no image then */
	if (unlikely(size >= room))
	{
		dst = sort_key_reserve(key, size + 1);
		size = store_image(libc, dst, size + 1);
	}
	if (unlikely(gpusort_spoiled_images > 0))
		size = spoil_image(libc, dst, size);
	key->length += size;
}

void
sort_key_append_libc(SortKey *key, SortKeyColumn *col, Datum value)
{
	SortKeyLibc *libc = col->libc;
	Size len;
	const char *bytes = sort_key_text_bytes(key, col, value, &len);
	uint8 *dst;

	if (!key->without_images)
	{
		Size imaged = Min(len, IMAGED_BYTES_MAX);

		memcpy(libc->string, bytes, imaged);
		libc->string[imaged] = '\0';
		append_image(key, libc, imaged);
	}
	dst = sort_key_reserve(key, len + 2);
	*dst++ = 0;
	memcpy(dst, bytes, len);
	dst[len] = 0;
	key->length += len + 2;
}
