/*
 * leaf_launch.cuh
 *		Which kernels sort the leaves of a sample sort, with how many blocks, and in which order.
 */
#ifndef DEVSORT_LEAF_LAUNCH_CUH
#define DEVSORT_LEAF_LAUNCH_CUH

#include "base/launch.cuh"
#include "pairs/leaf_kernels.cuh"

/* Shared memory of the leaves' kernels for what they declare themselves. */
#define LEAF_RESERVED 4096

/* What each class of leaves can hold on this device. */
template <typename Key, bool has_values>
static DevSortStatus
leaf_capacities(Leaves *leaves)
{
	const uint32_t threads[LEAF_CLASSES] = {LEAF_THREADS_SMALL, LEAF_THREADS_MEDIUM, LEAF_THREADS_LARGE};
	size_t bytes_a_pair = sizeof(Key) + (has_values ? sizeof(uint32_t) : 0);
	int available;

	RETURN_IF_FAILED(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &available));
	for (int kind = 0; kind < LEAF_CLASSES; kind++)
	{
		size_t fixed = leaf_shared_bytes<Key, has_values>(0, threads[kind]) + LEAF_RESERVED;
		size_t fitting = ((size_t) available > fixed ? available - fixed : 0) / bytes_a_pair;
		uint32_t wanted = threads[kind] * LEAF_ITEMS;

		/* A class that this device has no room for is as large as the one before, and stays empty. */
		leaves->capacity[kind] = fitting >= wanted ? wanted : (uint32_t) fitting / 256 * 256;
		if (kind > 0 && leaves->capacity[kind] < leaves->capacity[kind - 1])
			leaves->capacity[kind] = leaves->capacity[kind - 1];
	}
	/* Few leaves don't fill the device: one class less to launch counts for more. */
	if (leaves->count <= LEAF_FEW)
		leaves->capacity[LEAF_SMALL] = 0;
	return status_ok();
}

/* What each class can hold of leaves that crowd, on this device. */
template <typename Key, bool has_values>
static DevSortStatus
crowded_capacities(const Leaves *leaves, LeafSamples<Key> *samples)
{
	const size_t fixed[CROWDED_CLASSES] = {crowded_leaf_bytes<Key, has_values, LEAF_THREADS_SMALL>(0),
										   crowded_leaf_bytes<Key, has_values, LEAF_THREADS_MEDIUM>(0)};
	size_t bytes_a_pair = crowded_leaf_bytes<Key, has_values, LEAF_THREADS_SMALL>(1) - fixed[LEAF_SMALL];
	int available;

	RETURN_IF_FAILED(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &available));
	for (int kind = 0; kind < CROWDED_CLASSES; kind++)
	{
		size_t taken = fixed[kind] + LEAF_RESERVED;
		size_t fitting = ((size_t) available > taken ? available - taken : 0) / bytes_a_pair / 256 * 256;

		samples->capacity[kind] =
			fitting >= leaves->capacity[kind] ? leaves->capacity[kind] : (uint32_t) fitting;
	}
	return status_ok();
}

/* Blocks for leaves: as many as the device holds several times over, but no more than there are leaves. */
static uint32_t
leaf_blocks(const Leaves *leaves, int multiprocessors, uint32_t resident)
{
	uint32_t nblocks = multiprocessors * resident * LEAF_ROUNDS;

	return nblocks < leaves->count ? nblocks : leaves->count;
}

/* Sorts the leaves of one class but the crowded ones. */
template <typename Key, bool has_values, int THREADS>
static DevSortStatus
sort_leaf_class(const Leaves *leaves, int kind, int multiprocessors, const LeafPairs<Key> *pairs,
				cudaStream_t stream)
{
	size_t bytes = leaf_shared_bytes<Key, has_values>(leaves->capacity[kind], THREADS);
	uint32_t nblocks = leaf_blocks(leaves, multiprocessors, LEAF_RESIDENT_BLOCKS(THREADS, sizeof(Key)));

	RETURN_IF_FAILED((allow_shared_memory<leaf_sort_kernel<Key, has_values, THREADS>>(bytes)));
	leaf_sort_kernel<Key, has_values, THREADS><<<nblocks, THREADS, bytes, stream>>>(*leaves, kind, *pairs);
	CHECK_LAUNCH("sorting leaves");
	return status_ok();
}

/* Sorts the crowded leaves of one class, of up to `capacity` pairs. */
template <typename Key, bool has_values, int THREADS>
static DevSortStatus
sort_crowded_class(const Leaves *leaves, int kind, uint32_t capacity, int multiprocessors,
				   const LeafPairs<Key> *pairs, cudaStream_t stream)
{
	size_t bytes = crowded_leaf_bytes<Key, has_values, THREADS>(capacity);
	uint32_t nblocks = leaf_blocks(leaves, multiprocessors, LEAF_RESIDENT_BLOCKS(THREADS, sizeof(Key)));

	if (capacity == 0)
		return status_ok();
	RETURN_IF_FAILED((allow_shared_memory<crowded_leaf_kernel<Key, has_values, THREADS>>(bytes)));
	crowded_leaf_kernel<Key, has_values, THREADS>
		<<<nblocks, THREADS, bytes, stream>>>(*leaves, LEAF_CROWDED + kind, *pairs);
	CHECK_LAUNCH("sorting crowded leaves");
	return status_ok();
}

/* Merge sorts the hard leaves that blocks of THREADS can sort, but blocks of smaller_threads can't. */
template <typename Key, bool has_values, int THREADS>
static DevSortStatus
sort_hard_leaves(const Leaves *leaves, uint32_t smaller_threads, uint32_t nblocks,
				 const LeafPairs<Key> *pairs, cudaStream_t stream)
{
	uint32_t above = smaller_threads > 0 ? hard_leaf_capacity(*leaves, smaller_threads) : 0;
	size_t bytes = shared_pairs_bytes<Key, has_values>(hard_leaf_capacity(*leaves, THREADS));

	nblocks = nblocks < leaves->count ? nblocks : leaves->count;
	RETURN_IF_FAILED((allow_shared_memory<hard_leaf_kernel<Key, has_values, THREADS>>(bytes)));
	hard_leaf_kernel<Key, has_values, THREADS><<<nblocks, THREADS, bytes, stream>>>(*leaves, *pairs, above);
	CHECK_LAUNCH("merge sorting leaves");
	return status_ok();
}

/* Lists the leaves, and sorts what can be: the large ones first. */
template <typename Key, bool has_values>
static DevSortStatus
sort_leaf_classes(const Leaves *leaves, const Key *splitters, const LeafSamples<Key> &samples,
				  int multiprocessors, const LeafPairs<Key> *pairs, cudaStream_t stream)
{
	list_leaves_kernel<<<(leaves->count + LEAF_THREADS_SMALL - 1) / LEAF_THREADS_SMALL, LEAF_THREADS_SMALL, 0,
						 stream>>>(*leaves, splitters, samples);
	CHECK_LAUNCH("listing leaves");
	if (leaves->capacity[LEAF_LARGE] > leaves->capacity[LEAF_MEDIUM])
		RETURN_IF_FAILED(
			(sort_leaf_class<Key, has_values, LEAF_THREADS_LARGE>(leaves, LEAF_LARGE, multiprocessors, pairs,
																  stream)));
	RETURN_IF_FAILED((sort_leaf_class<Key, has_values, LEAF_THREADS_MEDIUM>(leaves, LEAF_MEDIUM,
																			multiprocessors, pairs, stream)));
	if (leaves->capacity[LEAF_SMALL] > 0)
		RETURN_IF_FAILED(
			(sort_leaf_class<Key, has_values, LEAF_THREADS_SMALL>(leaves, LEAF_SMALL, multiprocessors, pairs,
																  stream)));
	if (samples.keys == NULL)
		return status_ok();
	RETURN_IF_FAILED(
		(sort_crowded_class<Key, has_values, LEAF_THREADS_MEDIUM>(leaves, LEAF_MEDIUM,
																  samples.capacity[LEAF_MEDIUM],
																  multiprocessors, pairs, stream)));
	return sort_crowded_class<Key, has_values, LEAF_THREADS_SMALL>(leaves, LEAF_SMALL,
																   samples.capacity[LEAF_SMALL],
																   multiprocessors, pairs, stream);
}

/* Sorts all leaves but the oversized. */
template <typename Key, bool has_values>
static DevSortStatus
sort_leaves(const Leaves *leaves, const Key *splitters, const LeafSamples<Key> &samples,
			const LeafPairs<Key> *pairs, cudaStream_t stream)
{
	/*
	 * One size of blocks for few leaves, whichever they have: see LEAF_FEW; and where the sample tells which
	 * leaves crowd, so that hardly any is hard.
	 */
	bool all_sizes = leaves->count > LEAF_FEW && !samples.keys;
	int multiprocessors;
	uint32_t few_blocks;

	RETURN_IF_FAILED(device_attribute(cudaDevAttrMultiProcessorCount, &multiprocessors));
	few_blocks = leaves->count < 2 * (uint32_t) multiprocessors ? leaves->count : 2 * multiprocessors;
	if (leaves->starts == NULL)
		RETURN_IF_FAILED(
			(sort_leaf_class<Key, has_values, LEAF_THREADS_MEDIUM>(leaves, LEAF_MEDIUM, multiprocessors,
																   pairs, stream)));
	else
		RETURN_IF_FAILED(
			(sort_leaf_classes<Key, has_values>(leaves, splitters, samples, multiprocessors, pairs, stream)));
	if (leaves->starts != NULL && pairs->keys != pairs->sorted_keys)
	{
		copy_equal_leaves_kernel<Key, has_values>
			<<<4 * few_blocks, LEAF_THREADS_MEDIUM, 0, stream>>>(*leaves, *pairs);
		CHECK_LAUNCH("copying leaves");
	}
	if (all_sizes)
	{
		RETURN_IF_FAILED((sort_hard_leaves<Key, has_values, HARD_LEAF_THREADS / 4>(leaves, 0, few_blocks * 4,
																				   pairs, stream)));
		RETURN_IF_FAILED(
			(sort_hard_leaves<Key, has_values, HARD_LEAF_THREADS / 2>(leaves, HARD_LEAF_THREADS / 4,
																	  few_blocks * 2, pairs, stream)));
	}
	return sort_hard_leaves<Key, has_values, HARD_LEAF_THREADS>(leaves, all_sizes ? HARD_LEAF_THREADS / 2 : 0,
																few_blocks, pairs, stream);
}

/* Sorts the oversized leaves of keys alone, of which there hardly ever is one, in the queue. */
template <typename Key>
static DevSortStatus
merge_oversized(const Leaves *leaves, const LeafPairs<Key> *pairs, cudaStream_t stream)
{
	const uint32_t nblocks = 8;
	size_t bytes = shared_pairs_bytes<Key, false>(hard_leaf_capacity(*leaves, HARD_LEAF_THREADS));

	RETURN_IF_FAILED(allow_shared_memory<merge_oversized_kernel<Key>>(bytes));
	merge_oversized_kernel<<<nblocks, HARD_LEAF_THREADS, bytes, stream>>>(*leaves, *pairs);
	CHECK_LAUNCH("merge sorting oversized leaves");
	return status_ok();
}

#endif /* DEVSORT_LEAF_LAUNCH_CUH */
