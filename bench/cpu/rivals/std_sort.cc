/*
 * std_sort.cc
 *		The C++ library's sort, which is always there.
 */
#include <algorithm>
#include <cstdint>

#include "cpu/rivals/aggregates.h"
#include "cpu/rivals/rivals.h"

template <typename Item>
static void
sort_items(void *items, void *, size_t n, int)
{
	Item *first = static_cast<Item *>(items);

	std::sort(first, first + n, Before());
}

static const RivalSort sorts[] = {
	{KEYS, false, sort_items<uint64_t>},
	{KEY_THEN_ROW, false, sort_items<KeyThenRow>},
	{KEY_THEN_NUMBER, false, sort_items<KeyThenNumber>},
	{WIDE_KEYS, false, sort_items<TwoWords>},
	{WIDE_KEY_THEN_ROW, false, sort_items<TwoWordsThenRow>},
};

const Rival std_rival = {"std::sort", sorts, sizeof(sorts) / sizeof(sorts[0])};
