/*
 * devsort.cu
 *		The device library's sorts as contenders.
 *
 * It knows no floats: their bits are mapped to integers of the same order before the sort and back after it,
 * and both passes belong to the work.
 */
#include "gpu/contenders/contenders.h"

#define MAP_THREADS 256

/* Negative floats fall as their bits rise. */
static __device__ uint32_t
float_to_ordered(uint32_t bits)
{
	return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static __device__ uint32_t
ordered_to_float(uint32_t ordered)
{
	return ordered & 0x80000000u ? ordered & 0x7FFFFFFFu : ~ordered;
}

static __global__ void
map_floats_kernel(uint32_t *keys, uint64_t n, bool back)
{
	uint64_t i = (uint64_t) blockIdx.x * MAP_THREADS + threadIdx.x;

	if (i < n)
		keys[i] = back ? ordered_to_float(keys[i]) : float_to_ordered(keys[i]);
}

static DevSortStatus
map_floats(void *keys, uint64_t n, bool back, cudaStream_t stream)
{
	map_floats_kernel<<<(unsigned int) ((n + MAP_THREADS - 1) / MAP_THREADS), MAP_THREADS, 0, stream>>>(
		(uint32_t *) keys, n, back);
	CHECK_LAUNCH("mapping floats");
	return status_ok();
}

static DevSortFixedJob
make_job(const SortArrays *arrays, DevSortAlgorithm algorithm, bool numbering)
{
	DevSortFixedJob job = {};

	job.algorithm = algorithm;
	job.format = DEVSORT_KEY_WORDS;
	job.key_bytes = arrays->type->key_bytes;
	job.n = arrays->n;
	job.keys = arrays->keys;
	job.sorted_keys = arrays->sorted_keys;
	job.indexes = numbering ? NULL : arrays->values;
	job.sorted_indexes = arrays->sorted_values;
	job.seed = arrays->seed;
	job.samples = algorithm == DEVSORT_BUCKET ? arrays->samples : 0;
	job.stages = arrays->stages;
	return job;
}

static DevSortStatus
sort_with(SortArrays *arrays, DevSortAlgorithm algorithm, bool numbering, cudaStream_t stream)
{
	DevSortFixedJob job = make_job(arrays, algorithm, numbering);

	arrays->result_keys = arrays->sorted_keys;
	arrays->result_values = arrays->sorted_values;
	if (arrays->type->floats)
		RETURN_IF_FAILED(map_floats(arrays->keys, arrays->n, false, stream));
	RETURN_IF_FAILED(devsort_fixed(&job, arrays->workspace, arrays->workspace_bytes, stream));
	if (arrays->type->floats)
		RETURN_IF_FAILED(map_floats(arrays->sorted_keys, arrays->n, true, stream));
	return status_ok();
}

static DevSortStatus
sample_memory(const SortArrays *arrays, size_t *bytes)
{
	DevSortFixedJob job = make_job(arrays, DEVSORT_SAMPLE, false);

	return devsort_fixed_memory(&job, bytes);
}

static DevSortStatus
sample_sort(SortArrays *arrays, cudaStream_t stream)
{
	return sort_with(arrays, DEVSORT_SAMPLE, false, stream);
}

static DevSortStatus
sample_numbering_memory(const SortArrays *arrays, size_t *bytes)
{
	DevSortFixedJob job = make_job(arrays, DEVSORT_SAMPLE, true);

	return devsort_fixed_memory(&job, bytes);
}

static DevSortStatus
sample_numbering_sort(SortArrays *arrays, cudaStream_t stream)
{
	return sort_with(arrays, DEVSORT_SAMPLE, true, stream);
}

static DevSortStatus
bucket_memory(const SortArrays *arrays, size_t *bytes)
{
	DevSortFixedJob job = make_job(arrays, DEVSORT_BUCKET, false);

	return devsort_fixed_memory(&job, bytes);
}

static DevSortStatus
bucket_sort(SortArrays *arrays, cudaStream_t stream)
{
	return sort_with(arrays, DEVSORT_BUCKET, false, stream);
}

const Contender contender_sample = {"sample", false, sample_memory, sample_sort};
const Contender contender_sample_numbering = {"sample-numbering", false, sample_numbering_memory,
											  sample_numbering_sort};
const Contender contender_bucket = {"bucket", false, bucket_memory, bucket_sort};

SortArrays
sort_arrays_measure(const KeyType *type, uint64_t n)
{
	static char nowhere[256] __attribute__((aligned(256)));
	SortArrays arrays = {};

	arrays.type = type;
	arrays.n = n;
	arrays.keys = nowhere;
	arrays.sorted_keys = nowhere;
	arrays.values = type->value_bytes ? (uint32_t *) nowhere : NULL;
	arrays.sorted_values = arrays.values;
	return arrays;
}

size_t
contender_total_bytes(const Contender *contender, const KeyType *type, uint64_t n)
{
	SortArrays arrays = sort_arrays_measure(type, n);
	size_t workspace_bytes;

	if (contender->memory(&arrays, &workspace_bytes).code != DEVSORT_OK)
		return 0;
	return workspace_bytes +
		   (contender->in_place ? 1 : 2) * n * (size_t) (type->key_bytes + type->value_bytes);
}
