/*
 * card.cu
 *		Leaf pages by a warp each, and rows by the library's gather.
 *
 * A warp fills a page in shared memory, each of its threads one tuple of 32; then each sums up one of the
 * checksum's 32 columns; and the page leaves in whole lines.
 */
#include <algorithm>

#include "base/launch.cuh"
#include "leaf_pages/card.h"

#define WARP 32
#define LEAF_WARPS 4
#define ALL_THREADS UINT32_C(0xFFFFFFFF)

/* ---- pages ---- */

static __device__ void
warp_set_checksum(Page *page, uint32_t block, int lane)
{
	uint32_t sums = checksum_column(page, lane);

	for (int distance = WARP / 2; distance > 0; distance /= 2)
		sums ^= __shfl_xor_sync(ALL_THREADS, sums, distance);
	if (lane == 0)
		page->halves[HEADER_CHECKSUM] = checksum_finish(sums, block);
	__syncwarp();
}

static __device__ void
warp_store_page(const Page *page, Page *out, int lane)
{
	const uint4 *from = (const uint4 *) page;
	uint4 *to = (uint4 *) out;

	for (int i = lane; i < PAGE_BYTES / (int) sizeof(uint4); i += WARP)
		to[i] = from[i];
}

template <int COLUMNS>
static __global__ void
__launch_bounds__(LEAF_WARPS *WARP) fill_leaves_kernel(LeafRows rows, CardWindow window, uint64_t all_leaves,
													   int capacity, bool with_checksums, Page *pages)
{
	__shared__ __align__(16) Page shared[LEAF_WARPS];
	int lane = (int) threadIdx.x % WARP;
	uint64_t i = (uint64_t) blockIdx.x * LEAF_WARPS + threadIdx.x / WARP;
	Page *page = &shared[threadIdx.x / WARP];

	if (i >= window.leaves)
		return;

	uint64_t leaf = window.first_leaf + i;

	rows.columns = COLUMNS;
	leaf_fill(page, rows, leaf_of_index(leaf, all_leaves, rows.n, capacity), lane, WARP);
	__syncwarp();
	if (with_checksums)
		warp_set_checksum(page, (uint32_t) leaf + 1, lane);
	warp_store_page(page, pages + i, lane);
}

static DevSortStatus
fill_leaves(const Card *card, const CardWindow &window, Page *pages, cudaStream_t stream)
{
	int capacity = leaf_capacity(card->rows.columns);
	auto *kernel = card->rows.columns == 1 ? fill_leaves_kernel<1> : fill_leaves_kernel<2>;

	return launch("filling leaves", kernel, (unsigned int) ((window.leaves + LEAF_WARPS - 1) / LEAF_WARPS),
				  LEAF_WARPS * WARP, stream, card->rows, window, leaf_count(card->rows.n, capacity), capacity,
				  card->with_checksums, pages);
}

/* ---- windows ---- */

CardWindow
card_window(const LeafRows &rows, uint64_t first_leaf, uint64_t leaves)
{
	int capacity = leaf_capacity(rows.columns);
	CardWindow window;

	window.first_leaf = first_leaf;
	window.leaves = std::min(leaves, leaf_count(rows.n, capacity) - first_leaf);
	window.first_row = first_leaf * capacity;
	/* The host turns a leaf when it sees the row behind the first one of the next. */
	window.rows = std::min(window.leaves * capacity + 2, rows.n - window.first_row);
	return window;
}

static size_t
window_bytes(const Card *card, Way way, const CardWindow &window)
{
	return way == WAY_PAGES ? window.leaves * sizeof(Page) : window.rows * row_longs(card->rows.columns) * 8;
}

DevSortStatus
card_make(Card *card, Way way, const CardLane &lane, const CardWindow &window)
{
	if (way == WAY_PAGES)
		return fill_leaves(card, window, (Page *) lane.device, lane.stream);
	return devsort_rows_gather(&card->job, window.first_row, window.rows, (uint8_t *) lane.device,
							   lane.stream);
}

DevSortStatus
card_fetch(Card *card, Way way, const CardLane &lane, const CardWindow &window)
{
	RETURN_IF_FAILED(card_make(card, way, lane, window));
	CHECK_CUDA(cudaMemcpyAsync(lane.host, lane.device, window_bytes(card, way, window),
							   cudaMemcpyDeviceToHost, lane.stream),
			   "copying a window to the host");
	CHECK_CUDA(cudaEventRecord(lane.fetched, lane.stream), "recording an event");
	return status_ok();
}

DevSortStatus
card_wait(const CardLane &lane)
{
	CHECK_CUDA(cudaEventSynchronize(lane.fetched), "waiting for a window");
	return status_ok();
}

static DevSortStatus
make_all(Card *card, Way way, const CardLane &lane)
{
	uint64_t leaves = leaf_count(card->rows.n, leaf_capacity(card->rows.columns));

	for (uint64_t first = 0; first < leaves; first += card->window_leaves)
		RETURN_IF_FAILED(card_make(card, way, lane, card_window(card->rows, first, card->window_leaves)));
	return status_ok();
}

DevSortStatus
card_time(Card *card, Way way, double *ms)
{
	const CardLane &lane = card->lanes[0];
	cudaEvent_t begin;
	cudaEvent_t end;
	float elapsed = 0;

	CHECK_CUDA(cudaEventCreate(&begin), "creating an event");
	CHECK_CUDA(cudaEventCreate(&end), "creating an event");
	CHECK_CUDA(cudaEventRecord(begin, lane.stream), "recording an event");
	RETURN_IF_FAILED(make_all(card, way, lane));
	CHECK_CUDA(cudaEventRecord(end, lane.stream), "recording an event");
	CHECK_CUDA(cudaEventSynchronize(end), "making windows");
	CHECK_CUDA(cudaEventElapsedTime(&elapsed, begin, end), "timing a window");
	*ms = elapsed;
	cudaEventDestroy(begin);
	cudaEventDestroy(end);
	return status_ok();
}

/* ---- memory ---- */

static DevSortStatus
take_memory(Card *card, size_t bytes, void **memory)
{
	CHECK_CUDA_MEMORY(cudaMalloc(memory, bytes), "taking the card's memory");
	card->allocations.push_back(*memory);
	return status_ok();
}

static DevSortStatus
copy_to_card(Card *card, const void *from, size_t bytes, const void **memory)
{
	void *copy;

	RETURN_IF_FAILED(take_memory(card, bytes, &copy));
	CHECK_CUDA(cudaMemcpy(copy, from, bytes, cudaMemcpyHostToDevice), "copying to the card");
	*memory = copy;
	return status_ok();
}

static DevSortStatus
copy_rows(Card *card, const LeafRows &rows)
{
	size_t row_bytes = 8 * row_longs(rows.columns);
	std::vector<uint64_t> offsets(rows.n + 1);

	card->rows = rows;
	for (uint64_t i = 0; i <= rows.n; i++)
		offsets[i] = i * row_bytes;
	RETURN_IF_FAILED(copy_to_card(card, rows.longs, rows.n * row_bytes, (const void **) &card->rows.longs));
	RETURN_IF_FAILED(
		copy_to_card(card, rows.order, rows.n * sizeof(uint32_t), (const void **) &card->rows.order));
	card->job.n = rows.n;
	card->job.rows = (const uint8_t *) card->rows.longs;
	card->job.order = card->rows.order;
	return copy_to_card(card, offsets.data(), (rows.n + 1) * sizeof(uint64_t),
						(const void **) &card->job.offsets);
}

static DevSortStatus
plan_gather(Card *card)
{
	size_t bytes;
	void *workspace;

	RETURN_IF_FAILED(
		take_memory(card, (card->rows.n + 1) * sizeof(uint64_t), (void **) &card->job.sorted_offsets));
	RETURN_IF_FAILED(devsort_rows_memory(&card->job, &bytes));
	RETURN_IF_FAILED(take_memory(card, bytes, &workspace));
	return devsort_rows_plan(&card->job, workspace, bytes, NULL);
}

static DevSortStatus
add_lane(Card *card, size_t bytes)
{
	CardLane lane = {};

	RETURN_IF_FAILED(take_memory(card, bytes, &lane.device));
	card->lanes.push_back(lane);
	CHECK_CUDA(cudaStreamCreateWithFlags(&card->lanes.back().stream, cudaStreamNonBlocking),
			   "creating a stream");
	/* Threads that wait leave the processors to those that fill and write. */
	CHECK_CUDA(cudaEventCreateWithFlags(&card->lanes.back().fetched,
										cudaEventBlockingSync | cudaEventDisableTiming),
			   "creating an event");
	CHECK_CUDA_MEMORY(cudaMallocHost(&card->lanes.back().host, bytes), "taking pinned memory");
	return status_ok();
}

DevSortStatus
card_open(Card *card, const LeafRows &rows, int lanes, uint64_t window_leaves, bool with_checksums)
{
	CardWindow window = card_window(rows, 0, window_leaves);

	RETURN_IF_FAILED(devsort_device_describe(0, &card->device));
	card->window_leaves = window_leaves;
	card->with_checksums = with_checksums;
	RETURN_IF_FAILED(copy_rows(card, rows));
	RETURN_IF_FAILED(plan_gather(card));
	for (int i = 0; i < lanes; i++)
		RETURN_IF_FAILED(add_lane(card, std::max(window_bytes(card, WAY_ROWS, window),
												 window_bytes(card, WAY_PAGES, window))));
	CHECK_CUDA(cudaDeviceSynchronize(), "preparing the card");
	return status_ok();
}

void
card_close(Card *card)
{
	for (const CardLane &lane : card->lanes)
	{
		if (lane.host)
			cudaFreeHost(lane.host);
		if (lane.fetched)
			cudaEventDestroy(lane.fetched);
		if (lane.stream)
			cudaStreamDestroy(lane.stream);
	}
	for (void *memory : card->allocations)
		cudaFree(memory);
	*card = {};
}
