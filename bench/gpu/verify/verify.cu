/*
 * verify.cu
 *		Checking results on the device, and making what the distributions do not.
 *
 * Keys alone: in order, and the sum of their hashes is the input's.  With values, which were row numbers:
 * every row is there once (a bitmap), and the key beside it is that row's.
 */
#include "gpu/verify/verify.h"

#define VERIFY_THREADS 256

/* Blocks of the kernels that walk the keys by strides. */
#define VERIFY_BLOCKS 2048

/* What was found, on the device. */
struct Findings
{
	unsigned long long checksum;
	unsigned long long disorders;
	unsigned long long strangers; /* rows out of range or twice there, or with another row's key */
};

static __device__ uint64_t
mix_bits(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xFF51AFD7ED558CCD);
	x ^= x >> 29;
	x *= UINT64_C(0xC4CEB9FE1A85EC53);
	return x ^ (x >> 32);
}

static __device__ uint64_t
key_word(const void *keys, uint64_t i, int key_bytes, int word)
{
	if (key_bytes == 4)
		return ((const uint32_t *) keys)[i];
	return ((const uint64_t *) keys)[i * (key_bytes / 8) + word];
}

static __device__ bool
key_less(const void *keys, uint64_t a, uint64_t b, int key_bytes, bool floats)
{
	if (floats)
		return ((const float *) keys)[a] < ((const float *) keys)[b];
	for (int word = 0; word < (key_bytes + 7) / 8; word++)
	{
		uint64_t a_word = key_word(keys, a, key_bytes, word);
		uint64_t b_word = key_word(keys, b, key_bytes, word);

		if (a_word != b_word)
			return a_word < b_word;
	}
	return false;
}

static __device__ bool
key_equal(const void *a_keys, uint64_t a, const void *b_keys, uint64_t b, int key_bytes)
{
	for (int word = 0; word < (key_bytes + 7) / 8; word++)
	{
		if (key_word(a_keys, a, key_bytes, word) != key_word(b_keys, b, key_bytes, word))
			return false;
	}
	return true;
}

static __device__ void
warp_add_checksum(Findings *findings, unsigned long long sum)
{
	for (int distance = 16; distance > 0; distance /= 2)
		sum += __shfl_down_sync(0xFFFFFFFFu, sum, distance);
	if (threadIdx.x % 32 == 0)
		atomicAdd(&findings->checksum, sum);
}

static __global__ void
checksum_kernel(const void *keys, uint64_t n, int key_bytes, Findings *findings)
{
	unsigned long long sum = 0;

	for (uint64_t i = (uint64_t) blockIdx.x * VERIFY_THREADS + threadIdx.x; i < n;
		 i += (uint64_t) VERIFY_BLOCKS * VERIFY_THREADS)
	{
		uint64_t hash = 0;

		for (int word = 0; word < (key_bytes + 7) / 8; word++)
			hash = mix_bits(hash + key_word(keys, i, key_bytes, word) + 1);
		sum += hash;
	}
	warp_add_checksum(findings, sum);
}

static __global__ void
order_kernel(const void *keys, uint64_t n, int key_bytes, bool floats, Findings *findings)
{
	for (uint64_t i = (uint64_t) blockIdx.x * VERIFY_THREADS + threadIdx.x + 1; i < n;
		 i += (uint64_t) VERIFY_BLOCKS * VERIFY_THREADS)
	{
		if (key_less(keys, i, i - 1, key_bytes, floats))
			atomicAdd(&findings->disorders, 1ull);
	}
}

static __global__ void
rows_kernel(const void *keys, const uint32_t *values, const void *input_keys, uint64_t n, int key_bytes,
			uint32_t *seen, Findings *findings)
{
	for (uint64_t i = (uint64_t) blockIdx.x * VERIFY_THREADS + threadIdx.x; i < n;
		 i += (uint64_t) VERIFY_BLOCKS * VERIFY_THREADS)
	{
		uint32_t row = values[i];
		uint32_t bit = 1u << row % 32;

		if (row >= n || (atomicOr(&seen[row / 32], bit) & bit) ||
			!key_equal(keys, i, input_keys, row, key_bytes))
			atomicAdd(&findings->strangers, 1ull);
	}
}

/* One for the whole program: the checks run one after the other. */
static DevSortStatus
findings_clear(Findings **findings, cudaStream_t stream)
{
	static Findings *memory = NULL;

	if (memory == NULL)
		CHECK_CUDA_MEMORY(cudaMalloc(&memory, sizeof(Findings)), "allocating the checks' findings");
	CHECK_CUDA(cudaMemsetAsync(memory, 0, sizeof(Findings), stream), "clearing the checks' findings");
	*findings = memory;
	return status_ok();
}

static DevSortStatus
findings_read(const Findings *findings, Findings *copy, cudaStream_t stream)
{
	CHECK_CUDA(cudaMemcpyAsync(copy, findings, sizeof(Findings), cudaMemcpyDeviceToHost, stream),
			   "reading the checks' findings");
	CHECK_CUDA(cudaStreamSynchronize(stream), "checking a result");
	return status_ok();
}

DevSortStatus
verify_checksum(const KeyType *type, const void *keys, uint64_t n, uint64_t *checksum, cudaStream_t stream)
{
	Findings *findings = NULL;
	Findings found;

	RETURN_IF_FAILED(findings_clear(&findings, stream));
	checksum_kernel<<<VERIFY_BLOCKS, VERIFY_THREADS, 0, stream>>>(keys, n, type->key_bytes, findings);
	CHECK_LAUNCH("summing up keys");
	RETURN_IF_FAILED(findings_read(findings, &found, stream));
	*checksum = found.checksum;
	return status_ok();
}

size_t
verify_scratch_bytes(uint64_t n)
{
	return (n + 31) / 32 * sizeof(uint32_t);
}

DevSortStatus
verify_sorted(const SortArrays *result, const void *input_keys, uint64_t input_checksum, void *scratch,
			  cudaStream_t stream)
{
	int key_bytes = result->type->key_bytes;
	uint64_t n = result->n;
	Findings *findings = NULL;
	Findings found;

	RETURN_IF_FAILED(findings_clear(&findings, stream));
	checksum_kernel<<<VERIFY_BLOCKS, VERIFY_THREADS, 0, stream>>>(result->result_keys, n, key_bytes,
																  findings);
	CHECK_LAUNCH("summing up the result");
	order_kernel<<<VERIFY_BLOCKS, VERIFY_THREADS, 0, stream>>>(result->result_keys, n, key_bytes,
															   result->type->floats, findings);
	CHECK_LAUNCH("checking the result's order");
	if (result->result_values)
	{
		CHECK_CUDA(cudaMemsetAsync(scratch, 0, verify_scratch_bytes(n), stream),
				   "clearing the bitmap of rows");
		rows_kernel<<<VERIFY_BLOCKS, VERIFY_THREADS, 0, stream>>>(result->result_keys, result->result_values,
																  input_keys, n, key_bytes,
																  (uint32_t *) scratch, findings);
		CHECK_LAUNCH("checking the result's rows");
	}
	RETURN_IF_FAILED(findings_read(findings, &found, stream));
	if (found.disorders || found.strangers || found.checksum != input_checksum)
		return status_make(DEVSORT_DEVICE_FAILED,
						   "wrong result: %llu keys out of order, %llu wrong rows, the keys are %s",
						   found.disorders, found.strangers,
						   found.checksum == input_checksum ? "the input's" : "others");
	return status_ok();
}

static __global__ void
make_floats_kernel(void *keys, uint64_t n)
{
	for (uint64_t i = (uint64_t) blockIdx.x * VERIFY_THREADS + threadIdx.x; i < n;
		 i += (uint64_t) VERIFY_BLOCKS * VERIFY_THREADS)
		((float *) keys)[i] = (float) (int32_t) (((const uint32_t *) keys)[i] ^ 0x80000000u);
}

DevSortStatus
make_floats(void *keys, uint64_t n, cudaStream_t stream)
{
	make_floats_kernel<<<VERIFY_BLOCKS, VERIFY_THREADS, 0, stream>>>(keys, n);
	CHECK_LAUNCH("making floats");
	return status_ok();
}

static __global__ void
row_numbers_kernel(uint32_t *values, uint64_t n)
{
	for (uint64_t i = (uint64_t) blockIdx.x * VERIFY_THREADS + threadIdx.x; i < n;
		 i += (uint64_t) VERIFY_BLOCKS * VERIFY_THREADS)
		values[i] = (uint32_t) i;
}

DevSortStatus
make_row_numbers(uint32_t *values, uint64_t n, cudaStream_t stream)
{
	row_numbers_kernel<<<VERIFY_BLOCKS, VERIFY_THREADS, 0, stream>>>(values, n);
	CHECK_LAUNCH("numbering rows");
	return status_ok();
}

/* A Feistel network over 2 * half_bits bits, walked until it is back in range: one to one on 0 .. n - 1. */
static __device__ uint32_t
permute(uint64_t i, uint64_t n, int half_bits, uint64_t seed)
{
	uint64_t mask = (UINT64_C(1) << half_bits) - 1;

	do
	{
		uint64_t left = i >> half_bits;
		uint64_t right = i & mask;

		for (int round = 0; round < 4; round++)
		{
			uint64_t next =
				left ^ (mix_bits(right + seed + (uint64_t) round * UINT64_C(0x9E3779B97F4A7C15)) & mask);

			left = right;
			right = next;
		}
		i = left << half_bits | right;
	} while (i >= n);
	return (uint32_t) i;
}

static __global__ void
permutation_kernel(uint32_t *values, uint64_t n, int half_bits, uint64_t seed)
{
	for (uint64_t i = (uint64_t) blockIdx.x * VERIFY_THREADS + threadIdx.x; i < n;
		 i += (uint64_t) VERIFY_BLOCKS * VERIFY_THREADS)
		values[i] = permute(i, n, half_bits, seed);
}

DevSortStatus
make_permutation(uint32_t *values, uint64_t n, uint64_t seed, cudaStream_t stream)
{
	int half_bits = 1;

	while (UINT64_C(1) << (2 * half_bits) < n)
		half_bits++;
	permutation_kernel<<<VERIFY_BLOCKS, VERIFY_THREADS, 0, stream>>>(values, n, half_bits, seed);
	CHECK_LAUNCH("making a permutation");
	return status_ok();
}
