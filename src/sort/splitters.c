/*
 * sort/splitters.c
 *		Keys that cut the order of a sort into parts.
 */
#include "postgres.h"

#include <math.h>

#include "sort/splitters.h"

void
splitter_set(Splitter *splitter, const uint8 *key, Size size)
{
	splitter->size = Min(size, SPLITTER_BYTES);
	memset(splitter->bytes, 0, sizeof(splitter->bytes));
	memcpy(splitter->bytes, key, splitter->size);
}

/* Orders bytes as keys are: a string before its continuations. */
static int
compare_bytes(const uint8 *a, Size a_size, const uint8 *b, Size b_size)
{
	int order = memcmp(a, b, Min(a_size, b_size));

	if (order == 0)
		order = a_size < b_size ? -1 : a_size > b_size;
	return order;
}

int
splitters_find_by_bytes(const SortSplitters *splitters, const uint8 *key, Size size)
{
	const Splitter *next = splitters->splitters;

	while (next < splitters->splitters + splitters->n &&
		   compare_bytes(key, size, next->bytes, next->size) >= 0)
		next++;
	return next - splitters->splitters;
}

static int
compare_entries(const void *a, const void *b)
{
	const Splitter *key = &((const KeySampleEntry *) a)->key;
	const Splitter *other = &((const KeySampleEntry *) b)->key;

	return compare_bytes(key->bytes, key->size, other->bytes, other->size);
}

void
key_sample_sort(KeySample *sample)
{
	qsort(sample->entries, sample->n, sizeof(KeySampleEntry), compare_entries);
}

/*
 * The entry from `first` on up to which the share of the rows below it is nearest to the one wanted; *below
 * is that share, and before the call what is below the entry `first`.  Of entries that are equal, as far as
 * splitters go, the first one counts: rows of all of them are above it.
 */
static int
nearest_entry(const KeySample *sample, int first, double wanted, double *below)
{
	double sum = *below;
	double nearest = HUGE_VAL;
	int found = -1;

	for (int i = first; i < sample->n; i++)
	{
		const KeySampleEntry *entry = &sample->entries[i];

		sum += entry->before;
		if ((i == 0 || compare_entries(entry - 1, entry) != 0) && fabs(sum - wanted) < nearest)
		{
			nearest = fabs(sum - wanted);
			found = i;
			*below = sum;
		}
		sum += entry->at;
	}
	return found;
}

double
splitters_choose(SortSplitters *splitters, const KeySample *sample, int parts)
{
	int next = 0;
	double cut = 0; /* the share of the rows below the last splitter */
	double sum = 0; /* below the entry `next` */
	double largest = 0;

	splitters->n = 0;
	while (splitters->n < parts - 1)
	{
		double below = sum;
		int found = nearest_entry(sample, next, (splitters->n + 1.0) / parts, &below);
		const Splitter *key;

		if (found < 0)
			break;
		key = &sample->entries[found].key;
		splitters->first_words[splitters->n] = key_first_word(key->bytes, key->size);
		splitters->splitters[splitters->n++] = *key;
		largest = Max(largest, below - cut);
		cut = below;
		sum = below + sample->entries[found].at;
		next = found + 1;
	}
	return Max(largest, 1 - cut);
}
