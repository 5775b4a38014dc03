/*
 * x86_simd_sort.cc
 *		Intel's x86-simd-sort, a vectorised quicksort, for the processor that this is compiled for.  Keys and
 *		rows are in arrays of their own.
 */
#include <cstdint>

#include <omp.h>

#include <x86simdsort-static-incl.h>

#include "cpu/rivals/rivals.h"

static void
sort_keys(void *keys, void *, size_t n, int threads)
{
	omp_set_num_threads(threads);
	x86simdsortStatic::qsort(static_cast<uint64_t *>(keys), n);
}

template <typename Row>
static void
sort_pairs(void *keys, void *rows, size_t n, int threads)
{
	omp_set_num_threads(threads);
	x86simdsortStatic::keyvalue_qsort(static_cast<uint64_t *>(keys), static_cast<Row *>(rows), n);
}

static const RivalSort sorts[] = {
	{KEYS, true, sort_keys},
	{KEYS_APART_FROM_ROWS, true, sort_pairs<uint64_t>},
	{KEYS_APART_FROM_NUMBERS, true, sort_pairs<uint32_t>},
};

const Rival x86_simd_sort_rival = {"x86-simd-sort", sorts, sizeof(sorts) / sizeof(sorts[0])};
