/*
 * aggregates.h
 *		Items with a row behind the key, for sorts by comparison.
 */
#ifndef GPUSORT_RIVALS_AGGREGATES_H
#define GPUSORT_RIVALS_AGGREGATES_H

#include <cstdint>

struct KeyThenRow
{
	uint64_t key;
	uint64_t row;
};

#pragma pack(push, 4)
struct KeyThenNumber
{
	uint64_t key;
	uint32_t number;
};
#pragma pack(pop)
static_assert(sizeof(KeyThenNumber) == 12, "a row number must take 4 bytes");

struct TwoWords
{
	uint64_t words[2];
};

struct TwoWordsThenRow
{
	uint64_t words[2];
	uint64_t row;
};

/* Orders any of them by the key alone. */
struct Before
{
	bool operator()(uint64_t a, uint64_t b) const
	{
		return a < b;
	}
	bool operator()(const KeyThenRow &a, const KeyThenRow &b) const
	{
		return a.key < b.key;
	}
	bool operator()(const KeyThenNumber &a, const KeyThenNumber &b) const
	{
		return a.key < b.key;
	}
	bool operator()(const TwoWords &a, const TwoWords &b) const
	{
		return words_before(a.words, b.words);
	}
	bool operator()(const TwoWordsThenRow &a, const TwoWordsThenRow &b) const
	{
		return words_before(a.words, b.words);
	}

private:
	/* Without a branch, which sorts by comparison would pay for. */
	static bool words_before(const uint64_t *a, const uint64_t *b)
	{
		return ((unsigned __int128) a[0] << 64 | a[1]) < ((unsigned __int128) b[0] << 64 | b[1]);
	}
};

#endif /* GPUSORT_RIVALS_AGGREGATES_H */
