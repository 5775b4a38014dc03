/*
 * thrust.cu
 *		Thrust's sorts: with a comparator (a merge sort), the default (a radix sort), and strings by a
 *		comparator.
 *
 * Thrust allocates for itself; here it does so from the caller's workspace, so that what is timed is the
 * sort.
 */
#include <new>

#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>

#include "gpu/contenders/contenders.h"
#include "gpu/contenders/strings.h"

/* For what Thrust takes besides copies of the arrays. */
#define THRUST_SLACK ((size_t) 64 << 20)

#define THRUST_ALIGNMENT 256

/* Hands out the workspace from front to back; it is a new one for every sort. */
struct WorkspaceAllocator
{
	typedef char value_type;

	char *next;
	char *end;

	char *allocate(std::ptrdiff_t bytes)
	{
		size_t rounded = ((size_t) bytes + THRUST_ALIGNMENT - 1) / THRUST_ALIGNMENT * THRUST_ALIGNMENT;
		char *memory = next;

		if (rounded > (size_t) (end - next))
			throw std::bad_alloc();
		next += rounded;
		return memory;
	}

	void deallocate(char *, size_t)
	{
	}
};

/* Not thrust::less: that would be a radix sort. */
struct OwnLess
{
	__host__ __device__ bool operator()(uint32_t a, uint32_t b) const
	{
		return a < b;
	}
};

/* Runs a sort that throws; says what it threw. */
template <typename Sort>
static DevSortStatus
run_caught(void *workspace, size_t workspace_bytes, cudaStream_t stream, Sort sort)
{
	WorkspaceAllocator allocator = {(char *) workspace, (char *) workspace + workspace_bytes};

	try
	{
		sort(thrust::cuda::par_nosync(allocator).on(stream));
	}
	catch (const std::exception &exception)
	{
		return status_make(DEVSORT_DEVICE_FAILED, "Thrust: %s", exception.what());
	}
	CHECK_LAUNCH("sorting with Thrust");
	return status_ok();
}

static DevSortStatus
thrust_memory(const SortArrays *arrays, size_t *bytes)
{
	*bytes = arrays->n * (size_t) (arrays->type->key_bytes + arrays->type->value_bytes) + THRUST_SLACK;
	return status_ok();
}

static DevSortStatus
thrust_merge_sort(SortArrays *arrays, cudaStream_t stream)
{
	uint32_t *keys = (uint32_t *) arrays->keys;
	uint32_t *values = arrays->values;
	uint64_t n = arrays->n;

	arrays->result_keys = keys;
	arrays->result_values = values;
	return run_caught(arrays->workspace, arrays->workspace_bytes, stream, [=](const auto &policy) {
		thrust::sort_by_key(policy, keys, keys + n, values, OwnLess());
	});
}

static DevSortStatus
thrust_default_sort(SortArrays *arrays, cudaStream_t stream)
{
	uint32_t *keys = (uint32_t *) arrays->keys;
	uint64_t n = arrays->n;

	arrays->result_keys = keys;
	arrays->result_values = NULL;
	return run_caught(arrays->workspace, arrays->workspace_bytes, stream,
					  [=](const auto &policy) { thrust::sort(policy, keys, keys + n); });
}

const Contender contender_thrust_merge = {"thrust-merge", true, thrust_memory, thrust_merge_sort};
const Contender contender_thrust_sort = {"thrust-sort", true, thrust_memory, thrust_default_sort};

/* strings_compare as an order of indexes. */
struct StringLess
{
	DeviceStrings strings;

	__device__ bool operator()(uint32_t a, uint32_t b) const
	{
		return strings_compare(strings, a, b) < 0;
	}
};

size_t
thrust_strings_memory(uint64_t n)
{
	return n * sizeof(uint32_t) + THRUST_SLACK;
}

DevSortStatus
thrust_strings_sort(const DeviceStrings *strings, uint32_t *indexes, void *workspace, size_t workspace_bytes,
					cudaStream_t stream)
{
	StringLess less = {*strings};
	uint64_t n = strings->n;

	return run_caught(workspace, workspace_bytes, stream,
					  [=](const auto &policy) { thrust::sort(policy, indexes, indexes + n, less); });
}
