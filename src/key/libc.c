/*
 * key/libc.c
 *		Variable sort keys of text that the C library compares.
 *
 * strxfrm makes images of strings that are to compare as bytes just as strcoll compares the strings.
 * PostgreSQL does not trust it to, for in some versions it did not; so an image is a guess, and the order of
 * a sort is verified by comparisons (compare.h).  The string follows its image: it is what is compared then,
 * and PostgreSQL breaks ties of strcoll by it.
 *
 * As it is a guess it need not be strxfrm's either.  Of glibc an image is the weights of all characters at
 * one level after the other, with 01 between, takes 15 ns a character, and 7 times as much memory as the
 * string.  So
 *	- an image is put together from those of its characters, of which strxfrm is asked once.  How characters
 *	  beside each other change their weights ("ch" is one letter in Czech) is not seen so; where strxfrm,
 *	  asked for some of the strings, says otherwise too often, it is asked for all of them.
 *	- it has the first levels alone, and of those behind the first one nothing that ends as weights of plain
 *	  lower case letters do, which is all of it most of the time.
 *	- it is of the string's beginning alone.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "key/types.h"

/* Of longer strings it is the image of so many bytes, and at the first level alone: enough for a guess. */
#define IMAGED_BYTES_MAX 256

/* Letters, accents, case.  glibc has one more, with all characters once more. */
#define LEVELS 3

/* Bytes of glibc's weights at the first level for one of the string, about. */
#define IMAGE_FACTOR 1.25

/* Weights that a character has at a level; of more the first ones do. */
#define WEIGHTS_MAX 8

/* An image has so many bytes at most: as many characters as bytes, and a separator behind each level. */
#define IMAGE_ROOM (LEVELS * (WEIGHTS_MAX * IMAGED_BYTES_MAX + 1))

/* Room for what strxfrm says of so many bytes, with all levels. */
#define STRXFRM_ROOM (16 * IMAGED_BYTES_MAX)

#define SEPARATOR 1
#define PLAIN_WEIGHT 2 /* of lower case letters without accents, behind the first level */

/* Characters of several bytes that are remembered, a power of 2. */
#define REMEMBERED 4096
#define CHARACTER_MAX 4 /* bytes; longer ones have no weights */

/* strxfrm is asked for the first strings, and then for each of so many. */
#define CHECKED_FIRST 64
#define CHECKED_EVERY 256

/* One in so many that it makes another image of is too often. */
#define DEVIATIONS_MAX 16

typedef struct Weights
{
	uint32 character; /* its bytes */
	bool known;
	bool plain; /* one plain weight at each level behind the first? */
	uint8 sizes[LEVELS];
	uint8 bytes[LEVELS][WEIGHTS_MAX];
} Weights;

struct SortKeyLibc
{
	locale_t locale;	/* NULL: the process's own */
	int encoding;		/* the database's */
	bool single_bytes;	/* are all of its characters one byte? */
	bool asks_strxfrm;	/* for each string, not for characters */
	uint64 strings;		/* so far */
	uint64 checked;		/* of them were images compared with strxfrm's */
	uint64 deviations;	/* of these */
	Weights bytes[256]; /* characters of one byte */
	Weights *others;	/* REMEMBERED, NULL: there were none yet */
	char *string;		/* what strxfrm is asked for, room for all that is imaged and a zero */
	uint8 *image;		/* what it said, of STRXFRM_ROOM bytes */
};

SortKeyLibc *
sort_key_libc_create(Oid collation)
{
	SortKeyLibc *libc = palloc0(sizeof(SortKeyLibc));
	pg_locale_t locale = pg_newlocale_from_collation(collation);

	if (locale != NULL)
		libc->locale = pg_locale_libc(locale);
	libc->encoding = GetDatabaseEncoding();
	libc->single_bytes = pg_encoding_max_length(libc->encoding) == 1;
	libc->string = palloc(IMAGED_BYTES_MAX + 1);
	libc->image = palloc(STRXFRM_ROOM);
	return libc;
}

double
sort_key_libc_image_size(double width)
{
	return IMAGE_FACTOR * Min(width, IMAGED_BYTES_MAX);
}

/* ---------------------------------------------------------------- strxfrm */

/*
 * Asks for the image of so many bytes, at most IMAGED_BYTES_MAX; returns its size.  There is none of what is
 * no character, in some C libraries, nor if it is very large.
 */
static Size
ask_strxfrm(SortKeyLibc *libc, const char *bytes, Size len)
{
	Size size;

	memcpy(libc->string, bytes, len);
	libc->string[len] = '\0';
	if (libc->locale == NULL)
		size = strxfrm((char *) libc->image, libc->string, STRXFRM_ROOM);
	else
		size = strxfrm_l((char *) libc->image, libc->string, STRXFRM_ROOM, libc->locale);
	return size < STRXFRM_ROOM ? size : 0;
}

/* The end of the level that begins there in libc->image. */
static const uint8 *
end_of_level(const uint8 *start, const uint8 *end)
{
	const uint8 *separator = memchr(start, SEPARATOR, end - start);

	return separator != NULL ? separator : end;
}

/* ---------------------------------------------------------------- characters */

static pg_noinline void
learn_weights(SortKeyLibc *libc, Weights *weights, const char *character, Size len)
{
	const uint8 *at = libc->image;
	const uint8 *end = at + ask_strxfrm(libc, character, len);

	weights->known = true;
	weights->plain = true;
	for (int level = 0; level < LEVELS; level++)
	{
		const uint8 *end_of_this = end_of_level(at, end);

		weights->sizes[level] = Min(end_of_this - at, WEIGHTS_MAX);
		memcpy(weights->bytes[level], at, weights->sizes[level]);
		weights->plain &= level == 0 || (weights->sizes[level] == 1 && *at == PLAIN_WEIGHT);
		at = Min(end_of_this + 1, end);
	}
}

/* Those of a character of several bytes at *at, which moves behind it. */
static pg_noinline const Weights *
weights_of_long(SortKeyLibc *libc, const char **at, const char *end)
{
	const char *start = *at;
	Size len = Min(pg_encoding_mblen(libc->encoding, start), end - start);
	uint32 character = 0;
	Weights *weights;

	*at += len;
	len = Min(len, CHARACTER_MAX);
	memcpy(&character, start, len);
	if (libc->others == NULL)
		libc->others = MemoryContextAllocZero(GetMemoryChunkContext(libc), REMEMBERED * sizeof(Weights));
	weights = &libc->others[murmurhash32(character) % REMEMBERED];
	if (!weights->known || weights->character != character)
	{
		weights->character = character;
		learn_weights(libc, weights, start, len);
	}
	return weights;
}

static inline const Weights *
weights_of(SortKeyLibc *libc, const char **at, const char *end)
{
	Weights *weights = &libc->bytes[(uint8) * *at];

	if (IS_HIGHBIT_SET(**at) && !libc->single_bytes)
		return weights_of_long(libc, at, end);
	if (unlikely(!weights->known))
		learn_weights(libc, weights, *at, 1);
	(*at)++;
	return weights;
}

/* ---------------------------------------------------------------- images */

/* Of a level behind the first one, what ends as those of plain letters do is left out. */
static uint8 *
drop_plain_weights(const uint8 *start, uint8 *end)
{
	while (end > start && end[-1] == PLAIN_WEIGHT)
		end--;
	return end;
}

/* Levels that nothing is left of, at the image's end, are left out with what is before them. */
static uint8 *
drop_separators(const uint8 *start, uint8 *end)
{
	while (end > start && end[-1] == SEPARATOR)
		end--;
	return end;
}

/* Stores the string's weights at one level; *plain: are those at the others plain ones? */
static inline uint8 *
store_level(SortKeyLibc *libc, int level, const char *bytes, const char *end, uint8 *dst, bool *plain)
{
	while (bytes < end)
	{
		const Weights *weights = weights_of(libc, &bytes, end);

		memcpy(dst, weights->bytes[level], WEIGHTS_MAX);
		dst += weights->sizes[level];
		*plain &= weights->plain;
	}
	return dst;
}

/*
 * Stores the image of a string as its characters have it; returns what is behind it.  whole: not only of its
 * beginning.
 */
static uint8 *
store_image(SortKeyLibc *libc, const char *bytes, const char *end, bool whole, uint8 *dst)
{
	const uint8 *start = dst;
	bool plain = true;

	dst = store_level(libc, 0, bytes, end, dst, &plain);
	for (int level = 1; level < LEVELS && whole && !plain; level++)
	{
		*dst++ = SEPARATOR;
		dst = drop_plain_weights(dst, store_level(libc, level, bytes, end, dst, &plain));
	}
	return drop_separators(start, dst);
}

/* The same, as strxfrm has it. */
static uint8 *
store_asked_image(SortKeyLibc *libc, const char *bytes, const char *end, bool whole, uint8 *dst)
{
	const uint8 *start = dst;
	const uint8 *at = libc->image;
	const uint8 *end_of_image = at + ask_strxfrm(libc, bytes, end - bytes);

	for (int level = 0; level < (whole ? LEVELS : 1) && at < end_of_image; level++)
	{
		const uint8 *end_of_this = end_of_level(at, end_of_image);
		Size size = Min(end_of_this - at, WEIGHTS_MAX * IMAGED_BYTES_MAX);

		if (level > 0)
			*dst++ = SEPARATOR;
		memcpy(dst, at, size);
		dst = level > 0 ? drop_plain_weights(dst, dst + size) : dst + size;
		at = Min(end_of_this + 1, end_of_image);
	}
	return drop_separators(start, dst);
}

/* Compares the weights at the first level, of some strings, with what strxfrm says. */
static pg_noinline void
check_image(SortKeyLibc *libc, const char *bytes, const char *end, const uint8 *image, Size size)
{
	const uint8 *end_of_image = libc->image + ask_strxfrm(libc, bytes, end - bytes);
	Size asked = end_of_level(libc->image, end_of_image) - libc->image;
	Size stored = end_of_level(image, image + size) - image;

	libc->checked++;
	libc->deviations += asked != stored || memcmp(libc->image, image, stored) != 0;
	if (libc->checked >= CHECKED_FIRST)
		libc->asks_strxfrm = libc->deviations * DEVIATIONS_MAX > libc->checked;
}

/* An image that tells nothing, of every so many strings: for tests of what verifies the order. */
static void
spoil_image(uint8 *image, Size size)
{
	static uint32 strings;
	static uint32 noise = 1;

	if (++strings % gpusort_spoiled_images != 0)
		return;
	for (Size i = 0; i < Min(size, 4); i++)
	{
		noise = noise * 1103515245 + 12345;
		image[i] = 1 + (noise >> 16) % 255;
	}
}

/* Where the part of a string ends that is imaged, which no character goes across. */
static const char *
end_of_imaged(const SortKeyLibc *libc, const char *bytes, Size len)
{
	const char *end = bytes + Min(len, IMAGED_BYTES_MAX);

	if (len <= IMAGED_BYTES_MAX || libc->single_bytes)
		return end;
	return bytes + pg_encoding_mbcliplen(libc->encoding, bytes, len, IMAGED_BYTES_MAX);
}

static void
append_image(SortKey *key, SortKeyLibc *libc, const char *bytes, Size len)
{
	const char *end = end_of_imaged(libc, bytes, len);
	bool whole = end == bytes + len;
	uint8 *image = sort_key_reserve(key, IMAGE_ROOM);
	uint64 strings = libc->strings++;
	Size size;

	if (unlikely(libc->asks_strxfrm))
		size = store_asked_image(libc, bytes, end, whole, image) - image;
	else
	{
		size = store_image(libc, bytes, end, whole, image) - image;
		if (unlikely(strings < CHECKED_FIRST || strings % CHECKED_EVERY == 0))
			check_image(libc, bytes, end, image, size);
	}
	if (unlikely(gpusort_spoiled_images > 0))
		spoil_image(image, size);
	key->length += size;
}

void
sort_key_append_libc(SortKey *key, SortKeyColumn *col, Datum value)
{
	Size len;
	const char *bytes = sort_key_text_bytes(key, col, value, &len);
	uint8 *dst;

	if (!key->without_images)
		append_image(key, col->libc, bytes, len);
	dst = sort_key_reserve(key, len + 2);
	*dst++ = 0;
	memcpy(dst, bytes, len);
	dst[len] = 0;
	key->length += len + 2;
}
