/*
 * strings.cu
 *		Looking at sorted strings on the device.
 */
#include <cmath>

#include "gpu/verify/strings.h"

#define CHECK_THREADS 256
#define CHECK_BLOCKS 2048

/* At the beginning of the scratch; a bitmap of the strings seen follows. */
struct StringFindings
{
	unsigned long long strangers; /* out of range or twice there */
	unsigned long long disorders;
	unsigned long long sum;
	unsigned long long sum_of_squares;
	unsigned long long longest;
};

static __global__ void
rows_kernel(const uint32_t *indexes, uint64_t n, uint32_t *seen, StringFindings *findings)
{
	for (uint64_t i = (uint64_t) blockIdx.x * CHECK_THREADS + threadIdx.x; i < n;
		 i += (uint64_t) CHECK_BLOCKS * CHECK_THREADS)
	{
		uint32_t row = indexes[i];
		uint32_t bit = 1u << row % 32;

		if (row >= n || (atomicOr(&seen[row / 32], bit) & bit))
			atomicAdd(&findings->strangers, 1ull);
	}
}

/* After rows_kernel has found nothing. */
static __global__ void
neighbours_kernel(DeviceStrings strings, const uint32_t *indexes, StringFindings *findings)
{
	unsigned long long sum = 0;
	unsigned long long sum_of_squares = 0;
	unsigned long long longest = 0;

	for (uint64_t i = (uint64_t) blockIdx.x * CHECK_THREADS + threadIdx.x; i + 1 < strings.n;
		 i += (uint64_t) CHECK_BLOCKS * CHECK_THREADS)
	{
		unsigned long long common = strings_common(strings, indexes[i], indexes[i + 1]);

		if (strings_compare(strings, indexes[i], indexes[i + 1]) > 0)
			atomicAdd(&findings->disorders, 1ull);
		sum += common;
		sum_of_squares += common * common;
		longest = common > longest ? common : longest;
	}
	atomicAdd(&findings->sum, sum);
	atomicAdd(&findings->sum_of_squares, sum_of_squares);
	atomicMax(&findings->longest, longest);
}

size_t
strings_check_scratch_bytes(uint64_t n)
{
	return sizeof(StringFindings) + (n + 31) / 32 * sizeof(uint32_t);
}

static DevSortStatus
read_findings(const StringFindings *findings, StringFindings *copy, cudaStream_t stream)
{
	CHECK_CUDA(cudaMemcpyAsync(copy, findings, sizeof(*copy), cudaMemcpyDeviceToHost, stream),
			   "reading the check's findings");
	CHECK_CUDA(cudaStreamSynchronize(stream), "checking sorted strings");
	return status_ok();
}

DevSortStatus
strings_check(const DeviceStrings *strings, const uint32_t *indexes, void *scratch, TieLengths *ties,
			  cudaStream_t stream)
{
	StringFindings *findings = (StringFindings *) scratch;
	StringFindings found;
	double pairs = strings->n > 1 ? (double) (strings->n - 1) : 1;

	CHECK_CUDA(cudaMemsetAsync(scratch, 0, strings_check_scratch_bytes(strings->n), stream),
			   "clearing the check's scratch");
	rows_kernel<<<CHECK_BLOCKS, CHECK_THREADS, 0, stream>>>(indexes, strings->n, (uint32_t *) (findings + 1),
															findings);
	CHECK_LAUNCH("checking the strings' numbers");
	RETURN_IF_FAILED(read_findings(findings, &found, stream));
	if (found.strangers)
		return status_make(DEVSORT_DEVICE_FAILED, "wrong result: %llu wrong indexes", found.strangers);
	neighbours_kernel<<<CHECK_BLOCKS, CHECK_THREADS, 0, stream>>>(*strings, indexes, findings);
	CHECK_LAUNCH("comparing neighbours");
	RETURN_IF_FAILED(read_findings(findings, &found, stream));
	if (found.disorders)
		return status_make(DEVSORT_DEVICE_FAILED, "wrong result: %llu strings out of order", found.disorders);
	ties->average = found.sum / pairs;
	ties->deviation = sqrt(fmax(0, found.sum_of_squares / pairs - ties->average * ties->average));
	ties->longest = found.longest;
	return status_ok();
}
