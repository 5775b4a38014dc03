/*
 * oracle.cu
 *		Proofs, on the host, that a sort's result is right.
 *
 * Keys without payloads can't be followed: small inputs are sorted again by std::sort, large ones must have
 * the same sum and the same exclusive or of strong hashes as the result.
 */
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "check/proof/oracle.h"

#define MAX_THREADS 16
#define ROWS_PER_THREAD 65536
#define SORTED_AGAIN 4096

/* Runs work(begin, end) over parts of 0 .. n - 1, in several threads if n is large. */
template <typename Work>
static void
run_parallel(uint64_t n, const Work &work)
{
	uint64_t threads =
		std::min<uint64_t>(std::min<uint64_t>(MAX_THREADS, std::thread::hardware_concurrency()),
						   n / ROWS_PER_THREAD);
	std::vector<std::thread> others;

	if (threads < 2)
	{
		work(0, n);
		return;
	}
	for (uint64_t t = 1; t < threads; t++)
		others.emplace_back(work, n * t / threads, n * (t + 1) / threads);
	work(0, n / threads);
	for (std::thread &other : others)
		other.join();
}

/* The smallest row at which something was wrong. */
class FirstWrong
{
public:
	void note(uint64_t row)
	{
		uint64_t seen = first.load();

		while (row < seen && !first.compare_exchange_weak(seen, row))
			;
	}

	bool none() const
	{
		return first.load() == UINT64_MAX;
	}

	unsigned long long row() const
	{
		return first.load();
	}

private:
	std::atomic<uint64_t> first{UINT64_MAX};
};

static const uint8_t *
key_at(const void *keys, uint64_t i, int key_bytes)
{
	return (const uint8_t *) keys + i * (uint64_t) key_bytes;
}

/* Like memcmp, in the order of the format. */
static int
key_compare(DevSortKeyFormat format, int key_bytes, const uint8_t *a, const uint8_t *b)
{
	if (format == DEVSORT_KEY_BYTES)
		return memcmp(a, b, key_bytes);
	if (key_bytes == 4)
	{
		uint32_t x;
		uint32_t y;

		memcpy(&x, a, 4);
		memcpy(&y, b, 4);
		return x < y ? -1 : x > y;
	}
	for (int at = 0; at < key_bytes; at += 8)
	{
		uint64_t x;
		uint64_t y;

		memcpy(&x, a + at, 8);
		memcpy(&y, b + at, 8);
		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

/*
 * The odd number's inverse modulo 2^32, by Newton's iteration: every step doubles the right bits, of which 3
 * are right at first.
 */
static uint32_t
inverse_of(uint32_t odd)
{
	uint32_t inverse = odd;

	for (int step = 0; step < 4; step++)
		inverse *= 2 - odd * inverse;
	return inverse;
}

static bool
check_rising(const FixedResult *result, Why *why)
{
	FirstWrong wrong;

	run_parallel(result->n, [&](uint64_t begin, uint64_t end) {
		for (uint64_t i = std::max<uint64_t>(begin, 1); i < end; i++)
		{
			if (key_compare(result->format, result->key_bytes,
							key_at(result->sorted_keys, i - 1, result->key_bytes),
							key_at(result->sorted_keys, i, result->key_bytes)) > 0)
				return wrong.note(i);
		}
	});
	return wrong.none() || why_say(why, "sorted key %llu is less than the one before it", wrong.row());
}

/* Is every row named once, and does it bring its own key? */
static bool
check_payloads(const FixedResult *result, Why *why)
{
	uint32_t inverse = inverse_of(result->rule.multiplier);
	std::vector<uint8_t> seen(result->n);
	FirstWrong outside;
	FirstWrong twice;
	FirstWrong changed;

	run_parallel(result->n, [&](uint64_t begin, uint64_t end) {
		for (uint64_t i = begin; i < end; i++)
		{
			uint32_t row = (result->sorted_payloads[i] - result->rule.offset) * inverse;

			if (row >= result->n)
				return outside.note(i);
			if (__atomic_exchange_n(&seen[row], 1, __ATOMIC_RELAXED))
				return twice.note(i);
			if (memcmp(key_at(result->keys, row, result->key_bytes),
					   key_at(result->sorted_keys, i, result->key_bytes), result->key_bytes) != 0)
				return changed.note(i);
		}
	});
	if (!outside.none())
		return why_say(why, "payload %llu of the result, %u, was not in the input", outside.row(),
					   result->sorted_payloads[outside.row()]);
	if (!twice.none())
		return why_say(why, "payload %llu of the result, %u, comes a second time", twice.row(),
					   result->sorted_payloads[twice.row()]);
	return changed.none() || why_say(why, "key %llu of the result is not that of its payload", changed.row());
}

static bool
check_sorted_again(const FixedResult *result, Why *why)
{
	std::vector<uint64_t> order(result->n);

	std::iota(order.begin(), order.end(), UINT64_C(0));
	std::sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
		return key_compare(result->format, result->key_bytes, key_at(result->keys, a, result->key_bytes),
						   key_at(result->keys, b, result->key_bytes)) < 0;
	});
	for (uint64_t i = 0; i < result->n; i++)
	{
		if (memcmp(key_at(result->keys, order[i], result->key_bytes),
				   key_at(result->sorted_keys, i, result->key_bytes), result->key_bytes) != 0)
			return why_say(why, "key %llu of the result is not the one std::sort has there",
						   (unsigned long long) i);
	}
	return true;
}

typedef struct MultisetHash
{
	uint64_t sum;
	uint64_t exclusive_or;
} MultisetHash;

static MultisetHash
hash_keys(const void *keys, const FixedResult *result)
{
	std::atomic<uint64_t> sum{0};
	std::atomic<uint64_t> exclusive_or{0};

	run_parallel(result->n, [&](uint64_t begin, uint64_t end) {
		MultisetHash part = {0, 0};

		for (uint64_t i = begin; i < end; i++)
		{
			uint64_t hash = 0;

			for (int at = 0; at < result->key_bytes; at += 8)
			{
				uint64_t word = 0;

				memcpy(&word, key_at(keys, i, result->key_bytes) + at, std::min(8, result->key_bytes - at));
				hash = distribution_random(hash, word, at);
			}
			part.sum += hash;
			part.exclusive_or ^= distribution_random(hash, 0, 99);
		}
		sum += part.sum;
		exclusive_or ^= part.exclusive_or;
	});
	return MultisetHash{sum.load(), exclusive_or.load()};
}

static bool
check_same_keys(const FixedResult *result, Why *why)
{
	MultisetHash before;
	MultisetHash after;

	if (result->n <= SORTED_AGAIN)
		return check_sorted_again(result, why);
	before = hash_keys(result->keys, result);
	after = hash_keys(result->sorted_keys, result);
	if (before.sum != after.sum || before.exclusive_or != after.exclusive_or)
		return why_say(why, "the keys of the result are not those of the input");
	return true;
}

bool
oracle_check_fixed(const FixedResult *result, Why *why)
{
	if (!check_rising(result, why))
		return false;
	return result->sorted_payloads ? check_payloads(result, why) : check_same_keys(result, why);
}

/* memcmp order, a string before its continuations. */
static bool
string_is_less(const StringsResult *result, uint32_t a, uint32_t b)
{
	uint64_t a_bytes = result->offsets[a + UINT64_C(1)] - result->offsets[a];
	uint64_t b_bytes = result->offsets[b + UINT64_C(1)] - result->offsets[b];
	uint64_t common = std::min(a_bytes, b_bytes);
	int order = common == 0
					? 0
					: memcmp(result->bytes + result->offsets[a], result->bytes + result->offsets[b], common);

	return order != 0 ? order < 0 : a_bytes < b_bytes;
}

bool
oracle_check_strings(const StringsResult *result, Why *why)
{
	std::vector<uint8_t> seen(result->n);
	FirstWrong wrong;

	for (uint64_t i = 0; i < result->n; i++)
	{
		uint32_t row = result->sorted_indexes[i];

		if (row >= result->n)
			return why_say(why, "index %llu of the result, %u, is not below n", (unsigned long long) i, row);
		if (seen[row])
			return why_say(why, "index %llu of the result, %u, comes a second time", (unsigned long long) i,
						   row);
		seen[row] = 1;
	}
	run_parallel(result->n, [&](uint64_t begin, uint64_t end) {
		for (uint64_t i = std::max<uint64_t>(begin, 1); i < end; i++)
		{
			if (string_is_less(result, result->sorted_indexes[i], result->sorted_indexes[i - 1]))
				return wrong.note(i);
		}
	});
	return wrong.none() || why_say(why, "sorted string %llu is less than the one before it", wrong.row());
}
