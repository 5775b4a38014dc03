/*
 * rounds.cu
 *		Sorting by keys that are longer than 64 bits, a piece a round: what comes after a round's sort.
 *
 * Three kernels.  The first compares neighbours, writes settled rows to their places and leaves two bits a
 * row.  The host reads how many rows are left; if none are, that was all.  It does not wait before, for the
 * sort: where a sort is not finished yet, which hardly ever is, the first kernel says so and is run again.
 * The second sums up the tiles' counts in one block, the third moves the rows that are left together, by
 * ranks that come from the bits alone.  Where the user has finished rows, another kernel takes the first
 * one's part.
 *
 * The numbers of the segments are kept in the array of the sorted keys, which is free from the third kernel
 * until the next sort: in one half of it, and after rows were moved once more in the other half.
 */
#include <utility>

#include "base/read_back.h"
#include "primitives/block_scan.cuh"
#include "segments/rounds.h"

/*
 * A tile is what a block of the first and third kernel looks at; a warp takes ROUND_ITEMS words of its bits.
 */
#define ROUND_THREADS 256
#define ROUND_ITEMS 8
#define ROUND_TILE (ROUND_THREADS * ROUND_ITEMS)
#define ROUND_TILE_WORDS (ROUND_TILE / 32)

#define SCAN_THREADS 1024
#define SCAN_ITEMS 4

/* In place of the numbers of unsettled rows and heads: the round's sort is not finished. */
#define ROUND_NOT_SORTED UINT64_MAX

static uint64_t
tile_count(uint64_t n)
{
	return (n + ROUND_TILE - 1) / ROUND_TILE;
}

uint64_t
segment_rounds_words(uint64_t n)
{
	return tile_count(n) * ROUND_TILE_WORDS;
}

void
segment_rounds_take(Workspace *workspace, uint64_t n, SegmentRounds *rounds)
{
	uint64_t tiles = tile_count(n);

	rounds->sorted_rows = workspace_take<uint32_t>(workspace, n);
	rounds->places = workspace_take<uint32_t>(workspace, n);
	rounds->next_places = workspace_take<uint32_t>(workspace, n);
	rounds->unsettled = workspace_take<uint32_t>(workspace, segment_rounds_words(n));
	rounds->heads = workspace_take<uint32_t>(workspace, segment_rounds_words(n));
	rounds->tiles = workspace_take<uint2>(workspace, tiles);
	rounds->total = workspace_take<unsigned long long>(workspace, 1);
}

void
segment_rounds_begin(SegmentRounds *rounds, uint64_t n)
{
	rounds->n = n;
	rounds->count = n;
	rounds->segments = 1;
	rounds->row_segments = NULL;
	rounds->round = 0;
}

int
segment_rounds_bits(const SegmentRounds *rounds)
{
	int bits = 0;

	while ((rounds->segments - 1) >> bits != 0)
		bits++;
	return bits;
}

RoundRows
segment_rounds_input(const SegmentRounds *rounds)
{
	RoundRows input;

	input.count = rounds->count;
	input.keys = rounds->keys;
	input.rows = rounds->rows;
	input.segments = rounds->row_segments;
	return input;
}

/* Where the round's sorted row numbers are. */
static uint32_t *
sorted_rows(const SegmentRounds *rounds)
{
	return rounds->round == 0 ? rounds->order : rounds->sorted_rows;
}

/* Their places, or NULL if each stands in its place. */
static const uint32_t *
places(const SegmentRounds *rounds)
{
	return rounds->round == 0 ? NULL : rounds->places;
}

/* The depth of the next round at every head of a segment, by row, while rows are moved. */
static uint32_t *
head_depths(const SegmentRounds *rounds)
{
	return (uint32_t *) rounds->keys;
}

/* The sort of the round's pairs. */
static PairSortJob<uint64_t>
round_sort(const SegmentRounds *rounds)
{
	PairSortJob<uint64_t> job = {};

	job.algorithm = rounds->algorithm;
	job.n = rounds->count;
	job.keys = rounds->keys;
	job.values = rounds->rows;
	job.sorted_keys = rounds->sorted_keys;
	job.sorted_values = sorted_rows(rounds);
	job.big_endian = false;
	job.keys_crowd = true;
	job.seed = rounds->seed + (uint64_t) rounds->round;
	job.samples = rounds->samples;
	return job;
}

DevSortStatus
segment_rounds_sort(SegmentRounds *rounds, const DevSortStages *stages, const Workspace *workspace,
					cudaStream_t stream)
{
	PairSortJob<uint64_t> job = round_sort(rounds);

	job.stages = stages;
	return pair_sort_queue(&job, workspace, &rounds->unfinished, stream);
}

DevSortStatus
segment_rounds_finish_sort(SegmentRounds *rounds, const Workspace *workspace, cudaStream_t stream)
{
	PairSortJob<uint64_t> job = round_sort(rounds);

	if (rounds->unfinished == NULL)
		return status_ok();
	rounds->unfinished = NULL;
	return pair_sort_finish(&job, workspace, stream);
}

/* The depth of the rows with this key after the round. */
static __device__ __forceinline__ uint32_t
next_depth(const SegmentRounds &rounds, uint64_t key)
{
	uint64_t segment = rounds.piece_bits < 64 ? key >> rounds.piece_bits : 0;

	uint32_t taken = (uint32_t) key & rounds.taken_mask;

	return rounds.depths[segment] + (taken < rounds.taken_mask ? taken : 0);
}

/*
 * Writes a tile's bits and their numbers.  Lanes below ROUND_ITEMS have a word each, of the rows from first +
 * 32 * lane on.  All threads call it.
 */
static __device__ __forceinline__ void
block_note_tile(const SegmentRounds &rounds, uint64_t first, uint32_t unsettled, uint32_t heads)
{
	__shared__ uint32_t sums[WARP_SIZE + 1];
	int lane = threadIdx.x % WARP_SIZE;
	uint32_t total;

	if (lane < ROUND_ITEMS)
	{
		rounds.unsettled[first / 32 + lane] = unsettled;
		rounds.heads[first / 32 + lane] = heads;
	}

	/* Both counts of a tile fit into 16 bits. */
	block_exclusive_sum((uint32_t) __popc(unsettled) << 16 | (uint32_t) __popc(heads), sums, &total);
	if (threadIdx.x == 0)
	{
		rounds.tiles[blockIdx.x] = make_uint2(total >> 16, total & 0xFFFF);
		if (total != 0)
			atomicAdd(rounds.total, (unsigned long long) (total >> 16) << 32 | (total & 0xFFFF));
	}
}

/*
 * Marks unsettled rows and heads of segments, and counts them.  Writes settled rows to their places, unless
 * places is NULL: then they are there already.  Does nothing of all that if the round's sort is not finished.
 */
static __global__ void
__launch_bounds__(ROUND_THREADS)
	mark_kernel(SegmentRounds rounds, const uint64_t *__restrict__ keys, const uint32_t *__restrict__ rows,
				const uint32_t *__restrict__ places, uint32_t *__restrict__ head_depths, SettleRule rule)
{
	int lane = threadIdx.x % WARP_SIZE;
	uint64_t first = blockIdx.x * (uint64_t) ROUND_TILE + threadIdx.x / WARP_SIZE * (ROUND_ITEMS * 32);
	uint32_t my_unsettled = 0;
	uint32_t my_heads = 0;

	if (rounds.unfinished && *rounds.unfinished != 0)
	{
		if (blockIdx.x == 0 && threadIdx.x == 0)
			*rounds.total = ROUND_NOT_SORTED;
		return;
	}
#pragma unroll
	for (int item = 0; item < ROUND_ITEMS; item++)
	{
		uint64_t i = first + item * 32 + lane;
		bool unsettled = false;
		bool head = false;

		if (i < rounds.count)
		{
			uint64_t key = keys[i];
			bool tail = i + 1 == rounds.count || keys[i + 1] != key;

			head = i == 0 || keys[i - 1] != key;
			unsettled = !(head && tail) && (key & rule.mask) >= rule.below;
			if (!unsettled && places)
				rounds.order[places[i]] = rows[i];
			head = head && (unsettled || rounds.keep_settled);
			if (head && rounds.depths)
				head_depths[i] = next_depth(rounds, key);
		}

		uint32_t unsettled_word = __ballot_sync(ALL_LANES, unsettled);
		uint32_t head_word = __ballot_sync(ALL_LANES, head);

		if (lane == item)
		{
			my_unsettled = unsettled_word;
			my_heads = head_word;
		}
	}
	block_note_tile(rounds, first, my_unsettled, my_heads);
}

/* Turns the tiles' counts into the sums of those before.  One block. */
static __global__ void
__launch_bounds__(SCAN_THREADS) scan_tiles_kernel(uint2 *tiles, uint64_t count)
{
	__shared__ uint32_t sums_x[WARP_SIZE + 1];
	__shared__ uint32_t sums_y[WARP_SIZE + 1];
	uint2 before = make_uint2(0, 0);

	for (uint64_t start = 0; start < count; start += SCAN_THREADS * SCAN_ITEMS)
	{
		uint64_t first = start + threadIdx.x * SCAN_ITEMS;
		uint2 tile[SCAN_ITEMS];
		uint2 mine = make_uint2(0, 0);
		uint2 total;

#pragma unroll
		for (int item = 0; item < SCAN_ITEMS; item++)
		{
			tile[item] = first + item < count ? tiles[first + item] : make_uint2(0, 0);
			mine.x += tile[item].x;
			mine.y += tile[item].y;
		}
		mine.x = before.x + block_exclusive_sum(mine.x, sums_x, &total.x);
		mine.y = before.y + block_exclusive_sum(mine.y, sums_y, &total.y);
#pragma unroll
		for (int item = 0; item < SCAN_ITEMS; item++)
		{
			if (first + item < count)
				tiles[first + item] = mine;
			mine.x += tile[item].x;
			mine.y += tile[item].y;
		}
		before.x += total.x;
		before.y += total.y;
		__syncthreads();
	}
}

/* The bits of the 32 rows from `first` on that exist. */
static __device__ __forceinline__ uint32_t
existing_rows(uint64_t first, uint64_t count)
{
	if (first + 32 <= count)
		return ALL_LANES;
	return first < count ? (1u << (count - first)) - 1 : 0;
}

/* Moves the rows that are left together, with their places and the numbers of their new segments. */
static __global__ void
__launch_bounds__(ROUND_THREADS)
	compact_kernel(SegmentRounds rounds, const uint32_t *__restrict__ from_rows,
				   const uint32_t *__restrict__ places, const uint32_t *__restrict__ head_depths,
				   uint32_t *__restrict__ to_rows, uint32_t *__restrict__ to_segments)
{
	__shared__ uint32_t sums[WARP_SIZE + 1];
	int lane = threadIdx.x % WARP_SIZE;
	uint64_t first = blockIdx.x * (uint64_t) ROUND_TILE + threadIdx.x / WARP_SIZE * (ROUND_ITEMS * 32);
	uint2 before = rounds.tiles[blockIdx.x];
	uint32_t my_kept = 0;
	uint32_t my_heads = 0;
	uint32_t my_rank;
	uint32_t total;

	if (rounds.keep_settled)
		before.x = blockIdx.x * ROUND_TILE;
	if (lane < ROUND_ITEMS)
	{
		my_kept = rounds.keep_settled ? existing_rows(first + lane * 32, rounds.count)
									  : rounds.unsettled[first / 32 + lane];
		my_heads = rounds.heads[first / 32 + lane];
	}
	my_rank =
		block_exclusive_sum((uint32_t) __popc(my_kept) << 16 | (uint32_t) __popc(my_heads), sums, &total);
	if (total == 0)
		return;

#pragma unroll
	for (int item = 0; item < ROUND_ITEMS; item++)
	{
		uint32_t kept = __shfl_sync(ALL_LANES, my_kept, item);
		uint32_t heads = __shfl_sync(ALL_LANES, my_heads, item);
		uint32_t rank = __shfl_sync(ALL_LANES, my_rank, item);
		uint32_t lower_lanes = (1u << lane) - 1;
		uint64_t i = first + item * 32 + lane;

		if (kept >> lane & 1)
		{
			uint32_t to = before.x + (rank >> 16) + __popc(kept & lower_lanes);
			bool head = heads >> lane & 1;
			uint32_t segment = before.y + (rank & 0xFFFF) + __popc(heads & lower_lanes) + head - 1;

			to_rows[to] = from_rows[i];
			rounds.next_places[to] = places ? places[i] : (uint32_t) i;
			to_segments[to] = segment;
			if (head && rounds.depths)
				rounds.next_depths[segment] = head_depths[i];
		}
	}
}

/* Marks and counts the rows that are not finished, as mark_kernel does. */
static __global__ void
__launch_bounds__(ROUND_THREADS)
	mark_unfinished_kernel(SegmentRounds rounds, const uint32_t *__restrict__ finished,
						   uint32_t *__restrict__ head_depths)
{
	int lane = threadIdx.x % WARP_SIZE;
	uint64_t first = blockIdx.x * (uint64_t) ROUND_TILE + threadIdx.x / WARP_SIZE * (ROUND_ITEMS * 32);
	uint32_t my_unsettled = 0;
	uint32_t my_heads = 0;

	for (int item = 0; item < ROUND_ITEMS; item++)
	{
		uint64_t i = first + item * 32 + lane;
		bool unsettled = i < rounds.count && !(finished[first / 32 + item] >> lane & 1);
		bool head = false;

		if (unsettled)
		{
			uint32_t segment = rounds.row_segments[i];

			head = i == 0 || rounds.row_segments[i - 1] != segment;
			if (head)
				head_depths[i] = rounds.depths[segment];
		}

		uint32_t unsettled_word = __ballot_sync(ALL_LANES, unsettled);
		uint32_t head_word = __ballot_sync(ALL_LANES, head);

		if (lane == item)
		{
			my_unsettled = unsettled_word;
			my_heads = head_word;
		}
	}
	block_note_tile(rounds, first, my_unsettled, my_heads);
}

/* Reads what was counted: unsettled rows << 32 | heads. */
static DevSortStatus
read_total(const SegmentRounds *rounds, unsigned long long *total, cudaStream_t stream)
{
	ReadBack read;

	RETURN_IF_FAILED(
		read_back_begin(&read, rounds->total, sizeof(*total), "reading the count of unsettled rows", stream));
	return read_back_end(&read, total, sizeof(*total), "sorting and marking settled rows");
}

/*
 * What remains to be done when the tiles are counted, and so many rows and heads: moves what is left of
 * from_rows to to_rows, or nothing if nothing is.
 */
static DevSortStatus
move_rows(SegmentRounds *rounds, unsigned long long total, const uint32_t *from_rows,
		  const uint32_t *from_places, uint32_t *to_rows, uint32_t *to_segments, cudaStream_t stream)
{
	unsigned tiles = (unsigned) tile_count(rounds->count);
	uint64_t unsettled = total >> 32;

	if (unsettled == 0)
	{
		rounds->count = 0;
		return status_ok();
	}
	scan_tiles_kernel<<<1, SCAN_THREADS, 0, stream>>>(rounds->tiles, tiles);
	CHECK_LAUNCH("summing up unsettled rows");
	compact_kernel<<<tiles, ROUND_THREADS, 0, stream>>>(*rounds, from_rows, from_places, head_depths(rounds),
														to_rows, to_segments);
	CHECK_LAUNCH("moving unsettled rows together");
	std::swap(rounds->places, rounds->next_places);
	std::swap(rounds->depths, rounds->next_depths);
	if (!rounds->keep_settled)
		rounds->count = unsettled;
	rounds->segments = total & UINT32_MAX;
	rounds->row_segments = to_segments;
	return status_ok();
}

/* Marks and counts what is settled, and reads the count. */
static DevSortStatus
mark_rows(const SegmentRounds *rounds, SettleRule rule, unsigned long long *total, cudaStream_t stream)
{
	CHECK_CUDA(cudaMemsetAsync(rounds->total, 0, sizeof(*rounds->total), stream),
			   "clearing the count of unsettled rows");
	mark_kernel<<<(unsigned) tile_count(rounds->count), ROUND_THREADS, 0, stream>>>(*rounds,
																					rounds->sorted_keys,
																					sorted_rows(rounds),
																					places(rounds),
																					head_depths(rounds),
																					rule);
	CHECK_LAUNCH("marking settled rows");
	return read_total(rounds, total, stream);
}

DevSortStatus
segment_rounds_settle(SegmentRounds *rounds, SettleRule rule, const Workspace *workspace, cudaStream_t stream)
{
	unsigned long long total = 0;

	RETURN_IF_FAILED(mark_rows(rounds, rule, &total, stream));
	if (total == ROUND_NOT_SORTED)
	{
		RETURN_IF_FAILED(segment_rounds_finish_sort(rounds, workspace, stream));
		RETURN_IF_FAILED(mark_rows(rounds, rule, &total, stream));
	}
	RETURN_IF_FAILED(move_rows(rounds, total, sorted_rows(rounds), places(rounds), rounds->rows,
							   (uint32_t *) rounds->sorted_keys, stream));
	rounds->round++;
	return status_ok();
}

DevSortStatus
segment_rounds_drop(SegmentRounds *rounds, const uint32_t *finished, cudaStream_t stream)
{
	uint32_t *halves = (uint32_t *) rounds->sorted_keys;
	uint32_t *other_half = rounds->row_segments == halves ? halves + rounds->n : halves;
	unsigned long long total = 0;

	CHECK_CUDA(cudaMemsetAsync(rounds->total, 0, sizeof(*rounds->total), stream),
			   "clearing the count of unsettled rows");
	mark_unfinished_kernel<<<(unsigned) tile_count(rounds->count), ROUND_THREADS, 0, stream>>>(*rounds,
																							   finished,
																							   head_depths(
																								   rounds));
	CHECK_LAUNCH("marking what is not finished");
	RETURN_IF_FAILED(read_total(rounds, &total, stream));
	RETURN_IF_FAILED(
		move_rows(rounds, total, rounds->rows, rounds->places, rounds->sorted_rows, other_half, stream));
	std::swap(rounds->rows, rounds->sorted_rows);
	return status_ok();
}
