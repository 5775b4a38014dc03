/*
 * base/stream_copy.h
 *		Copies for another processor, past the caches of this one.
 *
 * What is copied in the ordinary way stays in this processor's caches as its own, from where another one
 * fetches it more slowly than from memory, a line at a time.
 */
#ifndef GPUSORT_BASE_STREAM_COPY_H
#define GPUSORT_BASE_STREAM_COPY_H

#include "postgres.h"

#ifdef __x86_64__
#include <emmintrin.h>
#endif

/* Copies so many bytes, a multiple of 8; both ends are aligned to 8 bytes. */
static inline void
stream_copy(char *to, const char *from, Size size)
{
#ifdef __x86_64__
	for (Size i = 0; i < size; i += sizeof(int64))
		_mm_stream_si64((long long *) (to + i), *(const long long *) (from + i));
#else
	memcpy(to, from, size);
#endif
}

/* After the last copy, before others are told of them. */
static inline void
stream_copy_end(void)
{
#ifdef __x86_64__
	_mm_sfence();
#endif
}

#endif /* GPUSORT_BASE_STREAM_COPY_H */
