/*
 * prefix_codes.cu
 *		Choosing codes for the prefixes of wide keys, by a sample of them, and loading keys with these codes.
 */
#include "base/read_back.h"
#include "fixed/extract.cuh"
#include "fixed/prefix_codes.h"
#include "pairs/sample_splitters.cuh"

/* Slots of the table of the sample's beginnings, two for each thread. */
#define PREFIX_SLOTS (2 * PREFIX_SAMPLE)

#ifdef DEVSORT_FAULTS
PrefixRareWays prefix_rare_ways = {PREFIX_LEAST_ROWS, 0};
#define LEAST_ROWS prefix_rare_ways.least_rows
#else
#define LEAST_ROWS PREFIX_LEAST_ROWS
#endif

/* A sort's keys, and what of them is looked at. */
struct PrefixKeys
{
	const uint64_t *keys;
	uint64_t n;
	int words;
	KeyOrder order;
	SqueezePlan plan;

	__device__ __forceinline__ const uint64_t *key(uint64_t row) const
	{
		return keys + row * words;
	}
};

static PrefixKeys
prefix_keys(const DevSortFixedJob *job, const SqueezePlan *plan)
{
	return {(const uint64_t *) job->keys, job->n, job->key_bytes / 8,
			key_order_make<uint64_t>(job->format == DEVSORT_KEY_BYTES), *plan};
}

/* How many bits of the plan two keys have in common before they differ. */
static __device__ __forceinline__ int
common_bits(const PrefixKeys &all, const uint64_t *one, const uint64_t *other)
{
	int common = 0;

	for (int i = 0; i < all.plan.runs; i++)
	{
		SqueezeRun run = all.plan.run[i];
		uint64_t differs =
			squeeze_append(0, key_order_apply(all.order, one[run.word] ^ other[run.word]), run);

		if (differs != 0)
			return common + run.length - key_width(differs);
		common += run.length;
	}
	return common;
}

/* The group that keys with these first 64 bits have in the table; `row` becomes its key if it has none. */
static __device__ __forceinline__ int
find_group(unsigned long long *marks, uint32_t *rows, uint64_t first, uint32_t row)
{
	uint64_t mark = max(random_number(0, first), UINT64_C(1)); /* 0: the slot is free */
	int slot = (int) (mark % PREFIX_SLOTS);

	while (true)
	{
		uint64_t found = atomicCAS(&marks[slot], 0ull, (unsigned long long) mark);

		if (found == 0)
			rows[slot] = row;
		if (found == 0 || found == mark)
			return slot;
		slot = (slot + 1) % PREFIX_SLOTS;
	}
}

/* The code of the prefix that is the first `bits` bits of a key. */
static __device__ __forceinline__ PrefixCode
make_code(const PrefixKeys &all, const uint64_t *key, uint64_t first, int bits)
{
	PrefixCode code = {};
	int left = bits;

	code.first = first;
	code.bits = bits;
	for (int i = 0; i < all.plan.runs && left > 0; i++)
	{
		SqueezeRun run = all.plan.run[i];
		int taken = min(left, (int) run.length);

		code.mask[run.word] |= ~UINT64_C(0) >> (64 - taken) << (run.shift + run.length - taken);
		left -= taken;
	}
	for (int word = 0; word < all.words; word++)
		code.prefix[word] = key_order_apply(all.order, key[word]) & code.mask[word];
	return code;
}

/*
 * Chooses codes for the prefixes of the groups that agree in the first 64 bits, but not in all, and of which
 * the sample has PREFIX_LEAST_SHARES; none if all these are few of the sample.  One block, a key a thread.
 */
static __global__ void
__launch_bounds__(PREFIX_SAMPLE)
	choose_codes_kernel(const __grid_constant__ PrefixKeys all, uint64_t seed, PrefixCodes *codes)
{
	__shared__ unsigned long long marks[PREFIX_SLOTS];
	__shared__ uint32_t rows[PREFIX_SLOTS]; /* a key of the group */
	__shared__ uint32_t sizes[PREFIX_SLOTS];
	__shared__ int common[PREFIX_SLOTS]; /* bits that the group has in common */
	__shared__ uint64_t firsts[PREFIX_CODES_MOST];
	__shared__ uint32_t chosen; /* groups */
	__shared__ uint32_t helped; /* keys in them */
	uint64_t from = threadIdx.x * all.n / PREFIX_SAMPLE;
	uint64_t to = (threadIdx.x + 1) * all.n / PREFIX_SAMPLE;
	uint64_t row = from + (to > from ? random_number(seed, threadIdx.x) % (to - from) : 0);
	int group;

	for (int slot = threadIdx.x; slot < PREFIX_SLOTS; slot += PREFIX_SAMPLE)
	{
		marks[slot] = 0;
		sizes[slot] = 0;
		common[slot] = all.plan.bits;
	}
	if (threadIdx.x == 0)
		chosen = helped = 0;
	__syncthreads();

	group = find_group(marks, rows, extract_bits(all.plan, all.order, all.key(row), 0, 64), (uint32_t) row);
	atomicAdd(&sizes[group], 1u);
	__syncthreads();
	atomicMin(&common[group], common_bits(all, all.key(row), all.key(rows[group])));
	__syncthreads();

	/* Each slot's thread sees to its group; marks become the numbers of the groups that are chosen. */
	for (int slot = threadIdx.x; slot < PREFIX_SLOTS; slot += PREFIX_SAMPLE)
	{
		bool choose =
			sizes[slot] >= PREFIX_LEAST_SHARES && common[slot] >= 64 && common[slot] < all.plan.bits;

		marks[slot] = PREFIX_CODES_MOST;
		if (!choose)
			continue;
		atomicAdd(&helped, sizes[slot]);
		marks[slot] = atomicAdd(&chosen, 1u);
		firsts[marks[slot]] = extract_bits(all.plan, all.order, all.key(rows[slot]), 0, 64);
	}
	__syncthreads();
	if (threadIdx.x == 0)
	{
		codes->count = helped < PREFIX_SAMPLE / PREFIX_WORTH ? 0 : (int) chosen;
		codes->code_bits = codes->count > 0 ? 32 - __clz(4 * codes->count) : 0;
	}
	for (int slot = threadIdx.x; slot < PREFIX_SLOTS; slot += PREFIX_SAMPLE)
	{
		uint32_t below = 0;
		uint64_t first;

		if (marks[slot] == PREFIX_CODES_MOST)
			continue;
		first = firsts[marks[slot]];
		for (uint32_t i = 0; i < chosen; i++)
			below += firsts[i] < first;
		codes->codes[below] =
			make_code(all, all.key(rows[slot]), first, max(64, common[slot] - PREFIX_SPARED_BITS));
	}
}

/* Which of the codes' first bits are less than these? */
static __device__ __forceinline__ int
count_below(const uint64_t *firsts, int count, uint64_t first)
{
	int low = 0;

	while (low < count)
	{
		int middle = (low + count) / 2;

		if (firsts[middle] < first)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* What follows the code of a key that has the first 64 bits of this prefix; adds to the code what it is. */
static __device__ __forceinline__ uint64_t
follow_prefix(const PrefixKeys &all, const uint64_t *key, const PrefixCode &prefix, int room, uint64_t *code)
{
	*code += 2;
	for (int word = 0; word < all.words; word++)
	{
		uint64_t masked = key_order_apply(all.order, key[word]) & prefix.mask[word];

		if (masked == prefix.prefix[word])
			continue;
		if (masked < prefix.prefix[word])
			*code -= 1;
		else
			*code += 1;
		return extract_bits(all.plan, all.order, key, 64, room);
	}
	return extract_bits(all.plan, all.order, key, prefix.bits, room);
}

/* Loads the keys of the first round.  slice has the first 64 bits of the plan. */
static __global__ void
__launch_bounds__(EXTRACT_THREADS)
	extract_coded_kernel(RoundRows input, const __grid_constant__ PrefixKeys all,
						 const __grid_constant__ SqueezePlan slice, const PrefixCodes *codes)
{
	__shared__ uint64_t firsts[PREFIX_CODES_MOST];
	uint64_t start = blockIdx.x * (uint64_t) (EXTRACT_THREADS * EXTRACT_ITEMS) + threadIdx.x;
	const uint64_t *key[EXTRACT_ITEMS];
	uint64_t value[EXTRACT_ITEMS];
	int count = codes->count;
	int room = 64 - codes->code_bits;

	for (int i = threadIdx.x; i < count; i += EXTRACT_THREADS)
		firsts[i] = codes->codes[i].first;
	__syncthreads();
#pragma unroll
	for (int item = 0; item < EXTRACT_ITEMS; item++)
	{
		uint64_t i = start + item * EXTRACT_THREADS;

		value[item] = 0;
		key[item] = all.key(i < input.count ? round_row(input, i) : 0);
	}
	extract_slice(slice, all.order, key, value);
#pragma unroll
	for (int item = 0; item < EXTRACT_ITEMS; item++)
	{
		uint64_t i = start + item * EXTRACT_THREADS;

		if (i >= input.count)
			continue;
		if (count > 0)
		{
			int below = count_below(firsts, count, value[item]);
			uint64_t code = 4 * (uint64_t) below;
			uint64_t behind = value[item] >> (64 - room);

			if (below < count && firsts[below] == value[item])
				behind = follow_prefix(all, key[item], codes->codes[below], room, &code);
			value[item] = code << room | behind;
		}
		input.keys[i] = value[item];
	}
}

bool
prefix_codes_wanted(const DevSortFixedJob *job, const SqueezePlan *plan)
{
	return plan->bits > 64 && job->n >= LEAST_ROWS;
}

DevSortStatus
prefix_codes_choose(const DevSortFixedJob *job, const SqueezePlan *plan, PrefixCodes *codes,
					cudaStream_t stream)
{
	choose_codes_kernel<<<1, PREFIX_SAMPLE, 0, stream>>>(prefix_keys(job, plan), job->seed, codes);
	CHECK_LAUNCH("choosing codes of prefixes");
#ifdef DEVSORT_FAULTS
	bool any;

	RETURN_IF_FAILED(prefix_codes_any(codes, &any, stream));
	prefix_rare_ways.coded += any;
#endif
	return status_ok();
}

DevSortStatus
prefix_codes_extract(const DevSortFixedJob *job, const SqueezePlan *plan, const PrefixCodes *codes,
					 RoundRows input, cudaStream_t stream)
{
	const int block_rows = EXTRACT_THREADS * EXTRACT_ITEMS;

	extract_coded_kernel<<<(unsigned) ((input.count + block_rows - 1) / block_rows), EXTRACT_THREADS, 0,
						   stream>>>(input, prefix_keys(job, plan), squeeze_slice(plan, 0, 64), codes);
	CHECK_LAUNCH("extracting bits of keys");
	return status_ok();
}

DevSortStatus
prefix_codes_any(const PrefixCodes *codes, bool *any, cudaStream_t stream)
{
	ReadBack read;
	int count;

	RETURN_IF_FAILED(
		read_back_begin(&read, &codes->count, sizeof(count), "reading how many codes there are", stream));
	RETURN_IF_FAILED(read_back_end(&read, &count, sizeof(count), "choosing codes of prefixes"));
	*any = count > 0;
	return status_ok();
}
