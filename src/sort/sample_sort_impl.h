/*
 * sort/sample_sort_impl.h
 *		The sample sort for items of KEY_WORDS key words and, with ITEM_HAS_ROW, a row's address.  This file
 *		is included once for each kind of item.
 *
 * Every distribution reads one word of the keys.  Keys that are frequent in this word get a bucket of their
 * own.  That bucket goes on to the next word, or is finished after the last one.  Therefore the splitter tree
 * costs the same for every width.
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

/* Sorts items that are nearly sorted, or few. */
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
 * The base case: sorts the n <= PACKED_MAX items at src, whose keys agree before word, into dst, which is
 * other memory.  The window of PACKED_WINDOW_BITS bits that starts at the first bit in which the keys differ
 * decides the order.  If the keys also differ behind the window, a last pass corrects the order.
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

/* Orders items from a word on; for buckets that are large by bad luck. */
static int
FN(compare_items)(const void *a, const void *b, void *word)
{
	CHECK_FOR_INTERRUPTS();
	return compare_host_words(((const Item *) a)->key + *(int *) word,
							  ((const Item *) b)->key + *(int *) word, KEY_WORDS - *(int *) word);
}

/* Samples one word of the items: one item out of each of the stretches, which have equal lengths. */
static void
FN(choose_splitters)(SampleSorter *sorter, SplitterTree *tree, const Item *items, uint64 n, int word)
{
	int log_leaves = sample_sort_log_leaves(n);
	int nsamples = sample_sort_nsamples(n, log_leaves, SORT_OVERSAMPLING_ITEMS);

	for (int i = 0; i < nsamples; i++)
		sorter->sample[i] = items[sample_sort_position(&sorter->random, i, nsamples, n)].key[word];
	splitter_tree_choose(tree, sample_sort_words(sorter->sample, nsamples), nsamples, log_leaves);
}

/* Writes each item's bucket to oracle, and counts the items of each bucket. */
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
 * Distributes items in place, along the cycles of the permutation, if they are too many for the scratch
 * memory.  The oracle moves with the items.
 */
static void
FN(permute)(SortLevel *level, Item *items, uint16 *oracle)
{
	for (int b = 0; b < level->tree.nbuckets; b++)
	{
		/* counts no longer has the items that earlier cycles have put here */
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

				__builtin_prefetch((char *) &items[at] + SORT_WRITE_AHEAD, 1);
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
 * Brings the buckets back from the scratch memory: small buckets sorted, finished buckets as they are, and
 * the other buckets to be sorted further.  Meanwhile it fetches the memory behind the items into the caches,
 * most often the next bucket to sort.
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

/* Sorts the buckets with more than more_than items, after a distribution in place. */
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
		qsort_arg(items, n, sizeof(Item), FN(compare_items), &word);
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

/* ---------------------------------------------------------------- from chunks to items */

/*
 * Makes items of the entries from `first` to before `end`, at most SORT_BLOCK entries.  Returns their number.
 */
static pg_attribute_always_inline int
FN(load_block_as)(const Chunk *chunk, uint64 first, uint64 end, const KeySqueeze *squeeze, int npieces,
				  Item *block)
{
	int n = Min(end - first, SORT_BLOCK);
	int stride = squeeze->full_words + ITEM_HAS_ROW;
	const uint64 *entry = (const uint64 *) chunk->base + first * stride;

	for (int i = 0; i < n; i++, entry += stride)
	{
		key_squeeze_apply(squeeze, npieces, KEY_WORDS, entry, block[i].key);
#if ITEM_HAS_ROW
		block[i].address = (uint64) (uintptr_t) (chunk->base + entry[stride - 1]);
#endif
	}
	return n;
}

static inline int
FN(load_block)(const Chunk *chunk, uint64 first, uint64 end, const KeySqueeze *squeeze, Item *block)
{
	switch (squeeze->npieces)
	{
		case 1:
			return FN(load_block_as)(chunk, first, end, squeeze, 1, block);
		case 2:
			return FN(load_block_as)(chunk, first, end, squeeze, 2, block);
		case 3:
			return FN(load_block_as)(chunk, first, end, squeeze, 3, block);
		default:
			return FN(load_block_as)(chunk, first, end, squeeze, squeeze->npieces, block);
	}
}

static void
FN(choose_chunk_splitters)(SampleSorter *sorter, SplitterTree *tree, const Chunk *chunk, uint64 n,
						   const KeySqueeze *squeeze)
{
	int log_leaves = sample_sort_log_leaves(n);
	int nsamples = sample_sort_nsamples(n, log_leaves, SORT_OVERSAMPLING_CHUNKS);
	uint64 chunk_start = 0;

	for (int i = 0; i < nsamples; i++)
	{
		uint64 position = sample_sort_position(&sorter->random, i, nsamples, n);
		uint64 key[KEY_WORDS];

		while (position - chunk_start >= chunk->nrows)
		{
			chunk_start += chunk->nrows;
			chunk = chunk->next;
		}
		key_squeeze_apply(squeeze, squeeze->npieces, KEY_WORDS,
						  (const uint64 *) chunk->base +
							  (position - chunk_start) * (squeeze->full_words + ITEM_HAS_ROW),
						  key);
		sorter->sample[i] = key[0];
	}
	splitter_tree_choose(tree, sample_sort_words(sorter->sample, nsamples), nsamples, log_leaves);
}

static void
FN(classify_entries)(const SplitterTree *tree, const Chunk *chunk, uint64 first, uint64 nentries,
					 const KeySqueeze *squeeze, uint16 *buckets, uint64 *counts)
{
	Item block[SORT_BLOCK];
	uint64 end = first + nentries;
	int n;

	for (uint64 i = first; i < end; i += n)
	{
		n = FN(load_block)(chunk, i, end, squeeze, block);
		splitter_tree_classify(tree, block[0].key, ITEM_STRIDE, n, buckets, counts);
		buckets += n;
		CHECK_FOR_INTERRUPTS();
	}
}

static void
FN(scatter_entries)(uint64 *ends, const Chunk *chunk, uint64 first, uint64 nentries,
					const KeySqueeze *squeeze, const uint16 *buckets, void *place)
{
	Item *items = place;
	Item block[SORT_BLOCK];
	uint64 end = first + nentries;
	int n;

	for (uint64 i = first; i < end; i += n)
	{
		n = FN(load_block)(chunk, i, end, squeeze, block);
		for (int j = 0; j < n; j++)
		{
			Item *to = &items[ends[*buckets++]++];

			*to = block[j];
			__builtin_prefetch((char *) to + SORT_WRITE_AHEAD, 1);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* Copies all entries, at most PACKED_MAX. */
static void
FN(load_items)(const Chunk *chunks, const KeySqueeze *squeeze, Item *items)
{
	Item block[SORT_BLOCK];

	for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
	{
		int n;

		for (uint64 i = 0; i < chunk->nrows; i += n)
		{
			n = FN(load_block)(chunk, i, chunk->nrows, squeeze, block);
			memcpy(items, block, n * sizeof(Item));
			items += n;
		}
	}
}

/* Does the first distribution of a sort of chunks, which makes the items. */
static void
FN(distribute_chunks)(SampleSorter *sorter, SortLevel *level, const Chunk *chunks, uint64 n,
					  const KeySqueeze *squeeze, Item *items)
{
	uint16 *buckets = sorter->scratch;

	FN(choose_chunk_splitters)(sorter, &level->tree, chunks, n, squeeze);
	memset(level->counts, 0, level->tree.nbuckets * sizeof(uint64));
	for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
	{
		FN(classify_entries)(&level->tree, chunk, 0, chunk->nrows, squeeze, buckets, level->counts);
		buckets += chunk->nrows;
	}
	bucket_starts(level);
	buckets = sorter->scratch;
	for (const Chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
	{
		FN(scatter_entries)(level->ends, chunk, 0, chunk->nrows, squeeze, buckets, items);
		buckets += chunk->nrows;
	}
}

/* Sorts chunks of n rows: one distribution straight out of the chunks, then each bucket by itself. */
static void
FN(sort_chunks)(SampleSorter *sorter, const Chunk *chunks, uint64 n, const KeySqueeze *squeeze, void *place)
{
	Item *items = place;
	SortLevel *level;

	if (n <= PACKED_MAX)
	{
		FN(load_items)(chunks, squeeze, items);
		FN(sort_items)(sorter, items, n, 0, 0);
		return;
	}

	level = sample_sorter_level(sorter, 0);
	FN(distribute_chunks)(sorter, level, chunks, n, squeeze, items);
	FN(sort_buckets)(sorter, level, items, 1, 0, 0);
}

static const SampleSortMethods FN(methods) = {FN(sort_chunks), FN(sort_items), FN(classify_entries),
											  FN(scatter_entries)};

#undef IMPL_JOIN_
#undef IMPL_JOIN
#undef FN
#undef Item
#undef ITEM_STRIDE
#undef KEY_WORDS
