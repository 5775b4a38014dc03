/*
 * strings.cu
 *		Sorts of strings as a benchmark of nvbench: the library's, and Thrust's merge sort with a comparator.
 */
#include <cstring>
#include <memory>
#include <string>

#include <nvbench/nvbench.cuh>

#include "gpu/contenders/strings.h"
#include "gpu/data/datasets.h"
#include "gpu/nvbench/case.h"
#include "gpu/verify/strings.h"
#include "gpu/verify/verify.h"

/* Strings on the device, and what the sort works on. */
typedef struct StringsCase
{
	DeviceStrings strings;
	size_t total_bytes;
	bool by_thrust;
	DevSortStringsJob job;
	size_t workspace_bytes;
	DeviceMemory bytes;
	DeviceMemory offsets;
	DeviceMemory indexes;
	DeviceMemory scratch;
	DeviceMemory workspace;
} StringsCase;

static uint32_t *
indexes_of(const StringsCase *strings)
{
	return (uint32_t *) strings->indexes.address();
}

static DevSortStatus
copy_strings(StringsCase *strings, const StringSet *set)
{
	size_t bytes = set->bytes.size();
	uint8_t *to;

	RETURN_IF_FAILED(strings->bytes.take(bytes + STRINGS_PADDING));
	RETURN_IF_FAILED(strings->offsets.take(set->offsets.size() * sizeof(uint64_t)));
	to = (uint8_t *) strings->bytes.address();
	CHECK_CUDA(cudaMemcpy(to, set->bytes.data(), bytes, cudaMemcpyHostToDevice),
			   "copying strings to the device");
	CHECK_CUDA(cudaMemset(to + bytes, 0, STRINGS_PADDING), "padding strings");
	CHECK_CUDA(cudaMemcpy(strings->offsets.address(), set->offsets.data(),
						  set->offsets.size() * sizeof(uint64_t), cudaMemcpyHostToDevice),
			   "copying offsets to the device");
	strings->strings = {set->offsets.size() - 1, to, (const uint64_t *) strings->offsets.address()};
	strings->total_bytes = bytes;
	return status_ok();
}

static DevSortStatus
take_memory(StringsCase *strings)
{
	uint64_t n = strings->strings.n;

	RETURN_IF_FAILED(strings->indexes.take(n * sizeof(uint32_t)));
	RETURN_IF_FAILED(strings->scratch.take(strings_check_scratch_bytes(n)));
	strings->job = {};
	strings->job.n = n;
	strings->job.bytes = strings->strings.bytes;
	strings->job.offsets = strings->strings.offsets;
	strings->job.sorted_indexes = indexes_of(strings);
	strings->job.seed = CASE_SEED;
	if (strings->by_thrust)
		strings->workspace_bytes = thrust_strings_memory(n);
	else
		RETURN_IF_FAILED(devsort_strings_memory(&strings->job, &strings->workspace_bytes));
	return strings->workspace.take(strings->workspace_bytes);
}

static DevSortStatus
sort_strings(StringsCase *strings, cudaStream_t stream)
{
	if (strings->by_thrust)
		return thrust_strings_sort(&strings->strings, indexes_of(strings), strings->workspace.address(),
								   strings->workspace_bytes, stream);
	return devsort_strings(&strings->job, strings->workspace.address(), strings->workspace_bytes, stream);
}

/* Sorts once, and checks the result. */
static DevSortStatus
prepare(StringsCase *strings, const StringSet *set, cudaStream_t stream)
{
	TieLengths ties;

	RETURN_IF_FAILED(copy_strings(strings, set));
	RETURN_IF_FAILED(take_memory(strings));
	RETURN_IF_FAILED(make_row_numbers(indexes_of(strings), strings->strings.n, stream));
	RETURN_IF_FAILED(sort_strings(strings, stream));
	return strings_check(&strings->strings, indexes_of(strings), strings->scratch.address(), &ties, stream);
}

static const Dataset *
find_dataset(const std::string &name)
{
	for (const Dataset &dataset : datasets)
		if (name == dataset.name)
			return &dataset;
	return NULL;
}

static void
strings_of_a_set(nvbench::state &state)
{
	const Dataset *dataset = find_dataset(state.get_string("Strings"));
	auto strings = std::make_unique<StringsCase>();
	StringSet set;
	DevSortStatus status;

	if (dataset == NULL)
	{
		state.skip("there are no such strings");
		return;
	}
	strings->by_thrust = state.get_string("Sort") == "thrust-merge";
	dataset_make(dataset, dataset->n, NULL, CASE_SEED, &set);
	status = prepare(strings.get(), &set, state.get_cuda_stream());
	if (status.code != DEVSORT_OK)
	{
		state.skip(status.message);
		return;
	}
	state.add_element_count(strings->strings.n, "Rows");
	state.add_global_memory_reads<char>(strings->total_bytes);
	state.exec(nvbench::exec_tag::sync | nvbench::exec_tag::timer, [&](nvbench::launch &launch, auto &timer) {
		stop_if_failed(make_row_numbers(indexes_of(strings.get()), strings->strings.n, launch.get_stream()));
		timer.start();
		stop_if_failed(sort_strings(strings.get(), launch.get_stream()));
		timer.stop();
	});
}

NVBENCH_BENCH(strings_of_a_set)
	.set_name("strings")
	.add_string_axis("Strings", {"words", "url", "pc-filelist", "sentences"})
	.add_string_axis("Sort", {"segments", "thrust-merge"});
