/*
 * ips4o.cc
 *		ips4o, a sample sort in place.  Its threads need TBB's headers; where these are missing it has one.
 */
#include <cstdint>

#include <ips4o.hpp>

#include "cpu/rivals/aggregates.h"
#include "cpu/rivals/rivals.h"

template <typename Item>
static void
sort_items(void *items, void *, size_t n, int threads)
{
	Item *first = static_cast<Item *>(items);

	if (threads > 1)
		ips4o::parallel::sort(first, first + n, Before(), threads);
	else
		ips4o::sort(first, first + n, Before());
}

static const RivalSort sorts[] = {
	{KEYS, true, sort_items<uint64_t>},
	{KEY_THEN_ROW, true, sort_items<KeyThenRow>},
	{KEY_THEN_NUMBER, true, sort_items<KeyThenNumber>},
	{WIDE_KEYS, true, sort_items<TwoWords>},
	{WIDE_KEY_THEN_ROW, true, sort_items<TwoWordsThenRow>},
};

const Rival ips4o_rival = {"ips4o", sorts, sizeof(sorts) / sizeof(sorts[0])};
