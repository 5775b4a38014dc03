/*
 * sort/sample_sort_impl.h
 *		The sample sort for items of KEY_WORDS key words and, with ITEM_HAS_ROW, a row's address; included
 *		once for each.
 *
 * Every distribution looks at one word of the keys.  Keys that are frequent in this word get a bucket of
 * their own, and that bucket goes on to the next word, or is finished after the last one.  So the splitter
 * tree costs the same for every width.
 */

#define IMPL_JOIN_(name, words, has_row) name##_##words##_##has_row
#define IMPL_JOIN(name, words, has_row) IMPL_JOIN_(name, words, has_row)
#define FN(name) IMPL_JOIN(name, KEY_WORDS, ITEM_HAS_ROW)
#define Item FN(Item)

typedef struct Item
{
	uint64 key[KEY_WORDS];
#if ITEM_HAS_ROW
	uint64 address;
#endif
} Item;

#define ITEM_STRIDE (KEY_WORDS + ITEM_HAS_ROW) /* in words */

static void FN(sort_items)(SampleSorter *sorter, void *place, uint64 n, int word, int depth);

/* Compares two keys from the given word on. */
static inline bool
FN(item_less)(const Item *a, const Item *b, int word)
{
	for (; KEY_WORDS > 1 && word < KEY_WORDS - 1; word++)
	{
		if (a->key[word] != b->key[word])
			return a->key[word] < b->key[word];
	}
	return a->key[KEY_WORDS - 1] < b->key[KEY_WORDS - 1];
}

/* Sorts nearly sorted items, or a few. */
static void
FN(sort_by_insertion)(Item *items, int n, int word)
{
	for (int i = 1; i < n; i++)
	{
		Item item;
		int j = i;

		if (!FN(item_less)(&items[i], &items[i - 1], word))
			continue;
		item = items[i];
		do
		{
			items[j] = items[j - 1];
			j--;
		} while (j > 0 && FN(item_less)(&item, &items[j - 1], word));
		items[j] = item;
	}
}

/*
 * The base case: sorts the n <= PACKED_MAX items at src, whose keys agree before word, into dst, elsewhere.
 * What decides is the window of PACKED_WINDOW_BITS bits that starts at the first bit in which the keys
 * differ; where they differ behind it as well, a last pass sets right what is left.
 */
static inline void
FN(sort_base)(const Item *src, Item *dst, int n, int word)
{
	PackedKeys packed;
	const uint64 *sorted;
	uint64 differs[KEY_WORDS + 1] = {0};
	bool exact = true;
	int shift;

	if (n == 1)
	{
		dst[0] = src[0];
		return;
	}
	for (int i = 1; i < n; i++)
		for (int w = word; w < KEY_WORDS; w++)
			differs[w] |= src[i].key[w] ^ src[0].key[w];
	while (KEY_WORDS > 1 && word < KEY_WORDS - 1 && differs[word] == 0)
		word++;
	if (differs[word] == 0)
	{
		memcpy(dst, src, n * sizeof(Item));
		return;
	}

	shift = 63 - pg_leftmost_one_pos64(differs[word]);
	if (KEY_WORDS == 1 || word == KEY_WORDS - 1)
	{
		for (int i = 0; i < n; i++)
			packed.keys[i] = PACKED_KEY(src[i].key[word] << shift, i);
		exact = ((differs[word] << shift) & PACKED_LOST_BITS) == 0;
	}
	else
	{
		for (int i = 0; i < n; i++)
			packed.keys[i] =
				PACKED_KEY((src[i].key[word] << shift) | (src[i].key[word + 1] >> 1 >> (63 - shift)), i);
		exact =
			(((differs[word] << shift) | (differs[word + 1] >> 1 >> (63 - shift))) & PACKED_LOST_BITS) == 0 &&
			(differs[word + 1] << shift) == 0;
		for (int w = word + 2; w < KEY_WORDS; w++)
			exact &= differs[w] == 0;
	}

	sorted = packed_sort(&packed, n);
	for (int i = 0; i < n; i++)
		dst[i] = src[sorted[i] & PACKED_INDEX_MASK];
	if (!exact)
		FN(sort_by_insertion)(dst, n, word);
}

static void
FN(sift_down)(Item *items, uint64 n, uint64 at, int word)
{
	Item item = items[at];

	for (;;)
	{
		uint64 child = 2 * at + 1;

		if (child >= n)
			break;
		if (child + 1 < n && FN(item_less)(&items[child], &items[child + 1], word))
			child++;
		if (!FN(item_less)(&item, &items[child], word))
			break;
		items[at] = items[child];
		at = child;
	}
	items[at] = item;
}

/*
 * What always works: in place, without recursion, whatever the keys.  For buckets that bad luck left large.
 */
static void
FN(sort_by_heap)(Item *items, uint64 n, int word)
{
	for (uint64 i = n / 2; i-- > 0;)
	{
		FN(sift_down)(items, n, i, word);
		if (i % SORT_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
	}
	for (uint64 i = n; i-- > 1;)
	{
		Item last = items[i];

		items[i] = items[0];
		items[0] = last;
		FN(sift_down)(items, i, 0, word);
		if (i % SORT_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

/* Samples one word of the items, one item out of each of equally long stretches. */
static void
FN(choose_splitters)(SampleSorter *sorter, SplitterTree *tree, const Item *items, uint64 n, int word)
{
	int log_leaves = sample_sort_log_leaves(n);
	int nsamples = sample_sort_nsamples(n, log_leaves, SORT_OVERSAMPLING_ITEMS);

	for (int i = 0; i < nsamples; i++)
		sorter->sample[i] = items[sample_sort_position(&sorter->random, i, nsamples, n)].key[word];
	splitter_tree_choose(tree, sample_sort_words(sorter->sample, nsamples), nsamples, log_leaves);
}

/* Writes each item's bucket to oracle, and counts. */
static void
FN(classify)(SortLevel *level, const Item *items, uint64 n, int word, uint16 *oracle)
{
	memset(level->counts, 0, level->tree.nbuckets * sizeof(uint64));
	for (uint64 i = 0; i < n; i += SORT_BLOCK)
	{
		splitter_tree_classify(&level->tree, &items[i].key[word], ITEM_STRIDE, Min(n - i, SORT_BLOCK),
							   oracle + i, level->counts);
		CHECK_FOR_INTERRUPTS();
	}
}

static void
FN(scatter)(SampleSorter *sorter, SortLevel *level, const Item *items, uint64 n)
{
	Item *to = sorter->scratch;

	for (uint64 i = 0; i < n; i += SORT_BLOCK)
	{
		int m = Min(n - i, SORT_BLOCK);

		for (int j = 0; j < m; j++)
			to[level->ends[sorter->oracle[i + j]]++] = items[i + j];
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Distributes items that are too many for the scratch memory where they are, along the cycles of the
 * permutation.  The oracle moves with the items.
 */
static void
FN(permute)(SortLevel *level, Item *items, uint16 *oracle)
{
	for (int b = 0; b < level->tree.nbuckets; b++)
	{
		/* what earlier cycles have put here is no longer in counts */
		while (level->counts[b] > 0)
		{
			uint64 home = level->ends[b];
			uint16 bucket = oracle[home];
			Item item = items[home];

			while (bucket != b)
			{
				uint64 at = level->ends[bucket]++;
				Item next = items[at];
				uint16 next_bucket = oracle[at];

				prefetch_for_write((char *) &items[at] + SORT_WRITE_AHEAD);
				level->counts[bucket]--;
				items[at] = item;
				item = next;
				bucket = next_bucket;
				if (at % SORT_BLOCK == 0)
					CHECK_FOR_INTERRUPTS();
			}
			items[home] = item;
			level->ends[b]++;
			level->counts[b]--;
			if (home % SORT_BLOCK == 0)
				CHECK_FOR_INTERRUPTS();
		}
	}
}

static void
FN(copy_items)(Item *to, const Item *from, uint64 n)
{
	for (uint64 i = 0; i < n; i += SORT_COPY_BLOCK)
	{
		memcpy(to + i, from + i, Min(n - i, SORT_COPY_BLOCK) * sizeof(Item));
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Brings the buckets back from the scratch memory: small ones sorted, finished ones as they are, and the
 * others to be sorted further.  Meanwhile what follows the items, most often the next bucket to sort, is
 * fetched into the caches.
 */
static void
FN(collect_small_buckets)(SampleSorter *sorter, const SortLevel *level, Item *items, uint64 nitems, int word)
{
	const Item *from = sorter->scratch;
	uint64 start = 0;

	for (int b = 0; b < level->tree.nbuckets; b++)
	{
		uint64 n = level->ends[b] - start;

		if (n == 0)
			continue;
		prefetch_range(items + nitems + start, n * sizeof(Item));
		if (n > PACKED_MAX || bucket_is_finished(&level->tree, b, word, KEY_WORDS))
			FN(copy_items)(items + start, from + start, n);
		else
			FN(sort_base)(from + start, items + start, n, word);
		start += n;
		CHECK_FOR_INTERRUPTS();
	}
}

/* Sorts the buckets of more than more_than items of a distribution that left them in place. */
static void
FN(sort_buckets)(SampleSorter *sorter, const SortLevel *level, Item *items, uint64 more_than, int word,
				 int depth)
{
	uint64 start = 0;

	for (int b = 0; b < level->tree.nbuckets; b++)
	{
		uint64 n = level->ends[b] - start;

		if (n > more_than && !bucket_is_finished(&level->tree, b, word, KEY_WORDS))
			FN(sort_items)
		(sorter, items + start, n, word + sample_sort_bucket_is_equal(&level->tree, b), depth + 1);
		start += n;
	}
}

/* Sorts items that agree in the words before this one, in place. */
static void
FN(sort_items)(SampleSorter *sorter, void *place, uint64 n, int word, int depth)
{
	Item *items = place;
	SortLevel *level;
	uint16 *oracle;
	bool in_place;
	int only;

	if (n <= PACKED_MAX)
	{
		memcpy(sorter->scratch, items, n * sizeof(Item));
		if (n > 0)
			FN(sort_base)(sorter->scratch, items, n, word);
		return;
	}
	if (depth >= sorter->max_depth)
	{
		FN(sort_by_heap)(items, n, word);
		return;
	}

	in_place = n > sorter->capacity;
	oracle = in_place ? sorter->scratch : sorter->oracle;
	level = sample_sorter_level(sorter, depth);
	FN(choose_splitters)(sorter, &level->tree, items, n, word);
	FN(classify)(level, items, n, word, oracle);
	only = only_bucket(level, n);
	if (only >= 0)
	{
		if (!bucket_is_finished(&level->tree, only, word, KEY_WORDS))
			FN(sort_items)
		(sorter, items, n, word + sample_sort_bucket_is_equal(&level->tree, only), depth + 1);
		return;
	}
	bucket_starts(level);
	if (in_place)
		FN(permute)(level, items, oracle);
	else
	{
		FN(scatter)(sorter, level, items, n);
		FN(collect_small_buckets)(sorter, level, items, n, word);
	}
	FN(sort_buckets)(sorter, level, items, in_place ? 1 : PACKED_MAX, word, depth);
}
