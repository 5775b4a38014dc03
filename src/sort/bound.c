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

static inline int
compare_bound_keys(const BoundKey *a, const BoundKey *b, int nwords)
{
	return compare_host_words(a->words, b->words, nwords);
}

/* The key as far as it is looked at. */
static void
load_key(const SortBound *bound, const uint8 *key, Size size, BoundKey *result)
{
	if (bound->variable)
	{
		Size looked_at = Min(size, BOUND_KEY_BYTES);

		memcpy(result->words, key, looked_at);
		memset((char *) result->words + looked_at, 0, BOUND_KEY_BYTES - looked_at);
		result->words[BOUND_KEY_WORDS - 1] = 0;
		for (int i = 0; i < BOUND_KEY_WORDS - 1; i++)
			result->words[i] = KEY_WORD_TO_HOST(result->words[i]);
		result->words[BOUND_KEY_WORDS - 1] = size > BOUND_KEY_BYTES;
		return;
	}
	for (int i = 0; i < bound->nwords; i++)
		result->words[i] = KEY_WORD_TO_HOST(((const uint64 *) key)[i]);
}

/* Do two keys that were loaded as this one equal each other? */
static bool
is_whole(const SortBound *bound, const BoundKey *key)
{
	return !bound->variable || key->words[BOUND_KEY_WORDS - 1] == 0;
}

/* The first of n splitters that is not below the key; n: there is none. */
static int
find_splitter(const BoundKey *splitters, int n, const BoundKey *key, int nwords)
{
	int low = 0;

	while (n > low)
	{
		int middle = (low + n) / 2;

		if (compare_bound_keys(&splitters[middle], key, nwords) < 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* The same by first words, as long as they tell. */
static int
find_bucket(const BoundFilter *filter, const BoundKey *key)
{
	const uint64 *first = filter->first_words;
	int length = filter->nsplitters;
	uint64 word = key->words[0];

	/* what comes in reverse order is below all of them */
	if (length > 0 && word < *first)
		return 0;
	while (length > 1)
	{
		int half = length / 2;

		first += first[half - 1] < word ? half : 0;
		length -= half;
	}
	if (length == 1 && *first < word)
		first++;
	if (first == filter->first_words + filter->nsplitters || *first > word)
		return first - filter->first_words;
	length = first - filter->first_words;
	return length +
		   find_splitter(filter->splitters + length, filter->nsplitters - length, key, filter->bound->nwords);
}

/* ---------------------------------------------------------------- beginning */

Size
bound_memory(int processes)
{
	Size filter = sizeof(BoundFilter) + sizeof(BoundKey) * BOUND_SAMPLES +
				  (sizeof(BoundKey) + sizeof(uint64) + sizeof(uint32)) * BOUND_SPLITTERS;

	return sizeof(SortBound) + processes * filter;
}

void
bound_init(SortBound *bound, const SortKey *key, uint64 rows, bool with_ties)
{
	bound->rows = rows;
	bound->with_ties = with_ties;
	bound->variable = key->variable;
	bound->nwords = key->variable ? BOUND_KEY_WORDS : key->width / sizeof(uint64);
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
	BoundFilter *filter = palloc0(sizeof(BoundFilter));

	filter->bound = bound;
	filter->flush_interval = shortest_flush_interval(bound);
	filter->flush_at = BOUND_SAMPLES;
	filter->refine_at = FRESH_SAMPLES_MIN;
	filter->splitters = palloc(sizeof(BoundKey) * BOUND_SPLITTERS);
	filter->first_words = palloc(sizeof(uint64) * BOUND_SPLITTERS);
	filter->counts = palloc0(sizeof(uint32) * BOUND_SPLITTERS);
	filter->samples = palloc(sizeof(BoundKey) * BOUND_SAMPLES);
	bound_filter_refresh(filter);
	return filter;
}

/* ---------------------------------------------------------------- dropping */

/* The threshold as bytes, which a variable key is compared with faster than it is loaded. */
static void
unload_threshold(BoundFilter *filter)
{
	uint64 words[BOUND_KEY_WORDS - 1];

	for (int i = 0; i < BOUND_KEY_WORDS - 1; i++)
		words[i] = KEY_WORD_TO_HOST(filter->threshold.words[i]);
	memcpy(filter->threshold_bytes, words, BOUND_KEY_BYTES);
	filter->threshold_size = BOUND_KEY_BYTES;
	while (filter->threshold_size > 0 && filter->threshold_bytes[filter->threshold_size - 1] == 0)
		filter->threshold_size--;
}

/* As compare_bound_keys of the variable key, loaded, and the threshold. */
static int
compare_bytes(const BoundFilter *filter, const uint8 *key, Size size)
{
	Size looked_at = Min(size, BOUND_KEY_BYTES);
	Size both = Min(looked_at, filter->threshold_size);
	int order = memcmp(key, filter->threshold_bytes, both);

	if (order != 0)
		return order;
	if (looked_at < filter->threshold_size)
		return -1;
	for (Size i = both; i < looked_at; i++)
	{
		if (key[i] != 0)
			return 1;
	}
	return (int) (size > BOUND_KEY_BYTES) - (int) filter->threshold.words[BOUND_KEY_WORDS - 1];
}

void
bound_filter_refresh(BoundFilter *filter)
{
	SortBound *bound = filter->bound;

	SpinLockAcquire(&bound->mutex);
	filter->version = pg_atomic_read_u32(&bound->version);
	filter->has_threshold = bound->has_threshold;
	if (bound->has_threshold)
		filter->threshold = bound->splitters[bound->nsplitters - 1];
	SpinLockRelease(&bound->mutex);
	if (filter->has_threshold && bound->variable)
		unload_threshold(filter);
	filter->drops_equal = filter->has_threshold && !bound->with_ties && is_whole(bound, &filter->threshold);
}

static int
compare_with_threshold(const BoundFilter *filter, const uint8 *key, Size size)
{
	BoundKey loaded;

	if (filter->bound->variable)
		return compare_bytes(filter, key, size);
	load_key(filter->bound, key, size, &loaded);
	return compare_bound_keys(&loaded, &filter->threshold, filter->bound->nwords);
}

bool
bound_filter_drops_close(const BoundFilter *filter, const uint8 *key, Size size)
{
	int order = compare_with_threshold(filter, key, size);

	return order > 0 || (order == 0 && filter->drops_equal);
}

static bool
not_above_threshold(const uint8 *key, Size size, void *arg)
{
	return compare_with_threshold(arg, key, size) <= 0;
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
	BoundFilter filter = {.bound = bound};
	uint64 cut;

	bound_filter_refresh(&filter);
	if (!filter.has_threshold)
		return 0;
	cut = chunk_keep_only(chunk, not_above_threshold, &filter);
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
		filter->first_words[i] = filter->splitters[i].words[0];
	for (int i = 0; i < nold; i++)
	{
		int bucket = find_splitter(filter->splitters, filter->nsplitters, &old_splitters[i], bound->nwords);

		if (bucket < filter->nsplitters)
			filter->counts[bucket] += old_counts[i];
	}
	/* keys that were kept before there were any splitters */
	for (uint64 i = 0; is_first && i < Min(filter->noted, BOUND_SAMPLES); i++)
	{
		int bucket = find_bucket(filter, &filter->samples[i]);

		if (bucket < filter->nsplitters)
			filter->counts[bucket]++;
	}
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

/* A splitter to be. */
typedef struct NewSplitter
{
	BoundKey key;
	int old; /* the old splitter that it is; -1: none */
} NewSplitter;

static int
compare_new_splitters(const void *a, const void *b, void *nwords)
{
	const NewSplitter *x = a;
	const NewSplitter *y = b;
	int order = compare_bound_keys(&x->key, &y->key, *(int *) nwords);

	/* of equal ones the old one comes first, and the others are left out */
	return order != 0 ? order : y->old - x->old;
}

/*
 * The old splitters, fewer than half of what there is room for, and between them keys kept lately; in order,
 * all different.  Returns their number.
 */
static int
choose_splitters(const BoundFilter *filter, NewSplitter *chosen)
{
	int nwords = filter->bound->nwords;
	uint64 nsamples = Min(filter->fresh, BOUND_SAMPLES);
	int nold = filter->nsplitters;
	int step = (nsamples + BOUND_SPLITTERS - nold - 1) / Max(BOUND_SPLITTERS - nold, 1);
	NewSplitter *samples = palloc(sizeof(NewSplitter) * (nsamples + nold));
	int nkept = 0;
	int n = 0;

	for (uint64 i = 0; i < nsamples; i++)
	{
		const BoundKey *sample = &filter->samples[(filter->noted - 1 - i) % BOUND_SAMPLES];

		if (nold > 0 && compare_bound_keys(sample, &filter->splitters[nold - 1], nwords) > 0)
			continue;
		samples[nkept].key = *sample;
		samples[nkept++].old = -1;
	}
	qsort_arg(samples, nkept, sizeof(NewSplitter), compare_new_splitters, &nwords);
	for (int i = step - 1; i < nkept; i += step)
		samples[n++] = samples[i];
	for (int i = 0; i < nold; i++)
	{
		samples[n].key = filter->splitters[i];
		samples[n++].old = i;
	}
	qsort_arg(samples, n, sizeof(NewSplitter), compare_new_splitters, &nwords);
	nkept = 0;
	for (int i = 0; i < n && nkept < BOUND_SPLITTERS; i++)
	{
		if (nkept == 0 || compare_bound_keys(&chosen[nkept - 1].key, &samples[i].key, nwords) != 0)
			chosen[nkept++] = samples[i];
	}
	pfree(samples);
	return nkept;
}

/* Makes the chosen splitters those of all, unless others have done so meanwhile. */
static void
install_splitters(BoundFilter *filter, const NewSplitter *chosen, int n)
{
	SortBound *bound = filter->bound;
	uint64 counts[BOUND_SPLITTERS];

	SpinLockAcquire(&bound->mutex);
	if (bound->generation == filter->generation && bound->nsplitters == filter->nsplitters)
	{
		memcpy(counts, bound->counts, sizeof(uint64) * bound->nsplitters);
		for (int i = 0; i < n; i++)
		{
			bound->splitters[i] = chosen[i].key;
			bound->counts[i] = chosen[i].old >= 0 ? counts[chosen[i].old] : 0;
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
	NewSplitter *chosen = palloc(sizeof(NewSplitter) * BOUND_SPLITTERS);
	int n = choose_splitters(filter, chosen);

	filter->fresh = 0;
	if (n > filter->nsplitters)
		install_splitters(filter, chosen, n);
	/* where few keys are different, this need not be tried again and again */
	filter->refine_at =
		n > filter->nsplitters + BOUND_SPLITTERS / 8 ? FRESH_SAMPLES_MIN : filter->refine_at * 2;
	pfree(chosen);
}

/* ---------------------------------------------------------------- what a feed calls */

/* Adds the counts to the bound, at the end or at intervals. */
void
bound_filter_flush(BoundFilter *filter)
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

	load_key(filter->bound, key, size, sample);
	if (filter->generation > 0)
	{
		int bucket = find_bucket(filter, sample);

		if (bucket < filter->nsplitters)
			filter->counts[bucket]++;
	}
	filter->noted++;
	filter->fresh++;
	if (unlikely(filter->noted >= filter->flush_at))
		bound_filter_flush(filter);
}
