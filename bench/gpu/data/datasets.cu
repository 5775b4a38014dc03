/*
 * datasets.cu
 *		Making the string data sets: the table, files, and the simple generators.
 *
 * A string is a function of its number, so that all processors make strings at the same time: once to learn
 * the lengths, once more to write them where they belong.
 */
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

#include "gpu/data/datasets.h"

static size_t
write_artificial_2(uint64_t, uint64_t, uint8_t *out)
{
	memset(out, 'A', 101);
	return 101;
}

/* Letters a to i, each less frequent than the one before, and now and then nothing but a. */
static size_t
write_artificial_4(uint64_t i, uint64_t seed, uint8_t *out)
{
	static const uint16_t rarer[] = {27525, 11560, 4855, 2039, 857, 360, 151, 63};
	StringRandom random(seed, i);
	size_t length = 13 + (size_t) (-3.0 * log(1 - random.fraction()));

	if (random.below(100000) == 0)
	{
		memset(out, 'a', 80);
		return 80;
	}
	length = std::min<size_t>(80, length);
	for (size_t at = 0; at < length; at++)
	{
		uint64_t bits = random.next() >> 48;
		int letter = 0;

		while (letter < 8 && bits < rarer[letter])
			letter++;
		out[at] = (uint8_t) ('a' + letter);
	}
	return length;
}

static size_t
write_artificial_5(uint64_t i, uint64_t seed, uint8_t *out)
{
	StringRandom random(seed, i);
	size_t length = 1 + random.below(100);

	memset(out, 'A', length);
	return length;
}

static size_t
write_random(uint64_t i, uint64_t seed, uint8_t *out)
{
	StringRandom random(seed, i);
	size_t length = 92 + random.below(18);

	for (size_t at = 0; at < length; at++)
		out[at] = (uint8_t) (33 + random.below(94));
	return length;
}

static size_t
write_genome(uint64_t i, uint64_t seed, uint8_t *out)
{
	StringRandom random(seed, i);
	uint64_t bits = random.next();

	for (int at = 0; at < 9; at++, bits >>= 2)
		out[at] = (uint8_t) "acgt"[bits & 3];
	return 9;
}

const Dataset datasets[NDATASETS] = {
	{"artificial-2", 1000000, write_artificial_2, false, 101, 15, 127, 367, 357, 12.5},
	{"artificial-4", 10000000, write_artificial_4, false, 13, 15, 328, 601, 2237, 13.3},
	{"artificial-5", 1000000, write_artificial_5, false, 50, 17, 113, 299, 317, 10.8},
	{"dictcalls", 100187, write_dictcalls, true, 15, 6, 11, 28, 38, 1.8},
	{"random", 1000000, write_random, false, 2, 1, 12, 23, 31, 3.0},
	{"words", 10000000, write_words, true, 7, 9, 154, 423, 1340, 8.4},
	{"url", 10000000, write_url, true, 29, 37, 782, 1160, 5331, 9.3},
	{"genome", 31623000, write_genome, true, 8, 2, 445, 1488, 0, 19.7},
	{"sentences", 1800000, write_sentences, true, 17, 11, 119, 219, 408, 5.1},
	{"pc-filelist", 10000000, write_pc_filelist, true, 59, 33, 1182, 1723, 4791, 6.5},
};

/* Calls work(first, last) for parts of 0 .. n, on all processors. */
static void
run_in_parts(uint64_t n, const std::function<void(uint64_t, uint64_t)> &work)
{
	uint64_t parts = std::max(1u, std::thread::hardware_concurrency());
	std::vector<std::thread> threads;

	for (uint64_t part = 0; part < parts; part++)
		threads.emplace_back(work, n * part / parts, n * (part + 1) / parts);
	for (std::thread &thread : threads)
		thread.join();
}

/* Fills a set by a function that writes string i and returns its length. */
static void
make_set(uint64_t n, const std::function<size_t(uint64_t, uint8_t *)> &write, StringSet *set)
{
	set->offsets.assign(n + 1, 0);
	run_in_parts(n, [&](uint64_t first, uint64_t last) {
		uint8_t scratch[STRING_MAX];

		for (uint64_t i = first; i < last; i++)
			set->offsets[i + 1] = write(i, scratch);
	});
	for (uint64_t i = 0; i < n; i++)
		set->offsets[i + 1] += set->offsets[i];
	set->bytes.resize(set->offsets[n]);
	run_in_parts(n, [&](uint64_t first, uint64_t last) {
		uint8_t scratch[STRING_MAX];

		for (uint64_t i = first; i < last; i++)
		{
			size_t length = write(i, scratch);

			memcpy(set->bytes.data() + set->offsets[i], scratch, length);
		}
	});
}

/* The lines of a file that are not empty, without their ends, cut at what a string may hold with a prefix. */
static bool
read_lines(const std::string &path, std::vector<std::string> *lines)
{
	std::ifstream file(path, std::ios::binary);
	std::string line;

	if (!file)
		return false;
	while (std::getline(file, line))
	{
		if (!line.empty())
			lines->push_back(line.substr(0, STRING_MAX - 16));
	}
	return !lines->empty();
}

/* What tells the copy-th copy of a real data set from the others: as the paper did with pc-filelist. */
static size_t
write_copy_prefix(const Dataset *dataset, uint64_t copy, bool copied, uint8_t *out)
{
	size_t length = 0;

	if (!copied)
		return 0;
	if (strcmp(dataset->name, "pc-filelist") == 0)
		return (size_t) snprintf((char *) out, 16, "node%u/", (unsigned int) copy + 1);
	for (; copy > 0 && length < 8; copy /= 26)
		out[length++] = (uint8_t) ('a' + copy % 26);
	return length;
}

/* A step that visits 0 .. n - 1 out of order, each once. */
static uint64_t
scattering_step(uint64_t n)
{
	uint64_t step = (uint64_t) (0.6180339887 * (double) n) | 1;
	uint64_t a;
	uint64_t b;

	do
	{
		step += 2;
		for (a = n, b = step; b != 0;)
		{
			uint64_t rest = a % b;

			a = b;
			b = rest;
		}
	} while (a != 1);
	return step;
}

static void
make_from_lines(const Dataset *dataset, uint64_t n, const std::vector<std::string> &lines,
				const std::string &path, StringSet *set)
{
	uint64_t nlines = lines.size();
	uint64_t copies = (n + nlines - 1) / nlines;
	uint64_t step = scattering_step(n);

	make_set(
		n,
		[&](uint64_t i, uint8_t *out) {
		uint64_t from = (uint64_t) ((unsigned __int128) i * step % n);
		const std::string &line = lines[nlines > n ? from * (nlines / n) : from % nlines];
		size_t prefix = write_copy_prefix(dataset, from / nlines, copies > 1, out);

		memcpy(out + prefix, line.data(), line.size());
		return prefix + line.size();
		},
		set);
	set->source = path + ": " + std::to_string(nlines) + " lines" +
				  (copies > 1 ? " in " + std::to_string(copies) + " copies with prefixes" : "");
}

void
dataset_make(const Dataset *dataset, uint64_t n, const char *data, uint64_t seed, StringSet *set)
{
	std::vector<std::string> lines;
	std::string path = data && dataset->real ? std::string(data) + "/" + dataset->name : "";

	if (!path.empty() && read_lines(path, &lines))
	{
		make_from_lines(dataset, n, lines, path, set);
		return;
	}
	make_set(
		n, [&](uint64_t i, uint8_t *out) { return dataset->writer(i, seed, out); }, set);
	set->source = "generated";
}

void
dataset_thin(const StringSet *set, int k, StringSet *result)
{
	make_set(
		set->offsets.size() - 1,
		[&](uint64_t i, uint8_t *out) {
		size_t length = 0;

		for (uint64_t at = set->offsets[i] + (uint64_t) k - 1; at < set->offsets[i + 1]; at += (uint64_t) k)
			out[length++] = set->bytes[at];
		return length;
		},
		result);
	result->source = set->source;
}

void
dataset_stretch(const StringSet *set, int k, StringSet *result)
{
	make_set(
		set->offsets.size() - 1,
		[&](uint64_t i, uint8_t *out) {
		size_t length = 0;

		for (uint64_t at = set->offsets[i]; at < set->offsets[i + 1]; at++)
		{
			for (int copy = 0; copy < k && length < STRING_MAX; copy++)
				out[length++] = set->bytes[at];
		}
		return length;
		},
		result);
	result->source = set->source;
}

void
dataset_double(const StringSet *set, StringSet *result)
{
	uint64_t n = set->offsets.size() - 1;

	make_set(
		2 * n,
		[&](uint64_t i, uint8_t *out) {
		uint64_t from = set->offsets[i % n];
		size_t length = set->offsets[i % n + 1] - from;

		memcpy(out, set->bytes.data() + from, length);
		return length;
		},
		result);
	result->source = set->source;
}
