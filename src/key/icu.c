/*
 * key/icu.c
 *		Variable sort keys of text under an ICU collation.
 *
 * ICU's sort keys compare as bytes just as its collator compares strings.  They hold no zero byte but the one
 * at their end, which is kept.  A nondeterministic collation needs no more.  A deterministic one takes
 * strings that ICU finds equal by their bytes: these follow, with a zero byte of their own at the end.
 * Either way the encoding is prefix-free.  Of some collations sort keys only guess at the order
 * (sort_key_icu_trust): keys of these have other images, made by images.c with what stands here.
 *
 * ICU takes 15 to 20 ns a character to make a sort key, more than all else that is done to a row.  Keys of
 * ASCII strings are put together by ourselves where that is known to give the same bytes (icu_ascii.c).  For
 * others, since columns of text often repeat their values, short strings are looked up in a cache first.
 * While that finds next to nothing it rests.
 */
#include "postgres.h"

#include "base/limits.h"
#include "base/pg_compat.h"
#include "key/builder.h"
#include "key/encoders.h"
#include "key/icu.h"
#include "key/icu_ascii.h"

#ifdef USE_ICU

#include <unicode/ucol.h>
#include <unicode/ucoleitr.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "utils/pg_locale.h"

#define INITIAL_CHARS 1024
#define REPLACEMENT_CHARACTER 0xFFFD
#define MAX_REORDER_CODES 256

#define WEIGHTS_IGNORED 0	   /* of a character, as ICU iterates over them */
#define ASCII_MAX_LENGTH 65536 /* longer strings are left to ICU */

/* A power of 2. */
#ifndef ICU_CACHE_ENTRIES
#define ICU_CACHE_ENTRIES 4096
#endif
#define CACHE_ENTRY_BYTES 188			   /* of a string and its sort key; longer ones are not cached */
#define CACHE_PERIOD 4096				   /* look-ups after which the cache is judged */
#define CACHE_MIN_HITS (CACHE_PERIOD / 16) /* with fewer of them it doesn't pay */
#define CACHE_REST (32 * CACHE_PERIOD)	   /* rows after which it gets another try */

typedef struct CacheEntry
{
	uint16 len;						/* of the string */
	uint16 size;					/* of the sort key; 0: empty */
	uint8 bytes[CACHE_ENTRY_BYTES]; /* the string, then the sort key */
} CacheEntry;

/* How many more, until the characters of the next collator are looked at. */
static int strings_until_ascii = ICU_ASCII_AFTER;

struct SortKeyIcu
{
	pg_locale_t locale;
	bool utf8;	  /* is the database's encoding UTF-8? */
	UChar *chars; /* the string in UTF-16 */
	int32 chars_size;
	CacheEntry *cache;	   /* ICU_CACHE_ENTRIES, by hash value; NULL: not needed yet */
	int lookups;		   /* in this period */
	int hits;			   /* in this period */
	int rest;			   /* rows for which the cache is not used */
	bool tries_ascii;	   /* is it still open whether ASCII strings go another way? */
	const IcuAscii *ascii; /* for ASCII strings, or NULL */
};

/*
 * ICU promises that sort keys order as its comparison does.  With a few settings it does not keep that.
 * Random strings of many scripts found, in ICU 72, 76 and 78, strings that the two order differently with:
 *
 *	- alternate handling "shifted", as th has it: 0045 0027, 0045 0027 FF9E
 *	- backwards accents, as fr-CA has them: 00FC, 00FC FEFF 0301
 *	- normalization, as bo, el, he, hi, vi and others have it, if combining marks above FFFF are out of order:
 *	  0039 1D170 0F7A, 0039 1D170 0F7A 0598
 *	- identical strength: 0061 0320, 0061 05A0 0320
 *	- Latin moved before digits: 0041, 0033
 *
 * and none with any other locale or setting.  All but the last one need rare characters, so keys guess well
 * at the order.  With the last one digits and letters alone will do, and comparisons contradict each other,
 * as strings of ASCII are compared in another way than others: nothing but PostgreSQL's own sort gives the
 * order that this gives.  Nor are guesses taken where different strings may be equal, and comparisons that
 * say so contradict each other.
 */
static const char *
inexact_setting(UCollator *collator, UErrorCode *status)
{
	if (ucol_getAttribute(collator, UCOL_ALTERNATE_HANDLING, status) != UCOL_NON_IGNORABLE)
		return "punctuation is ignored";
	if (ucol_getAttribute(collator, UCOL_FRENCH_COLLATION, status) != UCOL_OFF)
		return "accents count backwards";
	if (ucol_getAttribute(collator, UCOL_NORMALIZATION_MODE, status) != UCOL_OFF)
		return "strings are normalized";
	if (ucol_getStrength(collator) == UCOL_IDENTICAL)
		return "identical strength";
	return NULL;
}

/* Codes of scripts do no harm, those of digits, symbols and so on may. */
static bool
reorders_characters(UCollator *collator, UErrorCode *status)
{
	int32_t reorder[MAX_REORDER_CODES];
	int32_t nreorder = ucol_getReorderCodes(collator, reorder, MAX_REORDER_CODES, status);

	for (int i = 0; U_SUCCESS(*status) && i < nreorder; i++)
	{
		if (reorder[i] >= UCOL_REORDER_CODE_FIRST)
			return true;
	}
	return false;
}

SortKeyTrust
sort_key_icu_trust(Oid collation, const char **setting)
{
	pg_locale_t locale = pg_newlocale_from_collation(collation);
	UCollator *collator = pg_locale_icu_collator(locale);
	UErrorCode status = U_ZERO_ERROR;
	bool reorders = reorders_characters(collator, &status);

	*setting = reorders ? "digits or symbols are reordered" : inexact_setting(collator, &status);
	if (U_FAILURE(status))
		*setting = u_errorName(status);
	if (*setting == NULL)
		return SORT_KEY_EXACT;
	return reorders || U_FAILURE(status) || !locale->deterministic ? SORT_KEY_WRONG : SORT_KEY_GUESS;
}

bool
sort_key_knows_collation(Oid collation)
{
	return icu_ascii_is_known(pg_locale_icu_collator(pg_newlocale_from_collation(collation)));
}

SortKeyIcu *
sort_key_icu_create(Oid collation)
{
	SortKeyIcu *icu = palloc0(sizeof(SortKeyIcu));

	icu->locale = pg_newlocale_from_collation(collation);
	icu->utf8 = GetDatabaseEncoding() == PG_UTF8;
	icu->chars_size = INITIAL_CHARS;
	icu->chars = palloc(icu->chars_size * sizeof(UChar));
	icu->tries_ascii = icu->utf8;
	return icu;
}

/*
 * Converts UTF-8 to icu->chars; returns the number of them.  Bytes that are no UTF-8 become U+FFFD, as they
 * do when ICU compares UTF-8 strings.
 */
static int32
convert_utf8(SortKeyIcu *icu, const char *bytes, Size len)
{
	UErrorCode status = U_ZERO_ERROR;
	uint8 all = 0;
	int32 nchars;

	if (unlikely(len > icu->chars_size))
	{
		icu->chars_size = pg_nextpower2_32(len);
		pfree(icu->chars);
		icu->chars = MemoryContextAllocHuge(GetMemoryChunkContext(icu), icu->chars_size * sizeof(UChar));
	}

	/* mostly it is all ASCII, and that goes many bytes at a time */
	for (Size i = 0; i < len; i++)
	{
		icu->chars[i] = (uint8) bytes[i];
		all |= (uint8) bytes[i];
	}
	if ((all & 0x80) == 0)
		return len;

	u_strFromUTF8WithSub(icu->chars, icu->chars_size, &nchars, bytes, len, REPLACEMENT_CHARACTER, NULL,
						 &status);
	if (U_FAILURE(status))
		ereport(ERROR, (errmsg("%s failed: %s", "u_strFromUTF8WithSub", u_errorName(status))));
	return nchars;
}

/* Stores up to "room" bytes of the sort key, 00 and all; returns how many it has. */
static inline Size
store_sort_key(SortKeyIcu *icu, int32 nchars, const char *bytes, Size len, uint8 *dst, Size room)
{
	if (icu->utf8)
	{
		int32 size = ucol_getSortKey(pg_locale_icu_collator(icu->locale), icu->chars, nchars, dst,
									 Min(room, PG_INT32_MAX));

		if (size <= 0)
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
							errmsg("sort key generation failed for a string of %zu bytes", len)));
		return size;
	}
	return pg_strnxfrm((char *) dst, room, bytes, len, icu->locale) + 1;
}

/* Appends the sort key of a string to the key; returns the size of it. */
static Size
append_sort_key(SortKeyBuilder *key, SortKeyIcu *icu, const char *bytes, Size len)
{
	int32 nchars = icu->utf8 ? convert_utf8(icu, bytes, len) : 0;
	uint8 *dst = sort_key_reserve(key, 2 * len + 16);
	Size room = key->buffer_size - key->length;
	Size size = store_sort_key(icu, nchars, bytes, len, dst, room);

	key->asked_icu++;
	if (unlikely(size > room))
	{
		dst = sort_key_reserve(key, size);
		store_sort_key(icu, nchars, bytes, len, dst, size);
	}
	key->length += size;
	return size;
}

/* Shall the cache be asked about a string of this length? */
static inline bool
cache_is_worth_it(SortKeyIcu *icu, Size len)
{
	if (len > CACHE_ENTRY_BYTES / 3)
		return false;
	if (icu->rest > 0)
	{
		icu->rest--;
		return false;
	}
	if (icu->lookups == CACHE_PERIOD)
	{
		if (icu->hits < CACHE_MIN_HITS)
			icu->rest = CACHE_REST;
		icu->lookups = 0;
		icu->hits = 0;
	}
	icu->lookups++;
	return true;
}

/* The same as append_sort_key, from the cache if it is there. */
static void
append_cached_sort_key(SortKeyBuilder *key, SortKeyIcu *icu, const char *bytes, Size len)
{
	uint32 hash = hash_bytes((const unsigned char *) bytes, len);
	CacheEntry *entry;
	Size size;

	if (unlikely(icu->cache == NULL))
		icu->cache =
			MemoryContextAllocZero(GetMemoryChunkContext(icu), ICU_CACHE_ENTRIES * sizeof(CacheEntry));
	entry = &icu->cache[hash & (ICU_CACHE_ENTRIES - 1)];
	if (entry->len == len && entry->size > 0 && memcmp(entry->bytes, bytes, len) == 0)
	{
		memcpy(sort_key_reserve(key, entry->size), entry->bytes + len, entry->size);
		key->length += entry->size;
		icu->hits++;
		return;
	}

	size = append_sort_key(key, icu, bytes, len);
	if (len + size <= CACHE_ENTRY_BYTES)
	{
		entry->len = len;
		entry->size = size;
		memcpy(entry->bytes, bytes, len);
		memcpy(entry->bytes + len, key->buffer + key->length - size, size);
	}
}

/*
 * Looks at the collator's characters if this process has done so before, or has met strings enough, in all
 * its sorts together.
 */
static void
try_ascii(SortKeyIcu *icu)
{
	UCollator *collator = pg_locale_icu_collator(icu->locale);

	if (!icu_ascii_is_known(collator))
	{
		if (strings_until_ascii-- > 0)
			return;
		strings_until_ascii = ICU_ASCII_AFTER;
	}
	icu->ascii = icu_ascii_get(collator);
	icu->tries_ascii = false;
}

/* Appends the sort key of an ASCII string put together by ourselves; false if it can't be. */
static bool
append_ascii_sort_key(SortKeyBuilder *key, SortKeyIcu *icu, const char *bytes, Size len)
{
	Size size;

	if (unlikely(icu->tries_ascii))
		try_ascii(icu);
	if (icu->ascii == NULL || len > ASCII_MAX_LENGTH)
		return false;
	size = icu_ascii_sort_key(icu->ascii, bytes, len, sort_key_reserve(key, ICU_ASCII_ROOM(len)));
	key->length += size;
	return size > 0;
}

void
sort_key_append_icu(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	SortKeyIcu *icu = col->icu;
	Size len;
	const char *bytes = sort_key_text_bytes(key, col, value, &len);

	if (append_ascii_sort_key(key, icu, bytes, len))
		; /* done */
	else if (cache_is_worth_it(icu, len))
		append_cached_sort_key(key, icu, bytes, len);
	else
		append_sort_key(key, icu, bytes, len);

	if (icu->locale->deterministic)
		sort_key_append_string(key, bytes, len);
}

/* ---------------------------------------------------------------- for images */

Size
sort_key_icu_ask(SortKeyIcu *icu, const char *bytes, Size len, uint8 *dst, Size room)
{
	int32 nchars = icu->utf8 ? convert_utf8(icu, bytes, len) : 0;

	return store_sort_key(icu, nchars, bytes, len, dst, room) - 1;
}

/* The weights of the next character that is not ignored, or UCOL_NULLORDER. */
static int32_t
next_weights(UCollationElements *elements, UErrorCode *status)
{
	int32_t weights;

	do
		weights = ucol_next(elements, status);
	while (weights == WEIGHTS_IGNORED);
	return weights;
}

/* Do weights of single characters follow in those of the string?  one: to be set to each of them. */
static bool
are_weights_of_single(UCollationElements *all, UCollationElements *one, const UChar *chars, int32 nchars,
					  UErrorCode *status)
{
	for (int32 at = 0; at < nchars && U_SUCCESS(*status);)
	{
		int32 start = at;
		int32_t weights;

		U16_FWD_1(chars, at, nchars);
		ucol_setText(one, chars + start, at - start, status);
		while ((weights = next_weights(one, status)) != UCOL_NULLORDER)
		{
			if (weights != next_weights(all, status))
				return false;
		}
	}
	return next_weights(all, status) == UCOL_NULLORDER;
}

bool
sort_key_icu_is_by_character(SortKeyIcu *icu, const char *bytes, Size len)
{
	UCollator *collator = pg_locale_icu_collator(icu->locale);
	int32 nchars = icu->utf8 ? convert_utf8(icu, bytes, len) : 0;
	UErrorCode status = U_ZERO_ERROR;
	UCollationElements *all;
	UCollationElements *one;
	bool result;

	if (!icu->utf8)
		return false;
	all = ucol_openElements(collator, icu->chars, nchars, &status);
	one = ucol_openElements(collator, icu->chars, 0, &status);
	result = U_SUCCESS(status) && are_weights_of_single(all, one, icu->chars, nchars, &status);
	ucol_closeElements(all);
	ucol_closeElements(one);
	return result && U_SUCCESS(status);
}

#else /* !USE_ICU: no column is described as such */

SortKeyTrust
sort_key_icu_trust(Oid collation, const char **setting)
{
	*setting = "PostgreSQL was built without ICU";
	return SORT_KEY_WRONG;
}

bool
sort_key_knows_collation(Oid collation)
{
	return false;
}

SortKeyIcu *
sort_key_icu_create(Oid collation)
{
	elog(ERROR, "PostgreSQL was built without ICU");
}

void
sort_key_append_icu(SortKeyBuilder *key, SortKeyColumn *col, Datum value)
{
	elog(ERROR, "PostgreSQL was built without ICU");
}

Size
sort_key_icu_ask(SortKeyIcu *icu, const char *bytes, Size len, uint8 *dst, Size room)
{
	return 0;
}

bool
sort_key_icu_is_by_character(SortKeyIcu *icu, const char *bytes, Size len)
{
	return false;
}

#endif /* USE_ICU */
