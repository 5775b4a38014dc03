/*
 * sample_sort.cuh
 *		The sample sort's driver.
 *
 * Sorted are pairs, or keys alone, that move between two arrays: the caller's input and output.
 *
 *	no level	up to SAMPLE_BLOCK pairs are one leaf
 *	one level	input -> leaves in the output, sorted where they are
 *	two levels	input -> buckets in the output -> leaves in the input -> sorted into the output
 *
 * The buckets of the first of two levels are chains of chunks, of which the last ones, as many as there are
 * buckets, find no room in the output, and lie in the workspace.
 *
 * The number of leaves follows from n, so that nothing waits for the device until all is queued.  Then the
 * list of leaves that came out larger than a block can sort is read back; there hardly ever is one, and each
 * is sampled again with other random numbers, as a sort of its own.  Those of a sample are sorted on the
 * device.
 *
 * A device whose blocks have too little shared memory for a tile (compute capability 7.5, keys of 8 bytes) or
 * for one leaf (keys of 16 bytes) sorts by CUB's radix sort instead.
 */
#ifndef DEVSORT_SAMPLE_SORT_CUH
#define DEVSORT_SAMPLE_SORT_CUH

#include <vector>

#include "base/launch.cuh"
#include "pairs/leaf_launch.cuh"
#include "pairs/radix_sort.h"
#include "pairs/sample_distribution.cuh"
#include "pairs/sample_sort.h"
#include "pairs/small_sample.cuh"
#include "primitives/device_scan.h"

/* The number of pairs that one block sorts on every device; LEAF_THREADS_MEDIUM is the class for it. */
#define SAMPLE_BLOCK (LEAF_THREADS_MEDIUM * LEAF_ITEMS)

#define SAMPLE_MAX_LEVELS 2

/*
 * The first of two levels is in chunks up to SAMPLE_MOST_CHAINS buckets, which are enough for
 * SAMPLE_MOST_CHAINED rows.
 */
#define SAMPLE_MOST_CHAINS (1u << SAMPLE_LOG_WAYS)
#define SAMPLE_MOST_CHAINED ((uint64_t) (SAMPLE_LEAF_MEAN + 1) * SAMPLE_MOST_CHAINS * SAMPLE_MOST_CHAINS)

/* More oversized leaves than this are not bad luck: radix sort all. */
#define SAMPLE_MAX_OVERSIZED 64

#ifdef DEVSORT_FAULTS
#define OVERSAMPLING ((uint32_t) sample_rare_ways.oversampling)
#define MAX_WORK ((uint32_t) sample_rare_ways.leaf_max_work)
#define COUNTS_ALL_LEVELS sample_rare_ways.counts_all_levels
#define COUNT_RARE_WAY(way, times) (sample_rare_ways.way += (times))
#else
#define OVERSAMPLING SAMPLE_OVERSAMPLING
#define MAX_WORK LEAF_MAX_WORK
#define COUNTS_ALL_LEVELS false
#define COUNT_RARE_WAY(way, times) ((void) (times))
#endif

/* How a sort of n pairs goes; depends on n alone. */
struct SampleShape
{
	int levels;
	int log_ways[SAMPLE_MAX_LEVELS];
	uint32_t nbuckets[SAMPLE_MAX_LEVELS]; /* after each level */
	uint32_t nleaves;
	uint32_t nsamples;
	bool in_chunks;	   /* the first of two levels */
	bool wide_buckets; /* bucket numbers of 2 bytes */
};

static inline SampleShape
sample_shape(uint64_t n)
{
	SampleShape shape = {};
	int log_leaves = 0;

	shape.nleaves = 1;
	if (n <= SAMPLE_BLOCK)
		return shape;
	while ((n >> log_leaves) > SAMPLE_LEAF_MEAN)
		log_leaves++;
	shape.levels = log_leaves <= SAMPLE_LOG_WAYS ? 1 : 2;
	shape.log_ways[0] = shape.levels == 1 ? log_leaves : (log_leaves + 1) / 2;
	shape.log_ways[1] = log_leaves - shape.log_ways[0];
	shape.nleaves = 1u << log_leaves;
	shape.nbuckets[0] = 1u << shape.log_ways[0];
	shape.nbuckets[1] = shape.nleaves;
	shape.in_chunks = shape.levels == 2 && shape.nbuckets[0] <= SAMPLE_MOST_CHAINS && !COUNTS_ALL_LEVELS;
	shape.wide_buckets = shape.log_ways[shape.in_chunks ? 1 : 0] > 8;
	/* A sample that one block sorts, unless there are two levels. */
	shape.nsamples = shape.nleaves * OVERSAMPLING;
	if (shape.levels == 1 && shape.nsamples > SAMPLE_BLOCK)
		shape.nsamples = SAMPLE_BLOCK;
	return shape;
}

/* What a sort takes from the workspace. */
template <typename Key>
struct SampleSpace
{
	Key *sample;
	Key *sorted_sample;
	Key *splitters; /* of the leaves */
	BucketTables<Key> tables[SAMPLE_MAX_LEVELS];
	ChunkDirectory chunks;
	Key *more_keys; /* a chunk for each bucket of the first level */
	uint32_t *more_values;
	char *buckets;	 /* one bucket number for each pair, or each place in a chunk */
	uint32_t *zeros; /* what must begin as zeros: sizes, starts and list lengths */
	size_t nzeros;
	uint32_t *differs;					 /* is there a key that isn't the first one? */
	uint32_t *sizes[SAMPLE_MAX_LEVELS];	 /* nbuckets */
	uint32_t *starts[SAMPLE_MAX_LEVELS]; /* of the buckets after each level, nbuckets + 1 */
	uint32_t *lengths;
	uint32_t *first_tiles;
	Piece *tiles;
	uint32_t *lists;
	Workspace rest; /* of the scans, or of the sample's own sort */
};

template <typename Key>
static SampleSpace<Key>
sample_space_take(Workspace *workspace, uint64_t n)
{
	SampleShape shape = sample_shape(n);
	SampleSpace<Key> space = {};
	uint64_t nplaces = n;

	space.nzeros = 2 + LEAF_KINDS;
	for (int level = 0; level < shape.levels; level++)
		space.nzeros += 2 * (size_t) shape.nbuckets[level] + 1;
	space.zeros = workspace_take<uint32_t>(workspace, space.nzeros);
	space.differs = space.zeros;
	space.chunks.nchunks = space.zeros + 1;
	space.lengths = space.zeros + 2;
	space.lists = workspace_take<uint32_t>(workspace, (size_t) LEAF_KINDS * shape.nleaves);
	if (shape.levels == 0)
		return space;
	space.sample = workspace_take<Key>(workspace, shape.nsamples);
	space.sorted_sample = workspace_take<Key>(workspace, shape.nsamples);
	space.splitters = workspace_take<Key>(workspace, shape.nleaves);
	for (int level = 0; level < shape.levels; level++)
	{
		uint32_t nsegments = level == 0 ? 1 : shape.nbuckets[level - 1];

		space.tables[level].splitters = workspace_take<Key>(workspace, shape.nbuckets[level]);
		space.tables[level].ranges = workspace_take<BucketRange<Key>>(workspace, nsegments);
		space.tables[level].cells = workspace_take<uint16_t>(workspace, (size_t) nsegments * SAMPLE_CELLS);
	}
	if (shape.levels == 2)
	{
		/* More rows than chunks are used for need no less memory than fewer. */
		size_t nchains = shape.nbuckets[0] < SAMPLE_MOST_CHAINS ? shape.nbuckets[0] : SAMPLE_MOST_CHAINS;
		uint64_t nchained = n < SAMPLE_MOST_CHAINED ? n : SAMPLE_MOST_CHAINED;

		space.chunks.parts = (uint32_t) (nchained / SampleTile<Key>::SIZE) + 1;
		space.chunks.chunks = workspace_take<uint32_t>(workspace, nchains * space.chunks.parts);
		space.more_keys = workspace_take<Key>(workspace, nchains * SampleTile<Key>::SIZE);
		space.more_values = workspace_take<uint32_t>(workspace, nchains * SampleTile<Key>::SIZE);
		nplaces += nchains * SampleTile<Key>::SIZE;
	}
	space.buckets = workspace_take<char>(workspace, nplaces * (shape.wide_buckets ? 2 : 1));
	for (int level = 0; level < shape.levels; level++)
	{
		space.sizes[level] =
			level == 0 ? space.lengths + LEAF_KINDS : space.starts[0] + shape.nbuckets[0] + 1;
		space.starts[level] = space.sizes[level] + shape.nbuckets[level];
	}
	space.chunks.sizes = space.sizes[0];
	space.first_tiles = workspace_take<uint32_t>(workspace, shape.nbuckets[0] + 1);
	space.tiles = workspace_take<Piece>(workspace, pieces_limit(n, shape.nbuckets[0], SampleTile<Key>::SIZE));
	space.rest = *workspace;
	return space;
}

template <typename Key>
void
sample_sort_measure(Workspace *workspace, uint64_t n)
{
	SampleShape shape = sample_shape(n);
	Workspace main = *workspace;
	Workspace scan;
	Workspace fallback = *workspace;

	sample_space_take<Key>(&main, n);
	if (shape.levels > 0)
	{
		scan = main;
		exclusive_sum_measure(&scan, shape.nleaves);
		sample_sort_measure<Key>(&main, shape.nsamples);
		main.used = main.used > scan.used ? main.used : scan.used;
		/* A leaf that is sorted again may have fewer levels, and bucket numbers of 2 bytes for that. */
		if (shape.levels > 1)
		{
			scan = *workspace;
			sample_sort_measure<Key>(&scan, (uint64_t) SAMPLE_LEAF_MEAN << SAMPLE_LOG_WAYS);
			main.used = main.used > scan.used ? main.used : scan.used;
		}
	}
	if (shape.levels > 0 || (sizeof(Key) > sizeof(uint64_t) && n > SAMPLE_BLOCK / 2))
		radix_sort_measure<Key>(&fallback, n, true, true);
	workspace->used = main.used > fallback.used ? main.used : fallback.used;
}

/* Where the pairs are now and where they go next; a distribution swaps the two. */
template <typename Key>
struct PairArrays
{
	Key *keys;
	uint32_t *values;
	Key *other_keys;
	uint32_t *other_values;
};

template <typename Key>
static void
pair_arrays_swap(PairArrays<Key> *arrays)
{
	PairArrays<Key> before = *arrays;

	*arrays = {before.other_keys, before.other_values, before.keys, before.values};
}

/* Phase 1 of a sort of one level. */
template <typename Key>
static DevSortStatus
choose_few_splitters(const PairSortJob<Key> *job, const SampleShape *shape, const SampleSpace<Key> *space,
					 cudaStream_t stream)
{
	size_t bytes = small_sample_bytes<Key>(shape->nsamples, shape->nleaves);
	size_t crowded_bytes =
		crowded_leaf_bytes<Key, false, SMALL_SAMPLE_THREADS>((shape->nsamples + 7) / 8 * 8);
	int available;
	bool by_parts;

	RETURN_IF_FAILED(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &available));
	by_parts = shape->nsamples >= SMALL_SAMPLE_THREADS && crowded_bytes + LEAF_RESERVED <= (size_t) available;
	if (by_parts && bytes < crowded_bytes)
		bytes = crowded_bytes;
	RETURN_IF_FAILED(allow_shared_memory<small_sample_kernel<Key>>(bytes));
	small_sample_kernel<<<1, SMALL_SAMPLE_THREADS, bytes, stream>>>(job->keys, job->n,
																	key_order_make<Key>(job->big_endian),
																	job->seed, shape->nsamples,
																	shape->nleaves, MAX_WORK, by_parts,
																	space->sample, space->sorted_sample,
																	space->tables[0], space->splitters);
	CHECK_LAUNCH("choosing splitters");
	return status_ok();
}

/*
 * Queues a sort; see pair_sort_queue.  Nothing is left of keys alone if on_device: then their oversized
 * leaves are sorted in the queue too, if slowly.  Waits for the stream only where copy_if_equal does.
 */
template <typename Key>
static DevSortStatus queue_sort(const PairSortJob<Key> *job, bool on_device, const Workspace *workspace,
								const uint32_t **unfinished, cudaStream_t stream);

/* Phase 1 of a sort of two levels: the sample is sorted as any input, and no thread waits for it. */
template <typename Key>
static DevSortStatus
choose_many_splitters(const PairSortJob<Key> *job, const SampleShape *shape, const SampleSpace<Key> *space,
					  cudaStream_t stream)
{
	const int threads = 256;
	PairSortJob<Key> sampling = {};
	const uint32_t *unfinished;

	draw_sample_kernel<<<(shape->nsamples + threads - 1) / threads, threads, 0, stream>>>(
		job->keys, job->n, shape->nsamples, job->seed, key_order_make<Key>(job->big_endian), space->sample);
	CHECK_LAUNCH("drawing a sample");
	sampling.n = shape->nsamples;
	sampling.keys = space->sample;
	sampling.sorted_keys = space->sorted_sample;
	sampling.keys_crowd = job->keys_crowd;
	sampling.seed = job->seed + 1;
	RETURN_IF_FAILED(queue_sort(&sampling, true, &space->rest, &unfinished, stream));
	pick_splitters_kernel<<<1 + shape->nbuckets[0], SAMPLE_PICK_THREADS, 0, stream>>>(space->sorted_sample,
																					  shape->nsamples,
																					  shape->nleaves,
																					  shape->nbuckets[0],
																					  space->tables[0],
																					  space->tables[1],
																					  space->splitters);
	CHECK_LAUNCH("picking splitters");
	return status_ok();
}

/* Notes whether any key differs from the first one. */
template <typename Key>
static __global__ void
__launch_bounds__(LEAF_THREADS_MEDIUM) find_different_kernel(const Key *keys, uint64_t n, uint32_t *differs)
{
	Key first = keys[0];
	bool equal = true;

	for (uint64_t i = blockIdx.x * (uint64_t) blockDim.x + threadIdx.x; i < n;
		 i += gridDim.x * (uint64_t) blockDim.x)
		equal = keys[i] == first && equal;
	if (!equal)
		*differs = 1;
}

/* Reads one number or key back. */
template <typename T>
static DevSortStatus
read_back(T *number, const T *from, const char *doing, cudaStream_t stream)
{
	CHECK_CUDA(cudaMemcpyAsync(number, from, sizeof(*number), cudaMemcpyDeviceToHost, stream), doing);
	CHECK_CUDA(cudaStreamSynchronize(stream), doing);
	return status_ok();
}

/*
 * Copies all pairs to the output if all keys are the same.  The keys are compared only if all keys of the
 * sample are the same.  Waits for the stream.  This is not called for keys of 8 bytes and less: sorting them
 * takes little longer than comparing and copying them, and the wait would slow down small sorts.
 */
template <typename Key>
static DevSortStatus
copy_if_equal(const PairSortJob<Key> *job, const SampleShape *shape, const SampleSpace<Key> *space,
			  bool *equal, cudaStream_t stream)
{
	const uint32_t nblocks = 528; /* 4 for each multiprocessor of an H100 */
	Key ends[2];
	uint32_t differs;

	*equal = false;
	RETURN_IF_FAILED(read_back(&ends[0], space->sorted_sample, "reading the sample's ends", stream));
	RETURN_IF_FAILED(
		read_back(&ends[1], space->sorted_sample + shape->nsamples - 1, "reading the sample's ends", stream));
	if (ends[0] != ends[1])
		return status_ok();
	find_different_kernel<<<nblocks, LEAF_THREADS_MEDIUM, 0, stream>>>(job->keys, job->n, space->differs);
	CHECK_LAUNCH("comparing keys");
	RETURN_IF_FAILED(read_back(&differs, space->differs, "comparing keys", stream));
	if (differs)
		return status_ok();
	*equal = true;
	CHECK_CUDA(cudaMemcpyAsync(job->sorted_keys, job->keys, job->n * sizeof(Key), cudaMemcpyDeviceToDevice,
							   stream),
			   "copying equal keys");
	if (job->sorted_values)
		CHECK_CUDA(cudaMemcpyAsync(job->sorted_values, job->values, job->n * sizeof(uint32_t),
								   cudaMemcpyDeviceToDevice, stream),
				   "copying their values");
	return status_ok();
}

/* Places in one array. */
template <typename Key>
static PairPlaces<Key>
plain_places(Key *keys, uint32_t *values)
{
	return {keys, values, NULL, NULL, UINT32_MAX};
}

/* Places in chunks, of which those that are complete in n places are in the arrays. */
template <typename Key>
static PairPlaces<Key>
chunk_places(const SampleSpace<Key> *space, uint64_t n, Key *keys, uint32_t *values)
{
	return {keys, values, space->more_keys, space->more_values,
			(uint32_t) (n / SampleTile<Key>::SIZE * SampleTile<Key>::SIZE)};
}

/* The tiles of a level. */
template <typename Key>
static Pieces
level_tiles(const SampleShape *shape, const SampleSpace<Key> *space, uint64_t n, int level)
{
	uint32_t nsegments = level == 0 ? 1 : shape->nbuckets[level - 1];

	return {level == 0 ? NULL : space->starts[level - 1],
			nsegments,
			(uint32_t) n,
			SampleTile<Key>::SIZE,
			pieces_limit(n, nsegments, SampleTile<Key>::SIZE),
			space->tiles,
			space->first_tiles};
}

/* The first of two levels, into chunks; lists these as the tiles of the second. */
template <typename Key, bool has_values>
static DevSortStatus
distribute_to_chunks(const PairSortJob<Key> *job, const SampleShape *shape, const SampleSpace<Key> *space,
					 PairArrays<Key> *arrays, cudaStream_t stream)
{
	int log_ways = shape->log_ways[0];
	uint32_t ntiles = (uint32_t) ((job->n + SampleTile<Key>::SIZE - 1) / SampleTile<Key>::SIZE);
	size_t bytes = scatter_shared_bytes<Key>(log_ways, true);

	stage_begin(job->stages, "scatter 1", stream);
	CHECK_CUDA(cudaMemsetAsync(space->chunks.chunks, 0,
							   (size_t) shape->nbuckets[0] * space->chunks.parts * sizeof(uint32_t), stream),
			   "clearing the directory of chunks");
	RETURN_IF_FAILED((allow_shared_memory<scatter_to_chunks_kernel<Key, has_values>>(bytes)));
	scatter_to_chunks_kernel<Key, has_values>
		<<<ntiles, SAMPLE_TILE_THREADS, bytes, stream>>>(arrays->keys, arrays->values, (uint32_t) job->n,
														 key_order_make<Key>(job->big_endian),
														 space->tables[0], log_ways, space->chunks,
														 chunk_places(space, job->n, arrays->other_keys,
																	  arrays->other_values));
	CHECK_LAUNCH("scattering to chunks");
	list_chunks_kernel<<<shape->nbuckets[0], SAMPLE_TILE_THREADS, 0, stream>>>(space->chunks,
																			   level_tiles(shape, space,
																						   job->n, 1));
	CHECK_LAUNCH("listing chunks");
	pair_arrays_swap(arrays);
	return status_ok();
}

/* Phases 2 to 4 of one level, with bucket numbers of type Bucket. */
template <typename Key, typename Bucket, bool has_values>
static DevSortStatus
distribute_with(const PairSortJob<Key> *job, const SampleShape *shape, const SampleSpace<Key> *space,
				int level, PairArrays<Key> *arrays, cudaStream_t stream)
{
	int log_ways = shape->log_ways[level];
	Pieces tiles = level_tiles(shape, space, job->n, level);
	PairPlaces<Key> from = shape->in_chunks ? chunk_places(space, job->n, arrays->keys, arrays->values)
											: plain_places(arrays->keys, arrays->values);
	uint32_t *cursors = space->starts[level] + 1;
	size_t count_bytes = bucket_finder_bytes<Key>(log_ways) + (sizeof(uint32_t) << log_ways);
	size_t scatter_bytes = scatter_shared_bytes<Key>(log_ways, false);
	Bucket *buckets = (Bucket *) space->buckets;

	if (level > 0 && !shape->in_chunks)
		RETURN_IF_FAILED(cut_segments(&tiles, stream));
	stage_begin(job->stages, level == 0 ? "count 1" : "count 2", stream);
	count_buckets_kernel<Key, Bucket>
		<<<tiles.limit, SAMPLE_TILE_THREADS, count_bytes, stream>>>(from,
																	key_order_make<Key>(job->big_endian),
																	tiles, space->tables[level], log_ways,
																	buckets, space->sizes[level]);
	CHECK_LAUNCH("counting buckets");
	/* A bucket's cursor begins at its start and ends at its end, the next one's start. */
	RETURN_IF_FAILED(
		exclusive_sum(space->sizes[level], cursors, shape->nbuckets[level], &space->rest, stream));

	stage_begin(job->stages, level == 0 ? "scatter 1" : "scatter 2", stream);
	RETURN_IF_FAILED((allow_shared_memory<scatter_kernel<Key, Bucket, has_values>>(scatter_bytes)));
	scatter_kernel<Key, Bucket, has_values>
		<<<tiles.limit, SAMPLE_TILE_THREADS, scatter_bytes, stream>>>(from, buckets, tiles, log_ways, cursors,
																	  plain_places(arrays->other_keys,
																				   arrays->other_values));
	CHECK_LAUNCH("scattering");
	pair_arrays_swap(arrays);
	return status_ok();
}

template <typename Key, bool has_values>
static DevSortStatus
distribute(const PairSortJob<Key> *job, const SampleShape *shape, const SampleSpace<Key> *space, int level,
		   PairArrays<Key> *arrays, cudaStream_t stream)
{
	if (level == 0 && shape->in_chunks)
		return distribute_to_chunks<Key, has_values>(job, shape, space, arrays, stream);
	if (shape->wide_buckets)
		return distribute_with<Key, uint16_t, has_values>(job, shape, space, level, arrays, stream);
	return distribute_with<Key, uint8_t, has_values>(job, shape, space, level, arrays, stream);
}

/*
 * Sorts pairs first .. first + n - 1, all between the same splitters, again, or all if that is what it is.
 */
template <typename Key>
static DevSortStatus sort_part_again(const PairSortJob<Key> *job, const PairArrays<Key> *arrays,
									 uint32_t first, uint32_t n, bool by_radix, int depth,
									 const Workspace *workspace, cudaStream_t stream);

/* Reads back which leaves are oversized, and sorts them. */
template <typename Key>
static DevSortStatus
sort_oversized(const PairSortJob<Key> *job, const PairArrays<Key> *arrays, const Leaves *leaves, int depth,
			   const Workspace *workspace, cudaStream_t stream)
{
	uint32_t lengths[LEAF_KINDS];
	uint32_t count;
	std::vector<uint32_t> oversized;

	CHECK_CUDA(cudaMemcpyAsync(lengths, leaves->lengths, sizeof(lengths), cudaMemcpyDeviceToHost, stream),
			   "reading the number of oversized leaves");
	CHECK_CUDA(cudaStreamSynchronize(stream), "sample sorting");
	count = lengths[LEAF_OVERSIZED];
	COUNT_RARE_WAY(oversized, count);
	COUNT_RARE_WAY(hard, lengths[LEAF_HARD]);
	if (count == 0)
		return status_ok();
	if (count > SAMPLE_MAX_OVERSIZED)
		return sort_part_again(job, arrays, 0, leaves->n, true, depth, workspace, stream);

	oversized.resize(count);
	CHECK_CUDA(cudaMemcpy(oversized.data(), leaves->lists + (size_t) LEAF_OVERSIZED * leaves->count,
						  count * sizeof(uint32_t), cudaMemcpyDeviceToHost),
			   "reading the oversized leaves");
	/* Their bounds replace their numbers before the workspace is used again. */
	for (uint32_t i = 0; i < count; i++)
	{
		uint32_t bounds[2];

		CHECK_CUDA(cudaMemcpy(bounds, leaves->starts + oversized[i], sizeof(bounds), cudaMemcpyDeviceToHost),
				   "reading the bounds of a leaf");
		oversized[i] = bounds[0];
		oversized.push_back(bounds[1] - bounds[0]);
	}
	for (uint32_t i = 0; i < count; i++)
		RETURN_IF_FAILED(sort_part_again(job, arrays, oversized[i], oversized[count + i],
										 depth >= SAMPLE_MAX_DEPTH, depth, workspace, stream));
	return status_ok();
}

/* Has this device the shared memory that a tile takes, or all as one leaf? */
template <typename Key>
static DevSortStatus
has_shared_memory(const SampleShape *shape, uint64_t n, bool *has)
{
	size_t wanted = shape->levels > 0 ? scatter_shared_bytes<Key>(shape->log_ways[0], shape->in_chunks) + 1024
									  : leaf_shared_bytes<Key, true>((uint32_t) (n + 255) / 256 * 256,
																	 LEAF_THREADS_MEDIUM) +
											LEAF_RESERVED;
	int available;

	RETURN_IF_FAILED(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &available));
	*has = (size_t) available >= wanted;
	return status_ok();
}

/* The leaves of a sort. */
template <typename Key>
static Leaves
sample_leaves(const SampleShape *shape, const SampleSpace<Key> *space, uint64_t n)
{
	Leaves leaves = {};

	leaves.starts = shape->levels > 0 ? space->starts[shape->levels - 1] : NULL;
	leaves.count = shape->nleaves;
	leaves.n = (uint32_t) n;
	leaves.lists = space->lists;
	leaves.lengths = space->lengths;
	leaves.max_work = MAX_WORK;
	return leaves;
}

/*
 * Sorts the leaves.  Those that crowd are found by the sample in sorts of two levels, and in short ones only
 * if the caller expects any.
 */
template <typename Key, bool has_values>
static DevSortStatus
sort_all_leaves(const PairSortJob<Key> *job, const SampleShape *shape, const SampleSpace<Key> *space,
				Leaves *leaves, const LeafPairs<Key> *pairs, cudaStream_t stream)
{
	LeafSamples<Key> samples = {};

	RETURN_IF_FAILED((leaf_capacities<Key, has_values>(leaves)));
	if (shape->levels > (job->keys_crowd ? 0 : 1))
	{
		samples.keys = space->sorted_sample;
		samples.of_leaf = shape->nsamples / shape->nleaves;
		RETURN_IF_FAILED((crowded_capacities<Key, has_values>(leaves, &samples)));
	}
	return sort_leaves<Key, has_values>(leaves, space->splitters, samples, pairs, stream);
}

template <typename Key>
static DevSortStatus
queue_sort(const PairSortJob<Key> *job, bool on_device, const Workspace *workspace,
		   const uint32_t **unfinished, cudaStream_t stream)
{
	Workspace mine = *workspace;
	SampleShape shape = sample_shape(job->n);
	SampleSpace<Key> space = sample_space_take<Key>(&mine, job->n);
	PairArrays<Key> arrays = {job->keys, job->values, job->sorted_keys, job->sorted_values};
	Leaves leaves = sample_leaves(&shape, &space, job->n);
	LeafPairs<Key> pairs;
	bool has;
	bool equal = false;

	*unfinished = NULL;
	if (job->n == 0)
		return status_ok();
	RETURN_IF_FAILED(has_shared_memory<Key>(&shape, job->n, &has));
	if (!has)
		return radix_sort(job, true, workspace, stream);
	CHECK_CUDA(cudaMemsetAsync(space.zeros, 0, space.nzeros * sizeof(uint32_t), stream), "clearing counters");
	if (shape.levels > 0)
	{
		stage_begin(job->stages, "sample", stream);
		RETURN_IF_FAILED(shape.levels == 1 ? choose_few_splitters(job, &shape, &space, stream)
										   : choose_many_splitters(job, &shape, &space, stream));
		if (sizeof(Key) > sizeof(uint64_t))
			RETURN_IF_FAILED(copy_if_equal(job, &shape, &space, &equal, stream));
		if (equal)
			return status_ok();
		for (int level = 0; level < shape.levels; level++)
			RETURN_IF_FAILED((job->sorted_values
								  ? distribute<Key, true>(job, &shape, &space, level, &arrays, stream)
								  : distribute<Key, false>(job, &shape, &space, level, &arrays, stream)));
		*unfinished = &space.lengths[LEAF_OVERSIZED];
	}

	pairs = {arrays.keys, arrays.values, job->sorted_keys, job->sorted_values,
			 key_order_make<Key>(job->big_endian)};
	stage_begin(job->stages, "leaves", stream);
	RETURN_IF_FAILED((job->sorted_values
						  ? sort_all_leaves<Key, true>(job, &shape, &space, &leaves, &pairs, stream)
						  : sort_all_leaves<Key, false>(job, &shape, &space, &leaves, &pairs, stream)));
	if (on_device && *unfinished)
	{
		*unfinished = NULL;
		RETURN_IF_FAILED(merge_oversized(&leaves, &pairs, stream));
	}
	return status_ok();
}

template <typename Key>
DevSortStatus
sample_sort_queue(const PairSortJob<Key> *job, const Workspace *workspace, const uint32_t **unfinished,
				  cudaStream_t stream)
{
	return queue_sort(job, false, workspace, unfinished, stream);
}

/* Sorts the oversized leaves of a sort that was queued.  Waits for the stream. */
template <typename Key>
static DevSortStatus
finish_at_depth(const PairSortJob<Key> *job, int depth, const Workspace *workspace, cudaStream_t stream)
{
	Workspace mine = *workspace;
	SampleShape shape = sample_shape(job->n);
	SampleSpace<Key> space = sample_space_take<Key>(&mine, job->n);
	PairArrays<Key> arrays = {job->keys, job->values, job->sorted_keys, job->sorted_values};
	Leaves leaves = sample_leaves(&shape, &space, job->n);

	for (int level = 0; level < shape.levels; level++)
		pair_arrays_swap(&arrays);
	return sort_oversized(job, &arrays, &leaves, depth, workspace, stream);
}

template <typename Key>
DevSortStatus
sample_sort_finish(const PairSortJob<Key> *job, const Workspace *workspace, cudaStream_t stream)
{
	return finish_at_depth(job, 0, workspace, stream);
}

template <typename Key>
static DevSortStatus
sample_sort_at_depth(const PairSortJob<Key> *job, int depth, const Workspace *workspace, cudaStream_t stream)
{
	const uint32_t *unfinished;

	RETURN_IF_FAILED(sample_sort_queue(job, workspace, &unfinished, stream));
	return unfinished ? finish_at_depth(job, depth, workspace, stream) : status_ok();
}

template <typename Key>
static DevSortStatus
sort_part_again(const PairSortJob<Key> *job, const PairArrays<Key> *arrays, uint32_t first, uint32_t n,
				bool by_radix, int depth, const Workspace *workspace, cudaStream_t stream)
{
	bool in_output = arrays->keys == job->sorted_keys;
	PairSortJob<Key> part = *job;

	part.n = n;
	part.keys = arrays->keys + first;
	part.sorted_keys = arrays->other_keys + first;
	if (job->sorted_values)
	{
		part.values = arrays->values + first;
		part.sorted_values = arrays->other_values + first;
	}
	part.seed = job->seed + depth + 2;
	part.stages = NULL;
	COUNT_RARE_WAY(by_radix, by_radix);
	if (by_radix)
		RETURN_IF_FAILED(radix_sort(&part, true, workspace, stream));
	else
		RETURN_IF_FAILED(sample_sort_at_depth(&part, depth + 1, workspace, stream));
	if (in_output)
	{
		CHECK_CUDA(cudaMemcpyAsync(part.keys, part.sorted_keys, n * sizeof(Key), cudaMemcpyDeviceToDevice,
								   stream),
				   "copying a sorted part");
		if (job->sorted_values)
			CHECK_CUDA(cudaMemcpyAsync(part.values, part.sorted_values, n * sizeof(uint32_t),
									   cudaMemcpyDeviceToDevice, stream),
					   "copying a sorted part");
	}
	return status_ok();
}

template <typename Key>
DevSortStatus
sample_sort(const PairSortJob<Key> *job, const Workspace *workspace, cudaStream_t stream)
{
	return sample_sort_at_depth(job, 0, workspace, stream);
}

#endif /* DEVSORT_SAMPLE_SORT_CUH */
