/*
 * fixed_keys.cu
 *		Sorts of fixed keys with a 4-byte value as a benchmark of nvbench, with an axis for each of what
 *		gpubench varies.
 */
#include <algorithm>
#include <memory>
#include <string>

#include <nvbench/nvbench.cuh>

#include "check/data/distributions.h"
#include "gpu/contenders/contenders.h"
#include "gpu/nvbench/case.h"
#include "gpu/verify/verify.h"

/* A sort of nvbench's axis, and the one that takes its place where keys are wider than 8 bytes. */
typedef struct NamedSort
{
	const char *name;
	const Contender *narrow;
	const Contender *wide; /* NULL: there is none */
} NamedSort;

static const NamedSort sorts[] = {
	{"sample", &contender_sample, &contender_sample},
	{"sample-numbering", &contender_sample_numbering, &contender_sample_numbering},
	{"bucket", &contender_bucket, NULL},
	{"cub-radix", &contender_cub_radix, &contender_cub_radix_wide},
	{"cub-radix-double-buffer", &contender_cub_radix_double_buffer, NULL},
	{"cub-merge", &contender_cub_merge, &contender_cub_merge_wide},
};

static const Contender *
find_sort(const std::string &name, int key_bytes)
{
	for (const NamedSort &sort : sorts)
		if (name == sort.name)
			return key_bytes > 8 ? sort.wide : sort.narrow;
	return NULL;
}

/* Keys as they were made, and what the sort works on. */
typedef struct FixedCase
{
	KeyType type;
	const Contender *contender;
	SortArrays arrays;
	DeviceMemory pristine_keys;
	DeviceMemory pristine_values;
	DeviceMemory keys;
	DeviceMemory values;
	DeviceMemory sorted_keys;
	DeviceMemory sorted_values;
	DeviceMemory workspace;
	uint64_t checksum;
} FixedCase;

static DevSortStatus
take_memory(FixedCase *fixed)
{
	SortArrays *arrays = &fixed->arrays;
	size_t key_bytes = arrays->n * (size_t) fixed->type.key_bytes;
	size_t value_bytes = arrays->n * sizeof(uint32_t);

	*arrays = sort_arrays_measure(&fixed->type, arrays->n);
	RETURN_IF_FAILED(fixed->contender->memory(arrays, &arrays->workspace_bytes));
	arrays->workspace_bytes = std::max(arrays->workspace_bytes, verify_scratch_bytes(arrays->n));
	RETURN_IF_FAILED(fixed->pristine_keys.take(key_bytes));
	RETURN_IF_FAILED(fixed->pristine_values.take(value_bytes));
	RETURN_IF_FAILED(fixed->keys.take(key_bytes));
	RETURN_IF_FAILED(fixed->values.take(value_bytes));
	RETURN_IF_FAILED(fixed->sorted_keys.take(key_bytes));
	RETURN_IF_FAILED(fixed->sorted_values.take(value_bytes));
	RETURN_IF_FAILED(fixed->workspace.take(arrays->workspace_bytes));
	arrays->keys = fixed->keys.address();
	arrays->values = (uint32_t *) fixed->values.address();
	arrays->sorted_keys = fixed->sorted_keys.address();
	arrays->sorted_values = (uint32_t *) fixed->sorted_values.address();
	arrays->workspace = fixed->workspace.address();
	arrays->seed = CASE_SEED;
	return status_ok();
}

/* Copies the input back, which a sort may have overwritten. */
static DevSortStatus
restore(FixedCase *fixed, cudaStream_t stream)
{
	size_t n = fixed->arrays.n;

	CHECK_CUDA(cudaMemcpyAsync(fixed->keys.address(), fixed->pristine_keys.address(),
							   n * fixed->type.key_bytes, cudaMemcpyDeviceToDevice, stream),
			   "copying keys");
	CHECK_CUDA(cudaMemcpyAsync(fixed->values.address(), fixed->pristine_values.address(),
							   n * sizeof(uint32_t), cudaMemcpyDeviceToDevice, stream),
			   "copying values");
	return status_ok();
}

/* Makes the input, sorts it once and checks the result. */
static DevSortStatus
prepare(FixedCase *fixed, Distribution distribution, cudaStream_t stream)
{
	SortArrays *arrays = &fixed->arrays;
	void *pristine = fixed->pristine_keys.address();

	RETURN_IF_FAILED(distribution_fill(distribution, CASE_SEED, arrays->n, fixed->type.key_bytes,
									   DEVSORT_KEY_WORDS, pristine, stream));
	RETURN_IF_FAILED(make_row_numbers((uint32_t *) fixed->pristine_values.address(), arrays->n, stream));
	RETURN_IF_FAILED(verify_checksum(&fixed->type, pristine, arrays->n, &fixed->checksum, stream));
	RETURN_IF_FAILED(restore(fixed, stream));
	RETURN_IF_FAILED(fixed->contender->sort(arrays, stream));
	return verify_sorted(arrays, pristine, fixed->checksum, arrays->workspace, stream);
}

static void
time_sort(nvbench::state &state, FixedCase *fixed)
{
	size_t row_bytes = fixed->type.key_bytes + sizeof(uint32_t);

	state.add_element_count(fixed->arrays.n, "Rows");
	state.add_global_memory_reads<char>(fixed->arrays.n * row_bytes);
	state.add_global_memory_writes<char>(fixed->arrays.n * row_bytes);
	/* The library's sorts wait for the stream, so that nvbench must not hold it up. */
	state.exec(nvbench::exec_tag::sync | nvbench::exec_tag::timer, [&](nvbench::launch &launch, auto &timer) {
		stop_if_failed(restore(fixed, launch.get_stream()));
		timer.start();
		stop_if_failed(fixed->contender->sort(&fixed->arrays, launch.get_stream()));
		timer.stop();
	});
}

static void
fixed_keys(nvbench::state &state)
{
	auto fixed = std::make_unique<FixedCase>();
	int distribution = distribution_by_name(state.get_string("Keys").c_str());
	cudaStream_t stream = state.get_cuda_stream();
	DevSortStatus status;

	fixed->type = {"nvbench", (int) state.get_int64("KeyBytes"), sizeof(uint32_t), false};
	fixed->contender = find_sort(state.get_string("Sort"), fixed->type.key_bytes);
	fixed->arrays.n = (uint64_t) state.get_int64("Rows");
	if (fixed->contender == NULL || distribution < 0)
	{
		state.skip("there is no such sort of such keys");
		return;
	}
	status = take_memory(fixed.get());
	if (status.code == DEVSORT_OK)
		status = prepare(fixed.get(), (Distribution) distribution, stream);
	if (status.code != DEVSORT_OK)
	{
		state.skip(status.message);
		return;
	}
	time_sort(state, fixed.get());
}

NVBENCH_BENCH(fixed_keys)
	.set_name("fixed-keys")
	.add_string_axis("Keys", {"uniform", "sorted", "zipf"})
	.add_int64_axis("KeyBytes", {4, 8, 16, 32})
	.add_int64_power_of_two_axis("Rows", {20, 24, 27})
	.add_string_axis("Sort", {"sample", "sample-numbering", "bucket", "cub-radix", "cub-radix-double-buffer",
							  "cub-merge"});
