/*
 * splitter_checks.c
 *		Splitters of random samples: they ascend, each key belongs to the part that they say, and what the
 *		largest part is expected to have is what it has.
 *
 * Samples come in any order, as the statistics of a column do, and keys that agree in as much as a splitter
 * has of them come several times.
 */
#include "postgres.h"

#include "cpu/cpu_sort.h"
#include "sort/splitters.h"

#define ENTRIES_MAX 40

/* Beyond rounding. */
#define ABOUT 1e-9

static void
wrong(const char *what, const KeySample *sample)
{
	fail(what, "splitters", sample->n, 0);
}

/* One of so many different keys of 8 to 264 bytes, of which two in three differ behind the first word. */
static void
make_entry(KeySampleEntry *entry, uint64 values)
{
	uint8 key[SPLITTER_BYTES + sizeof(uint64)];
	uint64 number = random_below(values);
	Size size =
		sizeof(uint64) * (1 + (number % 3 > 0 ? random_below(2) * SPLITTER_BYTES / sizeof(uint64) : 0));

	memset(key, 3, sizeof(key));
	key[number % 3 == 0 ? 7 : 6] = (uint8) number;
	key[size - 1] = (uint8) (number >> 8);
	splitter_set(&entry->key, key, size);
	entry->before = random_below(3) * (double) random_below(100);
	entry->at = (double) (1 + random_below(100));
}

/* Shares of all rows, which are 1 together. */
static void
make_sample(KeySample *sample, int n, uint64 values)
{
	double all = 0;

	sample->n = n;
	for (int i = 0; i < n; i++)
	{
		make_entry(&sample->entries[i], values);
		all += sample->entries[i].before + sample->entries[i].at;
	}
	for (int i = 0; i < n; i++)
	{
		sample->entries[i].before /= all;
		sample->entries[i].at /= all;
	}
}

/* By what splitters are compared by, in the plainest way. */
static int
compare_splitters(const Splitter *a, const Splitter *b)
{
	int order = memcmp(a->bytes, b->bytes, Min(a->size, b->size));

	return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static void
prove_order(const KeySample *sample, const SortSplitters *splitters)
{
	for (int i = 1; i < sample->n; i++)
	{
		if (compare_splitters(&sample->entries[i - 1].key, &sample->entries[i].key) > 0)
			wrong("a sample is in no order", sample);
	}
	for (int i = 1; i < splitters->n; i++)
	{
		if (compare_splitters(&splitters->splitters[i - 1], &splitters->splitters[i]) >= 0)
			wrong("splitters do not ascend", sample);
	}
}

/*
 * Each key is in the part of the last splitter that is not greater; rows below it are in the same or one
 * before.
 */
static void
prove_parts(const KeySample *sample, const SortSplitters *splitters, double largest)
{
	double shares[SPLIT_PARTS_MAX] = {0};
	double found = 0;
	int before = 0;

	for (int i = 0; i < sample->n; i++)
	{
		const KeySampleEntry *entry = &sample->entries[i];
		int part = splitters_find(splitters, entry->key.bytes, entry->key.size);
		int right = 0;

		while (right < splitters->n && compare_splitters(&splitters->splitters[right], &entry->key) <= 0)
			right++;
		if (part != right)
			wrong("a key is in another part", sample);
		shares[before] += entry->before;
		shares[part] += entry->at;
		before = part;
	}
	for (int part = 0; part <= splitters->n; part++)
		found = Max(found, shares[part]);
	if (found > largest + ABOUT || found < largest - ABOUT)
		wrong("the largest part has another share than was said", sample);
}

void
check_splitters(void)
{
	KeySample sample = {.entries = palloc(sizeof(KeySampleEntry) * ENTRIES_MAX)};

	for (int i = 0; i < 2000; i++)
	{
		SortSplitters splitters;
		double largest;

		make_sample(&sample, 1 + (int) random_below(ENTRIES_MAX), 1 + random_below(1000));
		key_sample_sort(&sample);
		largest = splitters_choose(&splitters, &sample, 2 + (int) random_below(SPLIT_PARTS_MAX - 1));
		prove_order(&sample, &splitters);
		prove_parts(&sample, &splitters, largest);
	}
	pfree(sample.entries);
}
