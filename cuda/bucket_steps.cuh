/*
 * bucket_steps.cuh
 *		The nine steps of GPU Bucket Sort, a kernel each (Dehne, Zaboli, section 4, Algorithm 1).
 *
 * The sublists A_1 ... A_m are tiles of the segments that are being distributed; at the first level there is one segment, at the second
 * every bucket of the first is one.  A tile is sorted (steps 1, 2), gives s equidistant samples (3), all samples are sorted
 * (4), and of a segment's m s samples every m-th is a global sample, a splitter (5).  Where the splitters fall in
 * a tile (6) says how much of it goes to each bucket; prefix sums over buckets, then tiles (7), where; and it is moved (8).
 *
 * Between two splitters lie m of the samples, and behind each sample of a tile less than 1/s of the tile before the next: so a bucket
 * has at most 2 m (T/s) rows, T being the tile's size; 2 n/s if all tiles are full.  The proof wants distinct keys.
 * Here equal keys count as ordered by their place in the input, which makes it hold for any input: a splitter knows the
 * place it was taken from, and the sort of the samples is stable.
 */
#ifndef DEVSORT_BUCKET_STEPS_CUH
#define DEVSORT_BUCKET_STEPS_CUH

#include "block_merge.cuh"
#include "key_order.cuh"
#include "segment_pieces.cuh"

#define BUCKET_ITEMS MERGE_ITEMS

template <typename Key>
struct BucketPairs
{
	Key		   *keys;
	uint32_t   *values;
	Key		   *to_keys;
	uint32_t   *to_values;
};

/* Where the k-th of s samples of a sublist is in it. */
static __host__ __device__ __forceinline__ uint32_t
sample_place(uint32_t count, uint32_t s, uint32_t k)
{
	return (uint32_t) (((uint64_t) (k + 1) * count + s - 1) / s) - 1;
}

/*
 * Steps 2 and 3: sorts a sublist a block, where it is, and writes its samples and where they were taken.  The keys
 * come in the order given and are left as integers.
 */
template <typename Key, bool has_values, int THREADS>
static __global__ void __launch_bounds__(THREADS)
sort_sublists_kernel(Pieces sublists, uint32_t s, BucketPairs<Key> pairs, KeyOrder order, Key *samples, uint32_t *sample_places)
{
	extern __shared__ __align__(16) char shared[];
	SharedPairs<Key, has_values> block(shared, THREADS * BUCKET_ITEMS);
	Piece		sublist;

	if (!block_piece(sublists, &sublist))
		return;
	block_sort_pairs<Key, has_values, THREADS>(&block, sublist.count, pairs.keys + sublist.start, pairs.values + sublist.start, order,
											   pairs.keys + sublist.start, pairs.values + sublist.start, key_order_native());
	for (uint32_t k = threadIdx.x; k < s; k += THREADS)
	{
		uint32_t	place = sample_place(sublist.count, s, k);

		samples[(size_t) blockIdx.x * s + k] = block.key(place);
		sample_places[(size_t) blockIdx.x * s + k] = sublist.start + place;
	}
}

/* Fills up the samples of the sublists that don't exist, so that they sort last: how many exist is known on the device only. */
template <typename Key>
static __global__ void
pad_samples_kernel(Pieces sublists, uint32_t s, Key *samples, uint32_t *sample_places)
{
	size_t		used = (size_t) sublists.firsts[sublists.nsegments] * s;
	size_t		all = (size_t) sublists.limit * s;

	for (size_t i = used + blockIdx.x * (size_t) blockDim.x + threadIdx.x; i < all; i += gridDim.x * (size_t) blockDim.x)
	{
		samples[i] = ~(Key) 0;
		sample_places[i] = ~0u;
	}
}

/*
 * Steps 5 and 6: finds for each sublist, one a block, how many of its rows are up to each global sample, and so the size of
 * its part of each bucket.  sizes has the parts of one bucket side by side, and ends, of each sublist, its parts' ends.
 */
template <typename Key>
static __global__ void
index_samples_kernel(Pieces sublists, uint32_t s, const Key *keys, const Key *sorted_samples, const uint32_t *sorted_places,
					 uint32_t *sizes, uint16_t *ends)
{
	extern __shared__ uint32_t boundaries[];	/* s */
	Piece		sublist;
	uint32_t	first;
	uint32_t	m;

	if (!block_piece(sublists, &sublist))
		return;
	first = sublists.firsts[sublist.segment];
	m = sublists.firsts[sublist.segment + 1] - first;

	for (uint32_t j = threadIdx.x; j < s; j += blockDim.x)
	{
		uint32_t	low = 0;
		uint32_t	high = sublist.count;

		if (j + 1 < s)
		{
			size_t		sample = (size_t) first * s + (size_t) (j + 1) * m - 1;
			Key			splitter = sorted_samples[sample];
			uint32_t	place = sorted_places[sample];

			/* Rows before or at the splitter, equal keys by their places. */
			while (low < high)
			{
				uint32_t	middle = (low + high) / 2;
				Key			key = keys[sublist.start + middle];

				if (key < splitter || (key == splitter && sublist.start + middle <= place))
					low = middle + 1;
				else
					high = middle;
			}
		}
		else
			low = high;
		boundaries[j] = low;
	}
	__syncthreads();
	for (uint32_t j = threadIdx.x; j < s; j += blockDim.x)
	{
		ends[(size_t) blockIdx.x * s + j] = (uint16_t) boundaries[j];
		sizes[(size_t) first * s + (size_t) j * m + sublist.number] = boundaries[j] - (j > 0 ? boundaries[j - 1] : 0);
	}
}

/* Step 8: moves a sublist's parts, one sublist a block.  locations are the prefix sums of the sizes (step 7). */
template <typename Key, bool has_values, int THREADS>
static __global__ void __launch_bounds__(THREADS)
relocate_kernel(Pieces sublists, uint32_t s, BucketPairs<Key> pairs, const uint16_t *ends, const uint32_t *locations)
{
	extern __shared__ __align__(16) char shared[];
	uint32_t   *target = (uint32_t *) shared;	/* s: add the row's place in the sublist */
	uint16_t   *end = (uint16_t *) (target + s);	/* s */
	Piece		sublist;
	uint32_t	first;
	uint32_t	m;

	if (!block_piece(sublists, &sublist))
		return;
	first = sublists.firsts[sublist.segment];
	m = sublists.firsts[sublist.segment + 1] - first;
	for (uint32_t j = threadIdx.x; j < s; j += THREADS)
	{
		uint32_t	begin = j > 0 ? ends[(size_t) blockIdx.x * s + j - 1] : 0;

		end[j] = ends[(size_t) blockIdx.x * s + j];
		target[j] = locations[(size_t) first * s + (size_t) j * m + sublist.number] - begin;
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < BUCKET_ITEMS; i++)
	{
		uint32_t	at = threadIdx.x + i * THREADS;
		uint32_t	bucket = 0;

		if (at >= sublist.count)
			break;
		/* The first bucket that ends behind this row; s is a power of two. */
		for (uint32_t step = s / 2; step > 0; step /= 2)
			if (end[bucket + step - 1] <= at)
				bucket += step;
		pairs.to_keys[target[bucket] + at] = pairs.keys[sublist.start + at];
		if (has_values)
			pairs.to_values[target[bucket] + at] = pairs.values[sublist.start + at];
	}
}

/* Where the buckets of all segments begin: the locations of their first parts. */
static __global__ void
start_buckets_kernel(Pieces sublists, uint32_t s, const uint32_t *locations, uint32_t n, uint32_t *starts)
{
	uint32_t	bucket = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t	nbuckets = sublists.nsegments * s;

	if (bucket < nbuckets)
	{
		uint32_t	segment = bucket / s;
		uint32_t	first = sublists.firsts[segment];
		uint32_t	m = sublists.firsts[segment + 1] - first;

		starts[bucket] = m > 0 ? locations[(size_t) first * s + (size_t) (bucket % s) * m]
			: sublists.starts[segment];
	}
	if (bucket == nbuckets)
		starts[bucket] = n;
}

/*
 * Step 9: sorts a bucket a block, from keys to to_keys, which may be the same.  Buckets come in several sizes of blocks; this one
 * takes those of more than `above` rows, up to what it can hold.
 */
template <typename Key, bool has_values, int THREADS>
static __global__ void __launch_bounds__(THREADS)
sort_buckets_kernel(const uint32_t *starts, uint32_t above, BucketPairs<Key> pairs, KeyOrder from_order, KeyOrder to_order)
{
	extern __shared__ __align__(16) char shared[];
	SharedPairs<Key, has_values> block(shared, THREADS * BUCKET_ITEMS);
	uint32_t	first = starts[blockIdx.x];
	uint32_t	n = starts[blockIdx.x + 1] - first;

	if (n > above && n <= THREADS * BUCKET_ITEMS)
		block_sort_pairs<Key, has_values, THREADS>(&block, n, pairs.keys + first, pairs.values + first, from_order,
												   pairs.to_keys + first, pairs.to_values + first, to_order);
}

#endif							/* DEVSORT_BUCKET_STEPS_CUH */
