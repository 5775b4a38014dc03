/*
 * sort/sample_sort_chunks_impl.h
 *		The sample sort's way from chunks to items of KEY_WORDS key words; included behind sample_sort_impl.h,
 *		once for each width.
 */

/* Makes items of the entries from first to before end, up to SORT_BLOCK of them.  Returns how many. */
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

/*
 * Writes the buckets of nentries entries from the given one on, by the first word of their keys, and counts
 * them.
 */
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

/* Makes items of nentries entries from the given one on, and puts each where its bucket's next item goes. */
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
			prefetch_for_write((char *) to + SORT_WRITE_AHEAD);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* Copies all entries, up to PACKED_MAX of them. */
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

/* The first distribution of a sort of chunks: into items. */
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

/* The sort of chunks of n rows: one distribution straight out of the chunks, then each bucket by itself. */
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
