/*
 * oracle.cu
 *		Checks of the oracle itself: it accepts right results and catches planted errors.  Needs no device.
 */
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "check/proof/oracle.h"

/* A right result of fixed keys, to be spoilt. */
typedef struct Sample
{
	int key_bytes;
	DevSortKeyFormat format;
	uint64_t n;
	PayloadRule rule;
	std::vector<uint8_t> keys;
	std::vector<uint8_t> sorted_keys;
	std::vector<uint32_t> payloads;
} Sample;

static FixedResult
sample_result(const Sample *sample, bool with_payloads)
{
	FixedResult result = {sample->format,
						  sample->key_bytes,
						  sample->n,
						  sample->keys.data(),
						  sample->sorted_keys.data(),
						  with_payloads ? sample->payloads.data() : NULL,
						  sample->rule};

	return result;
}

/* The words of a key in the order of the format: numbers to be compared one after the other. */
static std::vector<uint64_t>
key_numbers(const Sample *sample, uint64_t row)
{
	const uint8_t *key = &sample->keys[row * sample->key_bytes];
	std::vector<uint64_t> numbers;

	if (sample->format == DEVSORT_KEY_BYTES)
		numbers.assign(key, key + sample->key_bytes);
	else if (sample->key_bytes == 4)
	{
		uint32_t word;

		memcpy(&word, key, 4);
		numbers.push_back(word);
	}
	else
	{
		numbers.resize(sample->key_bytes / 8);
		memcpy(numbers.data(), key, sample->key_bytes);
	}
	return numbers;
}

static Sample
make_sample(Check *check, int key_bytes, DevSortKeyFormat format, uint64_t n, Distribution distribution)
{
	uint64_t seed = check_random(check);
	Sample sample = {key_bytes, format,
					 n,			{(uint32_t) check_random(check) | 1, (uint32_t) check_random(check)},
					 {},		{},
					 {}};
	std::vector<std::vector<uint64_t>> numbers;
	std::vector<uint32_t> order(n);

	sample.keys.resize(n * key_bytes);
	sample.sorted_keys.resize(n * key_bytes);
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t words[4];
		uint32_t narrow;

		distribution_key(distribution, seed, i, n, key_bytes, words);
		narrow = (uint32_t) words[0];
		memcpy(&sample.keys[i * key_bytes], key_bytes == 4 ? (void *) &narrow : (void *) words, key_bytes);
		numbers.push_back(key_numbers(&sample, i));
	}
	std::iota(order.begin(), order.end(), 0);
	std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return numbers[a] < numbers[b]; });
	for (uint64_t i = 0; i < n; i++)
	{
		memcpy(&sample.sorted_keys[i * key_bytes], &sample.keys[(uint64_t) order[i] * key_bytes], key_bytes);
		sample.payloads.push_back(order[i] * sample.rule.multiplier + sample.rule.offset);
	}
	return sample;
}

static void
expect(Check *check, const FixedResult *result, bool right, const char *what)
{
	Why why = {};
	bool accepted = oracle_check_fixed(result, &why);

	if (accepted && !right)
		why_say(&why, "accepted");
	check_case(check, accepted == right, &why, "%s, %d bytes, format %d, n %llu, payloads %d", what,
			   result->key_bytes, (int) result->format, (unsigned long long) result->n,
			   result->sorted_payloads != NULL);
}

/* Spoils a copy of the sample, which the oracle must see. */
static void
expect_caught(Check *check, const Sample *sample, bool with_payloads, const char *what,
			  const std::function<void(Sample *)> &spoil)
{
	Sample spoilt = *sample;
	FixedResult result;

	spoil(&spoilt);
	result = sample_result(&spoilt, with_payloads);
	expect(check, &result, false, what);
}

static void
copy_row(Sample *sample, uint64_t from, uint64_t to)
{
	memcpy(&sample->sorted_keys[to * sample->key_bytes], &sample->sorted_keys[from * sample->key_bytes],
		   sample->key_bytes);
	sample->payloads[to] = sample->payloads[from];
}

static void
check_planted_errors(Check *check, const Sample *sample)
{
	uint64_t last = sample->n - 1;
	uint64_t at = check_random_below(check, last);
	int width = sample->key_bytes;

	for (int with = 0; with < 2; with++)
	{
		FixedResult result = sample_result(sample, with);

		expect(check, &result, true, "right result");
		expect_caught(check, sample, with, "first and last swapped", [&](Sample *spoilt) {
			std::swap_ranges(&spoilt->sorted_keys[0], &spoilt->sorted_keys[width],
							 &spoilt->sorted_keys[last * width]);
			std::swap(spoilt->payloads[0], spoilt->payloads[last]);
		});
		expect_caught(check, sample, with, "row lost and another doubled",
					  [&](Sample *spoilt) { copy_row(spoilt, at, at + 1); });
		expect_caught(check, sample, with, "last row lost",
					  [&](Sample *spoilt) { copy_row(spoilt, last - 1, last); });
		expect_caught(check, sample, with, "key changed in its last byte",
					  [&](Sample *spoilt) { spoilt->sorted_keys[(at + 1) * width - 1] ^= 1; });
		expect_caught(check, sample, with, "largest key made larger",
					  [&](Sample *spoilt) { memset(&spoilt->sorted_keys[last * width], 0xFF, width); });
	}
	expect_caught(check, sample, true, "payloads swapped",
				  [&](Sample *spoilt) { std::swap(spoilt->payloads[at], spoilt->payloads[at + 1]); });
	expect_caught(check, sample, true, "payload that never was", [&](Sample *spoilt) {
		spoilt->payloads[at] = (uint32_t) spoilt->n * spoilt->rule.multiplier + spoilt->rule.offset;
	});
	expect_caught(check, sample, true, "payload doubled",
				  [&](Sample *spoilt) { spoilt->payloads[at] = spoilt->payloads[at + 1]; });
}

/* Spoils a right order of strings, which the oracle must see. */
static void
check_planted_string_errors(Check *check)
{
	const char *words[] = {"", "a", "\0", "ab", "abc", "b", "\xff"};
	std::vector<uint8_t> bytes;
	std::vector<uint64_t> offsets = {0};
	const uint32_t right[] = {0, 2, 1, 3, 4, 5, 6};
	const uint32_t wrong[][7] = {{2, 0, 1, 3, 4, 5, 6},
								 {0, 2, 1, 4, 3, 5, 6},
								 {0, 2, 1, 3, 4, 6, 5},
								 {0, 2, 1, 3, 4, 5, 5},
								 {0, 2, 1, 3, 4, 5, 7}};
	StringsResult result = {7, NULL, NULL, right};
	Why why = {};

	for (int i = 0; i < 7; i++)
	{
		uint64_t length = i == 2 ? 1 : strlen(words[i]);

		bytes.insert(bytes.end(), (const uint8_t *) words[i], (const uint8_t *) words[i] + length);
		offsets.push_back(bytes.size());
	}
	result.bytes = bytes.data();
	result.offsets = offsets.data();
	check_case(check, oracle_check_strings(&result, &why), &why, "right order of strings");
	why_say(&why, "accepted");
	for (const uint32_t *order : wrong)
	{
		result.sorted_indexes = order;
		check_case(check, !oracle_check_strings(&result, &why), &why, "wrong order of strings");
	}
}

/* Every distribution must keep what its name promises. */
static void
check_distributions(Check *check)
{
	const uint64_t n = 20000;

	for (int d = 0; d < NCHECKED_DISTRIBUTIONS; d++)
	{
		std::vector<uint64_t> values;
		uint64_t words[4];
		uint64_t largest;
		size_t distinct;
		bool rises;
		bool right = distribution_by_name(distribution_name(d)) == d;
		Why why = {};

		for (uint64_t i = 0; i < n; i++)
		{
			distribution_key((Distribution) d, check->options.seed, d == REVERSED ? n - 1 - i : i, n, 8,
							 words);
			values.push_back(words[0]);
		}
		rises = std::is_sorted(values.begin(), values.end());
		std::sort(values.begin(), values.end());
		largest = values.back();
		distinct = std::unique(values.begin(), values.end()) - values.begin();
		right = right && rises == (d == SORTED || d == REVERSED || d == ALL_EQUAL);
		if (d == ALL_EQUAL || d == TWO_VALUES || d == LAST_DIFFERS)
			right = right && distinct == (d == ALL_EQUAL ? 1 : 2);
		else if (d == DETERMINISTIC_DUPLICATES || d == ZIPF || d == MID_DUPLICATES)
			right = right && distinct > 4 && distinct <= n / 8;
		else if (d == EXTREMES)
			right = right && distinct > n / 3 && values.front() == 0 && largest == UINT64_MAX;
		else
			right = right && distinct > n * 9 / 10;
		why_say(&why, "%zu distinct of %llu, rising %d", distinct, (unsigned long long) n, rises);
		check_case(check, right, &why, "%s, seed %llu", distribution_name(d),
				   (unsigned long long) check->options.seed);
	}
}

void
check_oracle(Check *check)
{
	const int widths[] = {4, 8, 16, 24, 32};
	const uint64_t sizes[] = {2, 33, 5000, 140000}; /* the last is for several threads */

	if (check_group_begin(check, "oracle: planted errors in fixed keys"))
	{
		for (int width : widths)
		{
			for (uint64_t n : sizes)
			{
				DevSortKeyFormat format = width % 3 ? DEVSORT_KEY_BYTES : DEVSORT_KEY_WORDS;
				Sample sample = make_sample(check, width, format, n, UNIFORM);

				check_planted_errors(check, &sample);
			}
		}
		for (int format = 0; format < 2; format++)
		{
			Sample sample = make_sample(check, 8, (DevSortKeyFormat) format, 6000, UNIFORM);

			check_planted_errors(check, &sample);
		}
		check_group_end(check);
	}
	if (check_group_begin(check, "oracle: planted errors in strings"))
	{
		check_planted_string_errors(check);
		check_group_end(check);
	}
	if (check_group_begin(check, "distributions"))
	{
		check_distributions(check);
		check_group_end(check);
	}
}
