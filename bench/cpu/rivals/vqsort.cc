/*
 * vqsort.cc
 *		Highway's vqsort, a vectorised quicksort, for the processor that this is compiled for.
 */
#include <cstdint>

#define VQSORT_ONLY_STATIC 1
#include <hwy/highway.h>
#include <hwy/contrib/sort/vqsort-inl.h>

#include "cpu/rivals/rivals.h"

HWY_BEFORE_NAMESPACE();
namespace HWY_NAMESPACE
{

template <typename Item>
static void
sort_items(void *items, void *, size_t n, int)
{
	hwy::HWY_NAMESPACE::VQSortStatic(static_cast<Item *>(items), n, hwy::SortAscending());
}

static const RivalSort sorts[] = {
	{KEYS, false, sort_items<uint64_t>},
	{ROW_THEN_KEY, false, sort_items<hwy::K64V64>},
	{WIDE_KEYS_LAST_WORD_FIRST, false, sort_items<hwy::uint128_t>},
};

} // namespace HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

const Rival vqsort_rival = {"vqsort", HWY_NAMESPACE::sorts,
							sizeof(HWY_NAMESPACE::sorts) / sizeof(HWY_NAMESPACE::sorts[0])};
