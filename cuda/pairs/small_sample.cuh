/*
 * small_sample.cuh
 *		Phase 1 of a sort of one level: one block draws the sample, sorts it and picks the splitters.
 *
 * Small sorts take about as long as their launches, so these are as few as can be.
 */
#ifndef DEVSORT_SMALL_SAMPLE_CUH
#define DEVSORT_SMALL_SAMPLE_CUH

#include "pairs/crowded_leaf.cuh"
#include "primitives/block_merge.cuh"

/* Times LEAF_ITEMS is the largest sample. */
#define SMALL_SAMPLE_THREADS LEAF_THREADS_MEDIUM

/* Shared memory of small_sample_kernel. */
template <typename Key>
static inline size_t
small_sample_bytes(uint32_t nsamples, uint32_t nleaves)
{
	size_t sorting = leaf_shared_bytes<Key, false>(nsamples, SMALL_SAMPLE_THREADS);
	size_t picking = pick_shared_bytes<Key>(nleaves);

	return sorting > picking ? sorting : picking;
}

/*
 * Sorts the sample, of whichever keys, as a leaf; if by_parts, there are enough and the shared memory to do
 * it as with leaves whose keys crowd.  For all threads of the block.
 */
template <typename Key>
static __device__ __forceinline__ void
block_sort_sample(const LeafPairs<Key> &pairs, uint32_t nsamples, uint32_t max_work, bool by_parts,
				  char *shared)
{
	uint32_t *starts = (uint32_t *) shared;
	Key *shared_keys = (Key *) (starts + SubBuckets<SMALL_SAMPLE_THREADS>::COUNT + 4);
	uint32_t uncut_work = by_parts ? min(max_work, LEAF_USUAL_WORK) : max_work;

	if (block_sort_leaf<Key, false, SMALL_SAMPLE_THREADS>(pairs, 0, nsamples, uncut_work, starts, shared_keys,
														  NULL))
		return;
	__syncthreads();
	if (by_parts &&
		block_sort_crowded_leaf<Key, false, SMALL_SAMPLE_THREADS>(pairs, 0, nsamples, max_work, shared))
		return;
	__syncthreads();
	SharedPairs<Key, false> block(shared, nsamples);

	block_sort_pairs<Key, false, SMALL_SAMPLE_THREADS>(&block, nsamples, pairs.sorted_keys, NULL,
													   BlockSource{0, 0, 0}, pairs.order, pairs.sorted_keys,
													   NULL, pairs.order);
}

/*
 * Draws nsamples of the n keys to sample, sorts them to sorted_sample, and picks the splitters of nleaves
 * buckets.  One block.
 */
template <typename Key>
static __global__ void
__launch_bounds__(SMALL_SAMPLE_THREADS)
	small_sample_kernel(const Key *keys, uint64_t n, KeyOrder order, uint64_t seed, uint32_t nsamples,
						uint32_t nleaves, uint32_t max_work, bool by_parts, Key *sample, Key *sorted_sample,
						BucketTables<Key> tables, Key *leaf_splitters)
{
	extern __shared__ __align__(16) char shared[];
	LeafPairs<Key> pairs = {sample, NULL, sorted_sample, NULL, key_order_native()};

	for (uint32_t i = threadIdx.x; i < nsamples; i += SMALL_SAMPLE_THREADS)
		sample[i] = draw_sample_key(keys, n, nsamples, seed, order, i);
	__syncthreads();
	block_sort_sample(pairs, nsamples, max_work, by_parts, shared);
	__syncthreads();
	block_pick_splitters<Key, SMALL_SAMPLE_THREADS>(sorted_sample, nsamples, nleaves, nleaves, -1, tables,
													leaf_splitters, shared);
}

#endif /* DEVSORT_SMALL_SAMPLE_CUH */
