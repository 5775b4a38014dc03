/*
 * bucket_steps.cuh
 *		The nine steps of GPU Bucket Sort, a kernel each (Dehne, Zaboli, section 4, Algorithm 1).
 *
 * The sublists A_1 ... A_m are tiles of the segments that are being distributed; at the first level there is
 * one segment, at the second every bucket of the first is one.  A tile is sorted (steps 1, 2), gives s
 * equidistant samples (3), all samples are sorted (4), and of a segment's m s samples every m-th is a global
 * sample, a splitter (5).  Where the splitters fall in a tile (6) says how much of it goes to each bucket;
 * prefix sums over buckets, then tiles (7), where; and it is moved (8).
 *
 * Between two splitters lie m of the samples, and behind each sample of a tile less than 1/s of the tile
 * before the next: so a bucket has at most 2 m (T/s) rows, T being the tile's size; 2 n/s if all tiles are
 * full.  The proof wants distinct keys.  Here equal keys count as ordered by which sample of their tile they
 * come up to, then by the tiles' numbers: the proof holds for any input, and equal keys are dealt out to the
 * buckets as evenly as different ones.
 *
 * At the first level a tile takes 32 rows here and there from all over the input, so that every tile has keys
 * of all ranges, in whatever order they come.  Both together keep the steps' work the same for all inputs.
 */
#ifndef DEVSORT_BUCKET_STEPS_CUH
#define DEVSORT_BUCKET_STEPS_CUH

#include "primitives/block_merge.cuh"
#include "primitives/key_order.cuh"
#include "primitives/segment_pieces.cuh"

#define BUCKET_ITEMS MERGE_ITEMS

template <typename Key>
struct BucketPairs
{
	Key *keys;
	uint32_t *values;
	Key *to_keys;
	uint32_t *to_values;
};

/* Step 1, at the first level: the one segment that is the whole input. */
static __global__ void
start_whole_kernel(uint32_t *starts, uint32_t n)
{
	starts[0] = 0;
	starts[1] = n;
}

/* Where the k-th of s samples of a sublist is in it. */
static __host__ __device__ __forceinline__ uint32_t
sample_place(uint32_t count, uint32_t s, uint32_t k)
{
	return (uint32_t) (((uint64_t) (k + 1) * count + s - 1) / s) - 1;
}

/*
 * The samples of a segment stand side by side, the first ones of all its sublists, then the second ones, ...
 */
static __device__ __forceinline__ size_t
sample_slot(const Pieces &sublists, uint32_t s, const Piece &sublist, uint32_t k)
{
	uint32_t first = sublists.firsts[sublist.segment];
	uint32_t m = sublists.firsts[sublist.segment + 1] - first;

	return (size_t) first * s + (size_t) k * m + sublist.number;
}

/*
 * Distinguishes samples with equal keys, in addition to their order: the number of the sample and the number
 * of the sublist.
 */
#define SAMPLE_SUBLIST_BITS 20
#define SAMPLE_SUBLIST_MASK ((1u << SAMPLE_SUBLIST_BITS) - 1)

/*
 * Steps 2 and 3: sorts a sublist a block, and writes its samples and their origins.  The keys come in the
 * order given and leave as integers.  Rows stay in the array, or at the first level (`spread`) come from all
 * over it, and go to the other one.
 */
template <typename Key, bool has_values, int THREADS>
static __global__ void
__launch_bounds__(THREADS, BUCKET_RESIDENT_BLOCKS(THREADS))
	sort_sublists_kernel(Pieces sublists, uint32_t s, BucketPairs<Key> pairs, bool spread, KeyOrder order,
						 Key *samples, uint32_t *origins)
{
	extern __shared__ __align__(16) char shared[];
	SharedPairs<Key, has_values> block(shared, THREADS * BUCKET_ITEMS);
	Key *to_keys = spread ? pairs.to_keys : pairs.keys;
	uint32_t *to_values = spread ? pairs.to_values : pairs.values;
	BlockSource source = {0, 0, 0};
	Piece sublist;

	if (!block_piece(sublists, &sublist))
		return;
	source.first = sublist.start;
	/* The full sublists share their rows out among them. */
	if (spread && sublist.count == sublists.size)
		source = {0, (sublists.starts[1] - sublists.starts[0]) / sublists.size, sublist.number};
	block_sort_pairs<Key, has_values, THREADS>(&block, sublist.count, pairs.keys, pairs.values, source, order,
											   to_keys + sublist.start, to_values + sublist.start,
											   key_order_native());
	for (uint32_t k = threadIdx.x; k < s; k += THREADS)
	{
		size_t slot = sample_slot(sublists, s, sublist, k);

		samples[slot] = block.key(sample_place(sublist.count, s, k));
		origins[slot] = k << SAMPLE_SUBLIST_BITS | sublist.number;
	}
}

/*
 * Fills up the samples of the sublists that don't exist, so that they sort last: how many exist is known on
 * the device only.
 */
template <typename Key>
static __global__ void
pad_samples_kernel(Pieces sublists, uint32_t s, Key *samples, uint32_t *origins)
{
	size_t used = (size_t) sublists.firsts[sublists.nsegments] * s;
	size_t all = (size_t) sublists.limit * s;

	for (size_t i = used + blockIdx.x * (size_t) blockDim.x + threadIdx.x; i < all;
		 i += gridDim.x * (size_t) blockDim.x)
	{
		samples[i] = ~(Key) 0;
		origins[i] = 0;
	}
}

/*
 * How many of a sublist's sorted rows are up to the splitter, a sample of known origin.  Rows with equal keys
 * are ordered by which sample of their own sublist they come up to, then by the sublists' numbers.
 */
template <typename Key>
static __device__ __forceinline__ uint32_t
count_up_to(const Key *keys, const Piece &sublist, uint32_t s, Key splitter, uint32_t origin)
{
	uint32_t k = origin >> SAMPLE_SUBLIST_BITS;
	uint32_t equal = sublist.number <= (origin & SAMPLE_SUBLIST_MASK) ? k + 1 : k;
	uint32_t equal_rows = equal > 0 ? sample_place(sublist.count, s, equal - 1) + 1 : 0;
	uint32_t low = 0;
	uint32_t high = sublist.count;

	while (low < high)
	{
		uint32_t middle = (low + high) / 2;
		Key key = keys[middle];

		if (key < splitter || (key == splitter && middle < equal_rows))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Steps 5 and 6: finds for each sublist, one a block, how many of its rows are up to each global sample, and
 * so the size of its part of each bucket.  sizes has the parts of one bucket side by side, and ends, of each
 * sublist, its parts' ends.
 */
template <typename Key>
static __global__ void
index_samples_kernel(Pieces sublists, uint32_t s, const Key *keys, const Key *sorted_samples,
					 const uint32_t *sorted_origins, uint32_t *sizes, uint16_t *ends)
{
	extern __shared__ uint32_t boundaries[]; /* s */
	Piece sublist;
	uint32_t first;
	uint32_t m;

	if (!block_piece(sublists, &sublist))
		return;
	first = sublists.firsts[sublist.segment];
	m = sublists.firsts[sublist.segment + 1] - first;

	for (uint32_t j = threadIdx.x; j < s; j += blockDim.x)
	{
		boundaries[j] = sublist.count;
		if (j + 1 < s)
		{
			size_t sample = (size_t) first * s + (size_t) (j + 1) * m - 1;

			boundaries[j] =
				count_up_to(keys + sublist.start, sublist, s, sorted_samples[sample], sorted_origins[sample]);
		}
	}
	__syncthreads();
	for (uint32_t j = threadIdx.x; j < s; j += blockDim.x)
	{
		ends[(size_t) blockIdx.x * s + j] = (uint16_t) boundaries[j];
		sizes[sample_slot(sublists, s, sublist, j)] = boundaries[j] - (j > 0 ? boundaries[j - 1] : 0);
	}
}

/*
 * Step 8: moves a sublist's parts, one sublist a block.  locations are the prefix sums of the sizes (step 7).
 */
template <typename Key, bool has_values, int THREADS>
static __global__ void
__launch_bounds__(THREADS, BUCKET_RESIDENT_BLOCKS(THREADS))
	relocate_kernel(Pieces sublists, uint32_t s, BucketPairs<Key> pairs, const uint16_t *ends,
					const uint32_t *locations)
{
	extern __shared__ __align__(16) char shared[];
	uint32_t *target = (uint32_t *) shared;	   /* s: add the row's place in the sublist */
	uint16_t *end = (uint16_t *) (target + s); /* s */
	uint32_t first_step = 1u << (31 - __clz((int) s));
	Key keys[BUCKET_ITEMS];
	uint32_t to[BUCKET_ITEMS] = {0};
	Piece sublist;

	if (!block_piece(sublists, &sublist))
		return;
#pragma unroll
	for (int i = 0; i < BUCKET_ITEMS; i++)
		if (threadIdx.x + i * THREADS < sublist.count)
			keys[i] = pairs.keys[sublist.start + threadIdx.x + i * THREADS];
	for (uint32_t j = threadIdx.x; j < s; j += THREADS)
	{
		uint32_t begin = j > 0 ? ends[(size_t) blockIdx.x * s + j - 1] : 0;

		end[j] = ends[(size_t) blockIdx.x * s + j];
		target[j] = locations[sample_slot(sublists, s, sublist, j)] - begin;
	}
	__syncthreads();
	/* The first bucket that ends behind each row. */
	for (uint32_t step = first_step; step > 0; step /= 2)
	{
#pragma unroll
		for (int i = 0; i < BUCKET_ITEMS; i++)
			if (to[i] + step <= s && end[to[i] + step - 1] <= threadIdx.x + i * THREADS)
				to[i] += step;
	}
#pragma unroll
	for (int i = 0; i < BUCKET_ITEMS; i++)
	{
		uint32_t at = threadIdx.x + i * THREADS;

		if (at < sublist.count)
		{
			to[i] = target[to[i]] + at;
			pairs.to_keys[to[i]] = keys[i];
		}
	}
	if (has_values)
	{
		uint32_t values[BUCKET_ITEMS];

#pragma unroll
		for (int i = 0; i < BUCKET_ITEMS; i++)
			if (threadIdx.x + i * THREADS < sublist.count)
				values[i] = pairs.values[sublist.start + threadIdx.x + i * THREADS];
#pragma unroll
		for (int i = 0; i < BUCKET_ITEMS; i++)
			if (threadIdx.x + i * THREADS < sublist.count)
				pairs.to_values[to[i]] = values[i];
	}
}

/* Where the buckets of all segments begin: the locations of their first parts. */
static __global__ void
start_buckets_kernel(Pieces sublists, uint32_t s, const uint32_t *locations, uint32_t n, uint32_t *starts)
{
	uint32_t bucket = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t nbuckets = sublists.nsegments * s;

	if (bucket < nbuckets)
	{
		uint32_t segment = bucket / s;
		uint32_t first = sublists.firsts[segment];
		uint32_t m = sublists.firsts[segment + 1] - first;

		starts[bucket] =
			m > 0 ? locations[(size_t) first * s + (size_t) (bucket % s) * m] : sublists.starts[segment];
	}
	if (bucket == nbuckets)
		starts[bucket] = n;
}

/*
 * Step 9: sorts a bucket a block, from keys to to_keys, which may be the same.  Buckets come in several sizes
 * of blocks; this one takes those of more than `above` rows, up to what it can hold.
 */
template <typename Key, bool has_values, int THREADS>
static __global__ void
__launch_bounds__(THREADS, BUCKET_RESIDENT_BLOCKS(THREADS))
	sort_buckets_kernel(const uint32_t *starts, uint32_t above, BucketPairs<Key> pairs, KeyOrder from_order,
						KeyOrder to_order)
{
	extern __shared__ __align__(16) char shared[];
	SharedPairs<Key, has_values> block(shared, THREADS * BUCKET_ITEMS);
	uint32_t first = starts[blockIdx.x];
	uint32_t n = starts[blockIdx.x + 1] - first;

	if (n > above && n <= THREADS * BUCKET_ITEMS)
		block_sort_pairs<Key, has_values, THREADS>(&block, n, pairs.keys, pairs.values,
												   BlockSource{first, 0, 0}, from_order,
												   pairs.to_keys + first, pairs.to_values + first, to_order);
}

#endif /* DEVSORT_BUCKET_STEPS_CUH */
