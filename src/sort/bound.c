/*
 * sort/bound.c
 *		Which rows of a sort can still be among the first ones that are wanted.
 *
 * The threshold is right because n rows that were counted, and so were kept, are not above it, and only rows
 * above it are dropped.  Of rows that equal it those may be dropped that come after the n were counted: one
 * of the n takes their place, and which of several equal rows comes first is nobody's business.  (Not if the
 * equal ones are wanted too; and not rows that may be among the n themselves, because they come a second
 * time.)
 *
 * A key longer than what is looked at is taken to be greater than a key that ends there, which it is, and
 * equal to all others that are longer and agree so far.  Such keys are counted together and kept together.
 */
#include "postgres.h"

#include "sort/bound.h"

/*
 * Keys are added up when so many have been kept, or one in so many of the rows wanted, if that is less; after
 * twice as many each time that no row was dropped meanwhile, as in rows that come in reverse order.
 */
#define FLUSH_INTERVAL_MIN 32
#define FLUSH_INTERVAL_MAX 1024
#define FLUSH_SHARE 16

/* New splitters are taken from at least so many samples. */
#define FRESH_SAMPLES_MIN (BOUND_SAMPLES / 4)

/* ---------------------------------------------------------------- keys */

static int
compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(BoundKey));
}

/* The key as far as it is looked at. */
static void
load_key(const uint8 *key, Size size, BoundKey *result)
{
	Size looked_at = Min(size, BOUND_KEY_BYTES);

	memcpy(result->bytes, key, looked_at);
	memset(result->bytes + looked_at, 0, BOUND_KEY_BYTES - looked_at);
	result->more = size > BOUND_KEY_BYTES;
}

static inline bool
splitter_is_below(const BoundFilter *filter, int splitter, uint64 word, const BoundKey *key)
{
	uint64 first_word = filter->first_words[splitter];

	if (unlikely(first_word == word))
		return compare_keys(&filter->splitters[splitter], key) < 0;
	return first_word < word;
}

/* The first splitter that is not below the key; nsplitters: there is none.  Its steps have no branches. */
static int
find_splitter(const BoundFilter *filter, const BoundKey *key)
{
	uint64 word = bound_first_word(key->bytes, sizeof(word));
	int length = filter->nsplitters;
	int low = 0;

	/* what comes in reverse order is below all of them */
	if (length == 0 || word < filter->first_words[0])
		return 0;
	while (length > 1)
	{
		int half = length / 2;

		low += half * splitter_is_below(filter, low + half - 1, word, key);
		length -= half;
	}
	return low + splitter_is_below(filter, low, word, key);
}

static void
count_keys(BoundFilter *filter, const BoundKey *key, uint32 n)
{
	int splitter = find_splitter(filter, key);

	if (splitter < filter->nsplitters)
		filter->counts[splitter] += n;
}

/* ---------------------------------------------------------------- beginning */

Size
bound_memory(int processes)
{
	return sizeof(SortBound) + processes * sizeof(BoundFilter);
}

void
bound_init(SortBound *bound, uint64 rows, bool with_ties)
{
	bound->rows = rows;
	bound->with_ties = with_ties;
	pg_atomic_init_u32(&bound->version, 0);
	SpinLockInit(&bound->mutex);
}

static uint64
shortest_flush_interval(const SortBound *bound)
{
	return Max(FLUSH_INTERVAL_MIN, Min(FLUSH_INTERVAL_MAX, bound->rows / FLUSH_SHARE));
}

BoundFilter *
bound_filter_create(SortBound *bound)
{
	BoundFilter *filter = palloc(sizeof(BoundFilter));

	memset(filter, 0, offsetof(BoundFilter, splitters));
	filter->bound = bound;
	filter->flush_interval = shortest_flush_interval(bound);
	filter->flush_at = BOUND_SAMPLES;
	filter->refine_at = FRESH_SAMPLES_MIN;
	bound_filter_refresh(filter);
	return filter;
}

/* ---------------------------------------------------------------- dropping */

static bool
read_threshold(SortBound *bound, BoundKey *threshold)
{
	bool has_threshold;

	SpinLockAcquire(&bound->mutex);
	has_threshold = bound->has_threshold;
	if (has_threshold)
		*threshold = bound->splitters[bound->nsplitters - 1];
	SpinLockRelease(&bound->mutex);
	return has_threshold;
}

void
bound_filter_refresh(BoundFilter *filter)
{
	SortBound *bound = filter->bound;

	/* if it changes before the threshold is read, that is read once more than it has to be */
	filter->version = pg_atomic_read_u32(&bound->version);
	filter->has_threshold = read_threshold(bound, &filter->threshold);
	filter->threshold_word = bound_first_word(filter->threshold.bytes, sizeof(uint64));
	/* keys that go on behind what is looked at need not be equal */
	filter->drops_equal = filter->has_threshold && !bound->with_ties && !filter->threshold.more;
}

bool
bound_filter_drops_close(const BoundFilter *filter, const uint8 *key, Size size)
{
	BoundKey loaded;
	int order = memcmp(key, filter->threshold.bytes, Min(size, BOUND_KEY_BYTES));

	if (order == 0)
	{
		load_key(key, size, &loaded);
		order = compare_keys(&loaded, &filter->threshold);
	}
	return order > 0 || (order == 0 && filter->drops_equal);
}

static bool
not_above_threshold(const uint8 *key, Size size, void *threshold)
{
	BoundKey loaded;

	load_key(key, size, &loaded);
	return compare_keys(&loaded, threshold) <= 0;
}

static void
add_dropped(SortBound *bound, uint64 rows)
{
	SpinLockAcquire(&bound->mutex);
	bound->dropped += rows;
	SpinLockRelease(&bound->mutex);
}

uint64
bound_cut_chunk(SortBound *bound, Chunk *chunk)
{
	BoundKey threshold;
	uint64 cut;

	if (!read_threshold(bound, &threshold))
		return 0;
	cut = chunk_keep_only(chunk, not_above_threshold, &threshold);
	add_dropped(bound, cut);
	return cut;
}

uint64
bound_dropped(SortBound *bound)
{
	uint64 dropped;

	SpinLockAcquire(&bound->mutex);
	dropped = bound->dropped;
	SpinLockRelease(&bound->mutex);
	return dropped;
}

/* ---------------------------------------------------------------- counting */

/*
 * Takes over the splitters of now; what was counted up to an old one counts up to the new one that is not
 * below it.
 */
static void
adopt_splitters(BoundFilter *filter)
{
	SortBound *bound = filter->bound;
	BoundKey old_splitters[BOUND_SPLITTERS];
	uint32 old_counts[BOUND_SPLITTERS];
	int nold = filter->nsplitters;
	bool is_first = filter->generation == 0;

	memcpy(old_splitters, filter->splitters, sizeof(BoundKey) * nold);
	memcpy(old_counts, filter->counts, sizeof(uint32) * nold);
	SpinLockAcquire(&bound->mutex);
	filter->generation = bound->generation;
	filter->nsplitters = bound->nsplitters;
	memcpy(filter->splitters, bound->splitters, sizeof(BoundKey) * bound->nsplitters);
	SpinLockRelease(&bound->mutex);

	memset(filter->counts, 0, sizeof(uint32) * BOUND_SPLITTERS);
	for (int i = 0; i < filter->nsplitters; i++)
		filter->first_words[i] = bound_first_word(filter->splitters[i].bytes, sizeof(uint64));
	for (int i = 0; i < nold; i++)
		count_keys(filter, &old_splitters[i], old_counts[i]);
	/* keys that were kept before there were any splitters */
	for (uint64 i = 0; is_first && i < Min(filter->noted, BOUND_SAMPLES); i++)
		count_keys(filter, &filter->samples[i], 1);
}

/* Finds the lowest splitter that enough rows are not above.  The caller holds the lock. */
static void
lower_threshold(SortBound *bound)
{
	uint64 rows = 0;

	for (int i = 0; i < bound->nsplitters; i++)
	{
		rows += bound->counts[i];
		if (rows < bound->rows)
			continue;
		if (!bound->has_threshold || i < bound->nsplitters - 1)
		{
			bound->has_threshold = true;
			bound->nsplitters = i + 1;
			pg_atomic_write_u32(&bound->version, pg_atomic_read_u32(&bound->version) + 1);
		}
		return;
	}
}

/* Adds this process's counts to the bound's; false: the splitters have been replaced meanwhile. */
static bool
add_counts(BoundFilter *filter)
{
	SortBound *bound = filter->bound;
	bool is_current;

	SpinLockAcquire(&bound->mutex);
	is_current = bound->generation == filter->generation;
	if (is_current)
	{
		for (int i = 0; i < bound->nsplitters; i++)
			bound->counts[i] += filter->counts[i];
		lower_threshold(bound);
		filter->nsplitters = bound->nsplitters;
	}
	SpinLockRelease(&bound->mutex);
	return is_current;
}

static void
add_all_counts(BoundFilter *filter)
{
	while (!add_counts(filter))
		adopt_splitters(filter);
	memset(filter->counts, 0, sizeof(uint32) * BOUND_SPLITTERS);
}

/* ---------------------------------------------------------------- splitters */

/*
 * The old splitters, fewer than half of what there is room for, and between them keys kept lately; in order,
 * all different.
 */
static BoundKey *
choose_splitters(const BoundFilter *filter, int *nchosen)
{
	uint64 nsamples = Min(filter->fresh, BOUND_SAMPLES);
	int nold = filter->nsplitters;
	int step = (nsamples + BOUND_SPLITTERS - nold - 1) / (BOUND_SPLITTERS - nold);
	BoundKey *keys = palloc(sizeof(BoundKey) * (nsamples + nold));
	int nkept = 0;
	int n = 0;

	for (uint64 i = 0; i < nsamples; i++)
	{
		const BoundKey *sample = &filter->samples[(filter->noted - 1 - i) % BOUND_SAMPLES];

		if (nold == 0 || compare_keys(sample, &filter->splitters[nold - 1]) <= 0)
			keys[nkept++] = *sample;
	}
	qsort(keys, nkept, sizeof(BoundKey), compare_keys);
	for (int i = step - 1; i < nkept; i += step)
		keys[n++] = keys[i];
	memcpy(keys + n, filter->splitters, sizeof(BoundKey) * nold);
	n += nold;
	qsort(keys, n, sizeof(BoundKey), compare_keys);
	*nchosen = 0;
	for (int i = 0; i < n; i++)
	{
		if (*nchosen == 0 || compare_keys(&keys[*nchosen - 1], &keys[i]) != 0)
			keys[(*nchosen)++] = keys[i];
	}
	return keys;
}

/* Makes the chosen splitters those of all, unless others have done so meanwhile. */
static void
install_splitters(const BoundFilter *filter, const BoundKey *chosen, int n)
{
	SortBound *bound = filter->bound;
	uint64 counts[BOUND_SPLITTERS];
	int old = 0;

	SpinLockAcquire(&bound->mutex);
	if (bound->generation == filter->generation && bound->nsplitters == filter->nsplitters)
	{
		memcpy(counts, bound->counts, sizeof(uint64) * bound->nsplitters);
		for (int i = 0; i < n; i++)
		{
			bool is_old = old < filter->nsplitters && compare_keys(&chosen[i], &filter->splitters[old]) == 0;

			bound->splitters[i] = chosen[i];
			bound->counts[i] = is_old ? counts[old++] : 0;
		}
		bound->nsplitters = n;
		bound->generation++;
		pg_atomic_write_u32(&bound->version, pg_atomic_read_u32(&bound->version) + 1);
	}
	SpinLockRelease(&bound->mutex);
}

static void
refine_splitters(BoundFilter *filter)
{
	int n;
	BoundKey *chosen = choose_splitters(filter, &n);

	filter->fresh = 0;
	if (n > filter->nsplitters)
		install_splitters(filter, chosen, n);
	/* where few keys are different, this need not be tried again and again */
	filter->refine_at =
		n > filter->nsplitters + BOUND_SPLITTERS / 8 ? FRESH_SAMPLES_MIN : filter->refine_at * 2;
	pfree(chosen);
}

/* ---------------------------------------------------------------- what a feed calls */

/* Adds up what was counted, in the end or when it is time. */
static void
flush(BoundFilter *filter)
{
	uint64 dropped = filter->dropped - filter->dropped_added;

	add_dropped(filter->bound, dropped);
	filter->dropped_added = filter->dropped;
	filter->flush_interval = dropped > 0 ? shortest_flush_interval(filter->bound)
										 : Min(filter->flush_interval * 2, FLUSH_INTERVAL_MAX);
	filter->flush_at = filter->noted + filter->flush_interval;
	add_all_counts(filter);
	if (filter->nsplitters < BOUND_SPLITTERS / 2 && filter->fresh >= filter->refine_at)
	{
		refine_splitters(filter);
		add_all_counts(filter);
	}
}

void
bound_filter_note(BoundFilter *filter, const uint8 *key, Size size)
{
	BoundKey *sample = &filter->samples[filter->noted % BOUND_SAMPLES];

	load_key(key, size, sample);
	if (filter->generation > 0)
		count_keys(filter, sample, 1);
	filter->noted++;
	filter->fresh++;
	if (unlikely(filter->noted >= filter->flush_at))
		flush(filter);
}

void
bound_filter_free(BoundFilter *filter)
{
	flush(filter);
	pfree(filter);
}
