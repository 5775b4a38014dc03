/*
 * key/images.c
 *		Variable sort keys of text whose order is a guess: images of the strings, then the strings.
 *
 * strxfrm makes images of strings that are to compare as bytes just as strcoll compares the strings.
 * PostgreSQL does not trust it to, for in some versions it did not; and of some ICU collations sort keys do
 * not order as comparisons do.  So an image is a guess, and the order of a sort is verified by comparisons
 * (compare.h).  The string follows its image: it is what is compared then, and PostgreSQL breaks ties by it.
 *
 * As it is a guess it need not be strxfrm's or ICU's either.  Of glibc an image is the weights of all
 * characters at one level after the other, with 01 between, takes 15 ns a character, and 7 times as much
 * memory as the string.  ICU's is shorter, and takes as long.  So
 *	- an image is put together from those of its characters, of which strxfrm, or ICU, is asked once.  How
 *	  characters beside each other change their weights ("ch" is one letter in Czech) is not seen so; where
 *	  the library, asked for some of the strings, says otherwise too often, it is asked for all of them.
 *	- it has the first levels alone, and of those behind the first one nothing that ends as weights of plain
 *	  lower case letters do, which is all of it most of the time.
 *	- it is of the string's beginning alone.
 *
 * To glibc spaces and punctuation are nothing but at the fourth level, which has the weights of all
 * characters.  It is what orders "foobar", "foo_bar" and "_foobar".  Of such strings the ties (images.h) tell
 * as much as they need: where between the other characters these stand, and which they are.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/memutils.h"
#include "utils/pg_locale.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "key/builder.h"
#include "key/encoders.h"
#include "key/icu.h"
#include "key/images.h"

/* Letters, accents, case.  glibc has one more, with all characters once more; ICU may have two. */
#define LEVELS 3

/* Weights that a character has at a level; of more the first ones do. */
#define WEIGHTS_MAX 8

/* Bytes of one at glibc's fourth level. */
#define TIE_MAX 4

/* An image has so many bytes at most: as many characters as bytes, and a separator behind each level. */
#define IMAGE_ROOM (LEVELS * (WEIGHTS_MAX * IMAGED_BYTES_MAX + 1))

/*
 * Ties that begin with TIES_IN_FRONT are, for each character without weights at the levels of images: how
 * many with weights come between the last such one and this, more by 1, but for those behind the last one
 * with weights; and its weight at the fourth level.  TIES_ALL stands where the others end.  TIES_BEHIND: all
 * are behind the others, and there are only their weights.
 */
#define TIES_ALL 0xFF

/* So many characters are told of; strings that have more are long, and differ otherwise. */
#define TIES_MAX 4
#define TIES_ROOM (TIES_MAX * (1 + TIE_MAX) + TIE_MAX + 4)

/* Room for what the library says of so many bytes, with all levels. */
#define ASKED_ROOM (16 * IMAGED_BYTES_MAX)

#define SEPARATOR 1

/* The weight of lower case letters without accents, behind the first level. */
#define PLAIN_WEIGHT_LIBC 2
#define PLAIN_WEIGHT_ICU 5

/* Characters of several bytes that are remembered. */
#define REMEMBERED_BITS 12
#define REMEMBERED (1 << REMEMBERED_BITS)
#define CHARACTER_MAX 4 /* bytes; longer ones have no weights */

/* The library is asked for the first strings, and then for each of so many. */
#define CHECKED_FIRST 64
#define CHECKED_EVERY 256

/* One in so many that it makes another image of is too often. */
#define DEVIATIONS_MAX 16

typedef struct Weights
{
	uint32 character; /* its bytes; 0: none is known */
	uint8 traits;
	uint8 sizes[LEVELS];
	uint8 tie_size; /* of characters that have no weights at these levels */
	uint8 tie[TIE_MAX];
	uint8 bytes[LEVELS][WEIGHTS_MAX];
} Weights;

/* Traits of a character, and of a string that has one with it. */
#define NOT_PLAIN 1		  /* other weights behind the first level than that of plain letters */
#define WITHOUT_WEIGHTS 2 /* at the levels of images, but one at the fourth */
#define UNKNOWN 4 /* its bytes alone may tell it from others: no weights, or those of all unknown ones */

struct SortKeyImages
{
	SortKeyIcu *icu;	/* NULL: the C library makes them */
	locale_t locale;	/* of the C library; NULL: the process's own */
	uint8 plain_weight; /* at the levels behind the first */
	int encoding;		/* the database's */
	bool single_bytes;	/* are all of its characters one byte? */
	bool asks_always;	/* the library for each string, not for characters */
	uint64 strings;		/* so far */
	uint64 checked;		/* of them was the library asked */
	uint64 deviations;	/* of these */
	Weights bytes[256]; /* characters of one byte */
	Weights *others;	/* REMEMBERED, NULL: there were none yet */
	char *string;		/* what the library is asked for, room for all that is imaged and a zero */
	uint8 *image;		/* what it said, of ASKED_ROOM bytes */
};

SortKeyImages *
sort_key_images_create(Oid collation, bool by_icu)
{
	SortKeyImages *images = palloc0(sizeof(SortKeyImages));
	pg_locale_t locale = pg_newlocale_from_collation(collation);

	if (by_icu)
		images->icu = sort_key_icu_create(collation);
	else if (locale != NULL)
		images->locale = pg_locale_libc(locale);
	images->plain_weight = by_icu ? PLAIN_WEIGHT_ICU : PLAIN_WEIGHT_LIBC;
	images->encoding = GetDatabaseEncoding();
	images->single_bytes = pg_encoding_max_length(images->encoding) == 1;
	images->string = palloc(IMAGED_BYTES_MAX + 1);
	images->image = palloc(ASKED_ROOM);
	return images;
}

/* ---------------------------------------------------------------- the library */

static Size
ask_strxfrm(SortKeyImages *images, const char *bytes, Size len)
{
	memcpy(images->string, bytes, len);
	images->string[len] = '\0';
	if (images->locale == NULL)
		return strxfrm((char *) images->image, images->string, ASKED_ROOM);
	return strxfrm_l((char *) images->image, images->string, ASKED_ROOM, images->locale);
}

/*
 * Asks for the image of so many bytes, at most IMAGED_BYTES_MAX; returns its size.  There is none of what is
 * no character, in some C libraries, nor if it is very large.
 */
static Size
ask_library(SortKeyImages *images, const char *bytes, Size len)
{
	Size size = images->icu != NULL ? sort_key_icu_ask(images->icu, bytes, len, images->image, ASKED_ROOM)
									: ask_strxfrm(images, bytes, len);

	return size < ASKED_ROOM ? size : 0;
}

/* The end of the level that begins there in images->image. */
static const uint8 *
end_of_level(const uint8 *start, const uint8 *end)
{
	const uint8 *separator = memchr(start, SEPARATOR, end - start);

	return separator != NULL ? separator : end;
}

/* ---------------------------------------------------------------- characters */

/* A space or punctuation of ASCII, which every locale knows. */
static bool
is_printed(const char *character, Size len)
{
	return len == 1 && *character >= ' ' && *character <= '~';
}

static pg_noinline void
learn_weights(SortKeyImages *images, Weights *weights, const char *character, Size len)
{
	const uint8 *at = images->image;
	const uint8 *end = at + ask_library(images, character, len);

	weights->traits = 0;
	for (int level = 0; level < LEVELS; level++)
	{
		const uint8 *end_of_this = end_of_level(at, end);

		weights->sizes[level] = Min(end_of_this - at, WEIGHTS_MAX);
		memcpy(weights->bytes[level], at, weights->sizes[level]);
		if (level > 0 && weights->sizes[level] > 0 &&
			!(weights->sizes[level] == 1 && *at == images->plain_weight))
			weights->traits |= NOT_PLAIN;
		at = Min(end_of_this + 1, end);
	}
	weights->tie_size = 0;
	while (at < end && *at == SEPARATOR) /* of the fourth level there is one before each weight */
		at++;
	if (images->icu == NULL && weights->sizes[0] + weights->sizes[1] + weights->sizes[2] == 0)
	{
		weights->tie_size = Min(end_of_level(at, end) - at, TIE_MAX);
		memcpy(weights->tie, at, weights->tie_size);
	}
	if (weights->sizes[0] + weights->sizes[1] + weights->sizes[2] == 0)
		weights->traits |=
			(weights->tie_size > 0 ? WITHOUT_WEIGHTS : 0) | (is_printed(character, len) ? 0 : UNKNOWN);
}

/* Bytes of a character of several, of which there are that many at most. */
static inline Size
length_of_long(const SortKeyImages *images, const char *character, Size most)
{
	uint8 first = *character;
	Size len;

	if (likely(images->encoding == PG_UTF8))
		len = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
	else
		len = pg_encoding_mblen(images->encoding, character);
	return Min(len, most);
}

/* Where the weights of a character are remembered. */
static inline Weights *
place_of_long(SortKeyImages *images, uint32 character)
{
	uint32 hash = character * 0x9E3779B1;

	if (unlikely(images->others == NULL))
		images->others = MemoryContextAllocZero(GetMemoryChunkContext(images), REMEMBERED * sizeof(Weights));
	return &images->others[hash >> (32 - REMEMBERED_BITS)];
}

/* Those of the character at *at, which moves behind it. */
static inline const Weights *
weights_of(SortKeyImages *images, const char **at, const char *end)
{
	const char *start = *at;
	uint32 character = (uint8) *start;
	Weights *weights = &images->bytes[character];
	Size len = 1;

	*at += 1;
	if (IS_HIGHBIT_SET(character) && !images->single_bytes)
	{
		len = length_of_long(images, start, end - start);
		*at = start + len;
		len = Min(len, CHARACTER_MAX);
		for (Size i = 1; i < len; i++)
			character = character << 8 | (uint8) start[i];
		weights = place_of_long(images, character);
	}
	if (unlikely(weights->character != character))
	{
		weights->character = character;
		learn_weights(images, weights, start, len);
	}
	return weights;
}

/* ---------------------------------------------------------------- images */

/* Of a level behind the first one, what ends as those of plain letters do is left out. */
static uint8 *
drop_plain_weights(const SortKeyImages *images, const uint8 *start, uint8 *end)
{
	while (end > start && end[-1] == images->plain_weight)
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

/* Stores the string's weights at one level. */
static inline uint8 *
store_level(SortKeyImages *images, int level, const char *bytes, const char *end, uint8 *dst, uint8 *traits)
{
	while (bytes < end)
	{
		const Weights *weights = weights_of(images, &bytes, end);

		memcpy(dst, weights->bytes[level], WEIGHTS_MAX);
		dst += weights->sizes[level];
		*traits |= weights->traits;
	}
	return dst;
}

/*
 * Stores the image of a string as its characters have it; returns what is behind it.  whole: not only of its
 * beginning.
 */
static uint8 *
store_image(SortKeyImages *images, const char *bytes, const char *end, bool whole, uint8 *dst, uint8 *traits)
{
	const uint8 *start = dst;

	dst = store_level(images, 0, bytes, end, dst, traits);
	for (int level = 1; level < LEVELS && whole && (*traits & NOT_PLAIN); level++)
	{
		*dst++ = SEPARATOR;
		dst = drop_plain_weights(images, dst, store_level(images, level, bytes, end, dst, traits));
	}
	return drop_separators(start, dst);
}

/* Of a string's characters, how many have weights in its image? */
static uint64
count_imaged(SortKeyImages *images, const char *bytes, const char *end)
{
	uint64 count = 0;

	while (bytes < end)
		count += weights_of(images, &bytes, end)->tie_size == 0;
	return count;
}

/*
 * Stores what a string's characters without weights say of its order; returns what is behind it.
 * string_tells: the string says more.
 *
 * At the fourth level each of them comes before all that have weights, and the end of the string before any.
 * So of two strings that are the same but for them the one comes first that has fewer others before the first
 * place where they differ, unless there are no others left: then the shorter one.
 */
static uint8 *
store_ties(SortKeyImages *images, const char *bytes, const char *end, bool string_tells, uint8 *dst)
{
	uint8 first = *bytes;
	uint64 left = count_imaged(images, bytes, end);
	uint64 since = 0;
	uint8 *class = dst++;
	int told = 0;
	bool in_front = false;

	while (bytes < end && told < TIES_MAX)
	{
		const Weights *weights = weights_of(images, &bytes, end);

		if (weights->tie_size == 0)
		{
			since++;
			left--;
			if (left == 0 && in_front)
				*dst++ = TIES_ALL;
			continue;
		}
		if (left > 0)
		{
			*dst++ = Min(since + 1, TIES_ALL - 1);
			in_front = true;
		}
		since = 0;
		memcpy(dst, weights->tie, TIE_MAX);
		dst += weights->tie_size;
		told++;
	}
	*class = in_front ? TIES_IN_FRONT : TIES_BEHIND;
	*dst++ = 0;
	if (string_tells || first == STRING_TELLS || bytes < end)
		*dst++ = STRING_TELLS;
	return dst;
}

/*
 * Stores the image of a string as the library gives it for the whole string, where store_image puts it
 * together from the characters' weights; returns what is behind it.
 */
static uint8 *
store_asked_image(SortKeyImages *images, const char *bytes, const char *end, bool whole, uint8 *dst)
{
	const uint8 *start = dst;
	const uint8 *at = images->image;
	const uint8 *end_of_image = at + ask_library(images, bytes, end - bytes);

	for (int level = 0; level < (whole ? LEVELS : 1) && at < end_of_image; level++)
	{
		const uint8 *end_of_this = end_of_level(at, end_of_image);
		Size size = Min(end_of_this - at, WEIGHTS_MAX * IMAGED_BYTES_MAX);

		if (level > 0)
			*dst++ = SEPARATOR;
		memcpy(dst, at, size);
		dst = level > 0 ? drop_plain_weights(images, dst, dst + size) : dst + size;
		at = Min(end_of_this + 1, end_of_image);
	}
	return drop_separators(start, dst);
}

/* Has the C library the same weights at the first level? */
static bool
is_by_character(SortKeyImages *images, const char *bytes, const char *end, const uint8 *image, Size size)
{
	const uint8 *end_of_image = images->image + ask_library(images, bytes, end - bytes);
	Size asked = end_of_level(images->image, end_of_image) - images->image;
	Size stored = end_of_level(image, image + size) - image;

	return asked == stored && memcmp(images->image, image, stored) == 0;
}

/* Looks at some of the strings whether the library says the same of them. */
static pg_noinline void
check_image(SortKeyImages *images, const char *bytes, const char *end, const uint8 *image, Size size)
{
	images->checked++;
	images->deviations += images->icu != NULL ? !sort_key_icu_is_by_character(images->icu, bytes, end - bytes)
											  : !is_by_character(images, bytes, end, image, size);
	if (images->checked >= CHECKED_FIRST)
		images->asks_always = images->deviations * DEVIATIONS_MAX > images->checked;
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

/* Between an image and a string, without ties; is there something that only the string tells? */
static void
append_no_ties(SortKeyBuilder *key, const char *bytes, Size len, bool string_tells)
{
	if (string_tells || (len > 0 && begins_ties((uint8) *bytes)))
		sort_key_append_byte(key, STRING_TELLS);
}

/* Where the part of a string ends that is imaged, which no character goes across. */
static const char *
end_of_imaged(const SortKeyImages *images, const char *bytes, Size len)
{
	const char *end = bytes + Min(len, IMAGED_BYTES_MAX);

	if (len <= IMAGED_BYTES_MAX || images->single_bytes)
		return end;
	return bytes + pg_encoding_mbcliplen(images->encoding, bytes, len, IMAGED_BYTES_MAX);
}

/* Appends an image and its end, and ties if there are any. */
static void
append_image(SortKeyBuilder *key, SortKeyImages *images, const char *bytes, Size len)
{
	const char *end = end_of_imaged(images, bytes, len);
	bool whole = end == bytes + len;
	uint8 *image = sort_key_reserve(key, IMAGE_ROOM + 1 + TIES_ROOM);
	uint64 strings = images->strings++;
	uint8 traits = 0;
	bool string_tells;
	Size size;

	if (unlikely(images->asks_always))
		size = store_asked_image(images, bytes, end, whole, image) - image;
	else
	{
		size = store_image(images, bytes, end, whole, image, &traits) - image;
		if (unlikely(strings < CHECKED_FIRST || strings % CHECKED_EVERY == 0))
			check_image(images, bytes, end, image, size);
	}
	if (unlikely(gpusort_spoiled_images > 0))
		spoil_image(image, size);
	image[size++] = 0;
	string_tells = !whole || images->asks_always || (traits & UNKNOWN);
	if (whole && (traits & WITHOUT_WEIGHTS))
		key->length += store_ties(images, bytes, end, string_tells, image + size) - image;
	else
	{
		key->length += size;
		append_no_ties(key, bytes, len, string_tells);
	}
}

void
sort_key_append_imaged(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	Size len;
	const char *bytes = sort_key_text_bytes(key, col, value, &len);

	if (!key->without_images)
		append_image(key, col->images, bytes, len);
	else
	{
		sort_key_append_byte(key, 0);
		append_no_ties(key, bytes, len, false);
	}
	sort_key_append_terminated(key, bytes, len, 0);
}
