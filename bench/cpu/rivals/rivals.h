/*
 * rivals.h
 *		What a library of sorts gives to be measured, in C and in C++.
 */
#ifndef GPUSORT_RIVALS_H
#define GPUSORT_RIVALS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * How items lie in memory.  Words of keys are integers in host order, of which the first decides.  A row is
 * the address of 8 bytes, or a number of 4 bytes.
 */
typedef enum ItemLayout
{
	KEYS,
	KEY_THEN_ROW,
	ROW_THEN_KEY,
	KEY_THEN_NUMBER, /* 12 bytes */
	KEYS_APART_FROM_ROWS,
	KEYS_APART_FROM_NUMBERS,
	WIDE_KEYS,
	WIDE_KEYS_LAST_WORD_FIRST,
	WIDE_KEY_THEN_ROW,
	NITEM_LAYOUTS
} ItemLayout;

/* Sorts n items; rows is the array of rows where that is apart from the keys. */
typedef void (*SortItems)(void *keys, void *rows, size_t n, int threads);

typedef struct RivalSort
{
	ItemLayout layout;
	bool parallel; /* does it take more than one thread? */
	SortItems sort;
} RivalSort;

typedef struct Rival
{
	const char *name;
	const RivalSort *sorts;
	int nsorts;
} Rival;

/* One each file; all but the first need a library's headers. */
extern const Rival std_rival;
extern const Rival ips4o_rival;
extern const Rival vqsort_rival;
extern const Rival x86_simd_sort_rival;

#ifdef __cplusplus
}
#endif

#endif /* GPUSORT_RIVALS_H */
