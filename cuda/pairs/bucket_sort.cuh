/*
 * bucket_sort.cuh
 *		The bucket sort's driver: steps 1 to 8 once or twice, then step 9.
 *
 * Dehne and Zaboli sort the s buckets of at most 2n/s rows by a bitonic sort over all multiprocessors.  Here
 * steps 1 to 8 are applied to all buckets once more, with as many samples as make every bucket then fit one
 * block, by the same guarantee; step 9 is a sort inside a block.  Nothing is read back and nothing depends on
 * the keys.
 */
#ifndef DEVSORT_BUCKET_SORT_CUH
#define DEVSORT_BUCKET_SORT_CUH

#include "base/launch.cuh"
#include "pairs/bucket_sort.h"
#include "pairs/bucket_steps.cuh"
#include "pairs/radix_sort.h"
#include "primitives/device_scan.h"

#define BUCKET_MAX_LEVELS 2
#define BUCKET_THREADS_LARGE 512
#define BUCKET_THREADS_SMALL 256
#define BUCKET_MAX_SAMPLES 4096

/* How a sort of n pairs goes; depends on n, the block's size and s alone. */
struct BucketShape
{
	uint32_t tile;
	int levels;
	uint32_t s[BUCKET_MAX_LEVELS];			   /* samples of a sublist, buckets of a segment */
	uint32_t nsegments[BUCKET_MAX_LEVELS + 1]; /* before each level; the last: after all */
	uint32_t limit[BUCKET_MAX_LEVELS];		   /* most sublists */
	uint64_t largest;						   /* bound of the buckets after the last level */
};

/* The bound of section 4: most rows of a bucket that a segment of n rows is cut into. */
static inline uint64_t
bucket_bound(uint64_t n, uint32_t tile, uint32_t s)
{
	uint64_t m = (n + tile - 1) / tile;

	return 2 * m * ((tile + s - 1) / s);
}

/* The fewest samples, a multiple of 32, whose bound fits. */
static inline uint32_t
samples_for(uint64_t n, uint32_t tile)
{
	uint32_t s = 32;

	while (bucket_bound(n, tile, s) > tile && s < BUCKET_MAX_SAMPLES)
		s += 32;
	return s;
}

static inline BucketShape
bucket_shape(uint64_t n, uint32_t tile, int samples)
{
	BucketShape shape = {};
	uint32_t most = BUCKET_ONE_LEVEL_SAMPLES;

	shape.tile = tile;
	shape.nsegments[0] = 1;
	shape.largest = n;
	if (n <= tile)
		return shape;
	shape.levels = 1;
	shape.s[0] = samples > 0 ? (uint32_t) samples : samples_for(n, tile);
	if (bucket_bound(n, tile, shape.s[0]) > tile || (samples == 0 && shape.s[0] > most))
	{
		shape.levels = 2;
		if (samples == 0)
			shape.s[0] = BUCKET_SAMPLES;
		/* The second level's samples stay few enough by taking more at the first. */
		while (samples == 0 && bucket_bound(bucket_bound(n, tile, shape.s[0]), tile, shape.s[0] * 2) > tile)
			shape.s[0] *= 2;
		shape.s[1] = samples_for(bucket_bound(n, tile, shape.s[0]), tile);
	}
	for (int level = 0; level < shape.levels; level++)
	{
		shape.limit[level] = pieces_limit(n, shape.nsegments[level], tile);
		shape.nsegments[level + 1] = shape.nsegments[level] * shape.s[level];
		shape.largest = bucket_bound(shape.largest, tile, shape.s[level]);
	}
	return shape;
}

/* What a sort takes from the workspace. */
template <typename Key>
struct BucketSpace
{
	/* of the segments before each level, of the buckets after the last */
	uint32_t *starts[BUCKET_MAX_LEVELS + 1];
	uint32_t *firsts;
	Piece *sublists;
	Key *samples;
	uint32_t *origins; /* of the samples: see SAMPLE_SUBLIST_BITS */
	Key *sorted_samples;
	uint32_t *sorted_origins;
	uint32_t *sizes; /* of the parts; in the place of samples, which are done with by then */
	uint32_t *locations;
	uint16_t *ends;
	Workspace rest; /* of the samples' sort, of the scan */
};

template <typename Key>
static BucketSpace<Key>
bucket_space_take(Workspace *workspace, const BucketShape *shape)
{
	BucketSpace<Key> space = {};
	size_t nsamples = 0;
	uint32_t sublists = 0;
	uint32_t segments = 1;

	for (int level = 0; level < shape->levels; level++)
	{
		size_t here = (size_t) shape->limit[level] * shape->s[level];

		nsamples = here > nsamples ? here : nsamples;
		sublists = shape->limit[level] > sublists ? shape->limit[level] : sublists;
		segments = shape->nsegments[level];
	}
	for (int level = 0; level <= shape->levels; level++)
		space.starts[level] = workspace_take<uint32_t>(workspace, shape->nsegments[level] + 1);
	if (shape->levels == 0)
		return space;
	space.firsts = workspace_take<uint32_t>(workspace, segments + 1);
	space.sublists = workspace_take<Piece>(workspace, sublists);
	space.samples = workspace_take<Key>(workspace, nsamples);
	space.origins = workspace_take<uint32_t>(workspace, nsamples);
	space.sorted_samples = workspace_take<Key>(workspace, nsamples);
	space.sorted_origins = workspace_take<uint32_t>(workspace, nsamples);
	space.sizes = (uint32_t *) space.samples;
	space.locations = space.origins;
	space.ends = workspace_take<uint16_t>(workspace, nsamples);
	space.rest = *workspace;
	radix_sort_measure<Key>(workspace, nsamples, true, true);
	/* The scan needs less. */
	return space;
}

/*
 * What sorts of up to n pairs need.  A larger sort may need less, where more rows change the shape; so all
 * shapes that come up below n are measured, each at its largest n.
 */
template <typename Key>
static size_t
bucket_space_upto(size_t used, uint64_t n, uint32_t tile, int samples)
{
	size_t most = used;

	for (;;)
	{
		BucketShape shape = bucket_shape(n, tile, samples);
		Workspace workspace = {NULL, used};
		uint64_t smaller = 0; /* has another shape, or is 0 */

		bucket_space_take<Key>(&workspace, &shape);
		most = workspace.used > most ? workspace.used : most;
		if (shape.levels == 0)
			return most;
		while (n - smaller > 1)
		{
			uint64_t middle = smaller + (n - smaller) / 2;
			BucketShape there = bucket_shape(middle, tile, samples);

			if (there.levels == shape.levels && there.s[0] == shape.s[0])
				n = middle;
			else
				smaller = middle;
		}
		n = smaller;
	}
}

/* For either size of blocks: which it will be depends on the device. */
template <typename Key>
void
bucket_sort_measure(Workspace *workspace, uint64_t n, int samples)
{
	size_t large = bucket_space_upto<Key>(workspace->used, n, BUCKET_THREADS_LARGE * BUCKET_ITEMS, samples);
	size_t small = bucket_space_upto<Key>(workspace->used, n, BUCKET_THREADS_SMALL * BUCKET_ITEMS, samples);

	workspace->used = large > small ? large : small;
}

/*
 * Step 4: sorts the samples of all segments at once: a segment's are all before, or equal to, the next one's,
 * and the sort is stable.
 */
template <typename Key>
static DevSortStatus
sort_samples(const BucketSpace<Key> *space, uint64_t nsamples, cudaStream_t stream)
{
	PairSortJob<Key> sampling = {};

	sampling.n = nsamples;
	sampling.keys = space->samples;
	sampling.values = space->origins;
	sampling.sorted_keys = space->sorted_samples;
	sampling.sorted_values = space->sorted_origins;
	return radix_sort(&sampling, true, &space->rest, stream);
}

template <typename Key>
static BucketPairs<Key>
bucket_pairs_swapped(const BucketPairs<Key> *pairs)
{
	return {pairs->to_keys, pairs->to_values, pairs->keys, pairs->values};
}

/* Steps 1 to 8 of one level.  The pairs are in pairs->keys before and after. */
template <typename Key, bool has_values, int THREADS>
static DevSortStatus
bucket_level(const PairSortJob<Key> *job, const BucketShape *shape, const BucketSpace<Key> *space, int level,
			 BucketPairs<Key> *pairs, cudaStream_t stream)
{
	const bool first = level == 0;
	uint32_t s = shape->s[level];
	uint32_t limit = shape->limit[level];
	uint64_t nsamples = (uint64_t) limit * s;
	size_t sort_bytes = shared_pairs_bytes<Key, has_values>(THREADS * BUCKET_ITEMS);
	size_t move_bytes = s * (sizeof(uint32_t) + sizeof(uint16_t));
	uint32_t nbuckets = shape->nsegments[level + 1];
	Pieces sublists = {space->starts[level],
					   shape->nsegments[level],
					   (uint32_t) job->n,
					   shape->tile,
					   limit,
					   space->sublists,
					   space->firsts};

	RETURN_IF_FAILED(cut_segments(&sublists, stream));
	stage_begin(job->stages, first ? "local sort" : "sublist local sort", stream);
	RETURN_IF_FAILED((allow_shared_memory<sort_sublists_kernel<Key, has_values, THREADS>>(sort_bytes)));
	sort_sublists_kernel<Key, has_values, THREADS>
		<<<limit, THREADS, sort_bytes, stream>>>(sublists, s, *pairs, first,
												 key_order_make<Key>(first && job->big_endian),
												 space->samples, space->origins);
	CHECK_LAUNCH("sorting sublists");
	/* At the first level the sorted sublists are in the other array now. */
	if (first)
		*pairs = bucket_pairs_swapped(pairs);
	pad_samples_kernel<<<256, 256, 0, stream>>>(sublists, s, space->samples, space->origins);
	CHECK_LAUNCH("padding samples");

	stage_begin(job->stages, first ? "sort samples" : "sublist sort samples", stream);
	RETURN_IF_FAILED(sort_samples(space, nsamples, stream));

	stage_begin(job->stages, first ? "sample indexing" : "sublist sample indexing", stream);
	index_samples_kernel<<<limit, 256, s * sizeof(uint32_t), stream>>>(sublists, s, pairs->keys,
																	   space->sorted_samples,
																	   space->sorted_origins, space->sizes,
																	   space->ends);
	CHECK_LAUNCH("indexing samples");

	stage_begin(job->stages, first ? "prefix sum" : "sublist prefix sum", stream);
	RETURN_IF_FAILED(exclusive_sum(space->sizes, space->locations, nsamples, &space->rest, stream));
	start_buckets_kernel<<<nbuckets / 256 + 1, 256, 0, stream>>>(sublists, s, space->locations,
																 (uint32_t) job->n, space->starts[level + 1]);
	CHECK_LAUNCH("starting buckets");

	stage_begin(job->stages, first ? "relocation" : "sublist relocation", stream);
	relocate_kernel<Key, has_values, THREADS>
		<<<limit, THREADS, move_bytes, stream>>>(sublists, s, *pairs, space->ends, space->locations);
	CHECK_LAUNCH("relocating");
	*pairs = bucket_pairs_swapped(pairs);
	return status_ok();
}

/* Step 9 for the buckets that blocks of THREADS can sort, but blocks of smaller_threads can't. */
template <typename Key, bool has_values, int THREADS>
static DevSortStatus
sort_buckets(const PairSortJob<Key> *job, const BucketShape *shape, const BucketSpace<Key> *space,
			 uint32_t smaller_threads, const BucketPairs<Key> *pairs, cudaStream_t stream)
{
	size_t bytes = shared_pairs_bytes<Key, has_values>(THREADS * BUCKET_ITEMS);

	RETURN_IF_FAILED((allow_shared_memory<sort_buckets_kernel<Key, has_values, THREADS>>(bytes)));
	sort_buckets_kernel<Key, has_values, THREADS>
		<<<shape->nsegments[shape->levels], THREADS, bytes, stream>>>(space->starts[shape->levels],
																	  smaller_threads * BUCKET_ITEMS, *pairs,
																	  key_order_make<Key>(shape->levels ==
																							  0 &&
																						  job->big_endian),
																	  key_order_make<Key>(job->big_endian));
	CHECK_LAUNCH("sorting buckets");
	return status_ok();
}

template <typename Key, bool has_values, int THREADS>
static DevSortStatus
bucket_sort_with(const PairSortJob<Key> *job, const Workspace *workspace, cudaStream_t stream)
{
	Workspace mine = *workspace;
	BucketShape shape = bucket_shape(job->n, THREADS * BUCKET_ITEMS, job->samples);
	BucketSpace<Key> space = bucket_space_take<Key>(&mine, &shape);
	BucketPairs<Key> pairs = {job->keys, job->values, job->sorted_keys, job->sorted_values};

	if (shape.largest > shape.tile)
		return status_make(
			DEVSORT_INVALID,
			"s = %d leaves buckets of up to %llu rows, more than the %u that a block can sort; take more samples",
			job->samples, (unsigned long long) shape.largest, shape.tile);
	start_whole_kernel<<<1, 1, 0, stream>>>(space.starts[0], (uint32_t) job->n);
	CHECK_LAUNCH("making the first segment");
	for (int level = 0; level < shape.levels; level++)
		RETURN_IF_FAILED(
			(bucket_level<Key, has_values, THREADS>(job, &shape, &space, level, &pairs, stream)));
	pairs.to_keys = job->sorted_keys;
	pairs.to_values = job->sorted_values;
	stage_begin(job->stages, "bucket sort", stream);
	RETURN_IF_FAILED((sort_buckets<Key, has_values, THREADS / 4>(job, &shape, &space, 0, &pairs, stream)));
	RETURN_IF_FAILED(
		(sort_buckets<Key, has_values, THREADS / 2>(job, &shape, &space, THREADS / 4, &pairs, stream)));
	RETURN_IF_FAILED(
		(sort_buckets<Key, has_values, THREADS>(job, &shape, &space, THREADS / 2, &pairs, stream)));
	return status_ok();
}

template <typename Key>
DevSortStatus
bucket_sort(const PairSortJob<Key> *job, const Workspace *workspace, cudaStream_t stream)
{
	int available;

	if (job->n == 0)
		return status_ok();
	RETURN_IF_FAILED(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &available));
	if ((size_t) available >= BUCKET_THREADS_LARGE * BUCKET_ITEMS * (sizeof(Key) + sizeof(uint32_t)))
		return job->sorted_values
				   ? bucket_sort_with<Key, true, BUCKET_THREADS_LARGE>(job, workspace, stream)
				   : bucket_sort_with<Key, false, BUCKET_THREADS_LARGE>(job, workspace, stream);
	return job->sorted_values ? bucket_sort_with<Key, true, BUCKET_THREADS_SMALL>(job, workspace, stream)
							  : bucket_sort_with<Key, false, BUCKET_THREADS_SMALL>(job, workspace, stream);
}

#endif /* DEVSORT_BUCKET_SORT_CUH */
