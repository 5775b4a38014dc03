/*
 * sort/key_words.h
 *		Keys by words of 8 bytes.
 */
#ifndef GPUSORT_SORT_KEY_WORDS_H
#define GPUSORT_SORT_KEY_WORDS_H

#include "postgres.h"

#include "port/pg_bswap.h"

/* The widest fixed key in 64-bit words. */
#define KEY_MAX_WORDS 4

/* Makes 8 bytes of a key, as loaded from memory, an integer that orders as they do. */
#ifdef WORDS_BIGENDIAN
#define KEY_WORD_TO_HOST(word) (word)
#else
#define KEY_WORD_TO_HOST(word) pg_bswap64(word)
#endif

/*
 * Orders keys of nwords words in host order, the most significant one first: less than, equal to or more
 * than 0.
 */
static inline int
compare_host_words(const uint64 *a, const uint64 *b, int nwords)
{
	for (int i = 0; i < nwords; i++)
	{
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

/* compare_host_words for words as loaded from memory. */
static inline int
compare_key_words(const uint64 *a, const uint64 *b, int nwords)
{
	for (int i = 0; i < nwords; i++)
	{
		if (a[i] != b[i])
			return KEY_WORD_TO_HOST(a[i]) < KEY_WORD_TO_HOST(b[i]) ? -1 : 1;
	}
	return 0;
}

/* Returns the first 8 bytes of a key as an integer; fixed keys have at least 8 bytes. */
static inline uint64
key_first_word(const uint8 *key, Size size)
{
	uint64 word = 0;

	memcpy(&word, key, size < sizeof(word) ? size : sizeof(word));
	return KEY_WORD_TO_HOST(word);
}

#endif /* GPUSORT_SORT_KEY_WORDS_H */
