/*
 * bucket_bound.cu
 *		The guarantee of the bucket sort: no bucket has more than 2n/s rows, whatever the keys.
 *
 * Dehne and Zaboli, "Deterministic Sample Sort For GPUs", section 4, step 8.  After a sort its workspace
 * still says where the buckets of each level began.  They are held against the bound of the paper where all
 * sublists are full, and else against that of full ones.
 */
#include <vector>

#include "check/harness/check.h"
#include "pairs/bucket_sort.cuh"

typedef uint64_t Key;

/* One sort and what it leaves. */
struct BoundCase
{
	Distribution distribution;
	uint64_t n;
	int samples;
	uint64_t seed;
	uint64_t largest[BUCKET_MAX_LEVELS];
	uint64_t bound[BUCKET_MAX_LEVELS];
};

/* Sorts in memory that holds keys, sorted keys and workspace one after the other. */
static bool
bound_sort(BoundCase *bound, char *memory, size_t array_bytes, size_t workspace_size, Why *why)
{
	Workspace measured = workspace_measure();
	Workspace workspace;
	DevSortFixedJob job = {};

	job.algorithm = DEVSORT_BUCKET;
	job.format = DEVSORT_KEY_WORDS;
	job.key_bytes = sizeof(Key);
	job.n = bound->n;
	job.keys = memory;
	job.sorted_keys = memory + array_bytes;
	job.samples = bound->samples;
	if (!why_status(why,
					distribution_fill(bound->distribution, bound->seed, bound->n, sizeof(Key),
									  DEVSORT_KEY_WORDS, memory, NULL),
					"making keys") ||
		!why_status(why, devsort_fixed(&job, memory + 2 * array_bytes, workspace_size, NULL), "sorting") ||
		!why_cuda(why, cudaDeviceSynchronize(), "sorting") ||
		!why_status(why, workspace_check(memory + 2 * array_bytes, workspace_size, &measured, &workspace),
					"opening the workspace"))
		return false;

	BucketShape shape = bucket_shape(bound->n, BUCKET_THREADS_LARGE * BUCKET_ITEMS, bound->samples);
	BucketSpace<Key> space = bucket_space_take<Key>(&workspace, &shape);
	uint64_t segment_bound = bound->n;

	for (int level = 0; level < shape.levels; level++)
	{
		uint32_t nbuckets = shape.nsegments[level + 1];
		std::vector<uint32_t> starts(nbuckets + 1);

		if (!why_cuda(why,
					  cudaMemcpy(starts.data(), space.starts[level + 1], (nbuckets + 1) * sizeof(uint32_t),
								 cudaMemcpyDeviceToHost),
					  "reading where buckets begin"))
			return false;
		segment_bound = bucket_bound(segment_bound, shape.tile, shape.s[level]);
		if (level == 0 && bound->n % shape.tile == 0 && shape.tile % shape.s[0] == 0)
			segment_bound = 2 * bound->n / shape.s[0];
		bound->bound[level] = segment_bound;
		for (uint32_t i = 0; i < nbuckets; i++)
		{
			uint64_t size = (uint64_t) starts[i + 1] - starts[i];

			bound->largest[level] = size > bound->largest[level] ? size : bound->largest[level];
		}
		if (starts[0] != 0 || starts[nbuckets] != bound->n)
			return why_say(why, "level %d's buckets are from %u to %u", level, starts[0], starts[nbuckets]);
		if (bound->largest[level] > bound->bound[level])
			return why_say(why, "a bucket of level %d has %llu rows; the bound is %llu", level,
						   (unsigned long long) bound->largest[level],
						   (unsigned long long) bound->bound[level]);
	}
	return true;
}

static bool
bound_run(BoundCase *bound, Why *why)
{
	size_t array_bytes = (bound->n * sizeof(Key) + 255) / 256 * 256;
	size_t workspace_size;
	DevSortFixedJob job = {};
	char *memory;
	bool passed;

	job.algorithm = DEVSORT_BUCKET;
	job.key_bytes = sizeof(Key);
	job.n = bound->n;
	job.samples = bound->samples;
	if (!why_status(why, devsort_fixed_memory(&job, &workspace_size), "asking for the workspace's size") ||
		!why_cuda(why, cudaMalloc(&memory, 2 * array_bytes + workspace_size), "allocating"))
		return false;
	passed = bound_sort(bound, memory, array_bytes, workspace_size, why);
	cudaFree(memory);
	return passed;
}

void
check_bucket_bound(Check *check)
{
	const uint32_t tile = BUCKET_THREADS_LARGE * BUCKET_ITEMS;
	const uint64_t sizes[] = {tile + 1, 40 * (uint64_t) tile, 250 * (uint64_t) tile, 1000003,
							  5000011,	640 * (uint64_t) tile};
	const int samples[] = {0, 32, 64, 256, 512};
	int shared_memory = 0;

	cudaDeviceGetAttribute(&shared_memory, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
	if ((size_t) shared_memory < tile * (sizeof(Key) + sizeof(uint32_t)))
	{
		check_group_skip(check, "bucket bound", "this device takes smaller sublists than the check knows of");
		return;
	}
	for (int distribution = 0; distribution < NCHECKED_DISTRIBUTIONS; distribution++)
	{
		if (!check_wants(check, DEVSORT_BUCKET, sizeof(Key), distribution) ||
			!check_group_begin(check, "bucket bound: %s", distribution_name(distribution)))
			continue;
		for (uint64_t n : sizes)
		{
			for (int s : samples)
			{
				BoundCase bound = {(Distribution) distribution, n, s, check_random(check) >> 16, {0}, {0}};
				Why why = {};

				if (check->options.has_n && n != check->options.n)
					continue;
				check_case(check, bound_run(&bound, &why), &why, "n %llu, s %d, seed %llu",
						   (unsigned long long) n, s, (unsigned long long) bound.seed);
			}
		}
		check_group_end(check);
	}
}
