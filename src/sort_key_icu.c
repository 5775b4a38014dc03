/*
 * sort_key_icu.c
 *		Variable sort keys of text under an ICU collation.
 *
 * ICU's sort keys compare as bytes just as its collator compares strings.  They
 * hold no zero byte but the one at their end, which is kept.  A nondeterministic
 * collation needs no more.  A deterministic one takes strings that ICU finds
 * equal by their bytes: these follow, with a zero byte of their own at the end.
 * Either way the encoding is prefix-free.
 */
#include "postgres.h"

#include "sort_key_types.h"

#ifdef USE_ICU

#include <unicode/ucol.h>
#include <unicode/ustring.h>

#include "mb/pg_wchar.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#define INITIAL_CHARS 1024
#define REPLACEMENT_CHARACTER 0xFFFD

struct SortKeyIcu
{
	pg_locale_t locale;
	bool		utf8;			/* is the database's encoding UTF-8? */
	UChar	   *chars;			/* the string in UTF-16 */
	int32		chars_size;
};

SortKeyIcu *
sort_key_icu_create(Oid collation)
{
	SortKeyIcu *icu = palloc(sizeof(SortKeyIcu));

	icu->locale = pg_newlocale_from_collation(collation);
	icu->utf8 = GetDatabaseEncoding() == PG_UTF8;
	icu->chars_size = INITIAL_CHARS;
	icu->chars = palloc(icu->chars_size * sizeof(UChar));
	return icu;
}

/*
 * Converts UTF-8 to icu->chars; returns the number of them.  Bytes that are no
 * UTF-8 become U+FFFD, as they do when ICU compares UTF-8 strings.
 */
static int32
convert_utf8(SortKeyIcu *icu, const char *bytes, Size len)
{
	UErrorCode	status = U_ZERO_ERROR;
	uint8		all = 0;
	int32		nchars;

	if (unlikely(len > icu->chars_size))
	{
		icu->chars_size = pg_nextpower2_32(len);
		pfree(icu->chars);
		icu->chars = MemoryContextAllocHuge(GetMemoryChunkContext(icu),
											icu->chars_size * sizeof(UChar));
	}

	/* mostly it is all ASCII, and that goes many bytes at a time */
	for (Size i = 0; i < len; i++)
	{
		icu->chars[i] = (uint8) bytes[i];
		all |= (uint8) bytes[i];
	}
	if ((all & 0x80) == 0)
		return len;

	u_strFromUTF8WithSub(icu->chars, icu->chars_size, &nchars, bytes, len,
						 REPLACEMENT_CHARACTER, NULL, &status);
	if (U_FAILURE(status))
		ereport(ERROR,
				(errmsg("%s failed: %s", "u_strFromUTF8WithSub", u_errorName(status))));
	return nchars;
}

/* Stores up to "room" bytes of the sort key, 00 and all; returns how many it has. */
static inline Size
store_sort_key(SortKeyIcu *icu, int32 nchars, const char *bytes, Size len, uint8 *dst, Size room)
{
	if (icu->utf8)
	{
		int32		size = ucol_getSortKey(icu->locale->info.icu.ucol, icu->chars, nchars,
										   dst, Min(room, PG_INT32_MAX));

		if (size <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("sort key generation failed for a string of %zu bytes", len)));
		return size;
	}
	return pg_strnxfrm((char *) dst, room, bytes, len, icu->locale) + 1;
}

void
sort_key_append_icu(SortKey *key, SortKeyColumn *col, Datum value)
{
	SortKeyIcu *icu = col->icu;
	Size		len;
	const char *bytes = sort_key_text_bytes(key, col, value, &len);
	int32		nchars = icu->utf8 ? convert_utf8(icu, bytes, len) : 0;
	Size		room = 2 * len + 16;
	Size		size;
	uint8	   *dst;

	dst = sort_key_reserve(key, room);
	room = key->buffer_size - key->length;
	size = store_sort_key(icu, nchars, bytes, len, dst, room);
	if (unlikely(size > room))
	{
		dst = sort_key_reserve(key, size);
		store_sort_key(icu, nchars, bytes, len, dst, size);
	}
	key->length += size;

	if (icu->locale->deterministic)
	{
		dst = sort_key_reserve(key, len + 1);
		memcpy(dst, bytes, len);
		dst[len] = 0;
		key->length += len + 1;
	}
}

#else							/* !USE_ICU: no column is described as such */

SortKeyIcu *
sort_key_icu_create(Oid collation)
{
	elog(ERROR, "PostgreSQL was built without ICU");
}

void
sort_key_append_icu(SortKey *key, SortKeyColumn *col, Datum value)
{
	elog(ERROR, "PostgreSQL was built without ICU");
}

#endif							/* USE_ICU */
