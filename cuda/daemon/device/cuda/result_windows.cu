/*
 * result_windows.cu
 *		Cutting the result of a job into windows.
 *
 * A window begins where the one before it ends, and has as many rows as fit.  To find them from the first to
 * the last would take a search a window, each of them waiting for the one before it.  So the result is
 * divided into zones of ZONE_WINDOWS windows' bytes first; a thread a zone goes through the rows that begin
 * in it.  Only the last window of a zone is shorter than it could be.
 *
 * Two neighbouring windows of a zone have more than a window's bytes together, or they would be one; a zone's
 * windows reach into the next zone by at most a row.  So a zone has at most ZONE_SLOTS windows.
 */
#include "base/launch.cuh"
#include "daemon/device/cuda/result_windows.h"

#define ZONE_WINDOWS 16
#define ZONE_SLOTS (2 * (ZONE_WINDOWS + 2))
#define ZONE_THREADS 32

struct Zone
{
	uint64_t windows;
	WindowStart start[ZONE_SLOTS];
};

static uint64_t
zone_count(uint64_t row_bytes, uint64_t window_bytes)
{
	return row_bytes / (window_bytes * ZONE_WINDOWS) + 1;
}

uint64_t
windows_memory(uint64_t row_bytes, uint64_t window_bytes)
{
	return zone_count(row_bytes, window_bytes) * sizeof(Zone);
}

/* The first of rows low .. high - 1 that begins at `place` or later; high: none. */
static __device__ uint64_t
find_row(const uint64_t *places, uint64_t low, uint64_t high, uint64_t place)
{
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (places[middle] >= place)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static __global__ void
__launch_bounds__(ZONE_THREADS)
	find_windows_kernel(const uint64_t *places, uint64_t n, uint64_t window_bytes, uint64_t zones, Zone *out)
{
	uint64_t zone = blockIdx.x * (uint64_t) ZONE_THREADS + threadIdx.x;
	uint64_t zone_bytes = window_bytes * ZONE_WINDOWS;
	uint64_t windows = 0;

	if (zone >= zones)
		return;

	uint64_t row = find_row(places, 0, n, zone * zone_bytes);
	uint64_t end = find_row(places, row, n, (zone + 1) * zone_bytes);

	while (row < end && windows < ZONE_SLOTS)
	{
		uint64_t place = places[row];

		out[zone].start[windows++] = WindowStart{row, place};
		/* The last row that begins or ends within the window's bytes. */
		row = find_row(places, row + 1, end + 1, place + window_bytes + 1) - 1;
	}
	out[zone].windows = windows;
}

/*
 * Each window has rows, in order, and no more bytes than it may; whatever went wrong, nobody writes behind a
 * chunk.
 */
static bool
windows_are_sound(const std::vector<WindowStart> &starts, uint64_t n, uint64_t row_bytes,
				  uint64_t window_bytes)
{
	for (size_t i = 0; i + 1 < starts.size(); i++)
	{
		if (starts[i + 1].row <= starts[i].row || starts[i + 1].place <= starts[i].place ||
			starts[i + 1].place - starts[i].place > window_bytes)
			return false;
	}
	return starts.size() > 1 && starts[0].row == 0 && starts[0].place == 0 && starts.back().row == n &&
		   starts.back().place == row_bytes;
}

DevSortStatus
windows_find(const uint64_t *places, uint64_t n, uint64_t row_bytes, uint64_t window_bytes, void *workspace,
			 cudaStream_t stream, std::vector<WindowStart> *starts)
{
	uint64_t zones = zone_count(row_bytes, window_bytes);
	std::vector<Zone> found(zones);

	RETURN_IF_FAILED(launch("cutting the result into windows", find_windows_kernel,
							(unsigned int) ((zones + ZONE_THREADS - 1) / ZONE_THREADS), ZONE_THREADS, stream,
							places, n, window_bytes, zones, (Zone *) workspace));
	CHECK_CUDA(cudaMemcpyAsync(found.data(), workspace, zones * sizeof(Zone), cudaMemcpyDeviceToHost, stream),
			   "reading where windows begin");
	CHECK_CUDA(cudaStreamSynchronize(stream), "cutting the result into windows");
	starts->clear();
	for (const Zone &zone : found)
		starts->insert(starts->end(), zone.start,
					   zone.start + (zone.windows < ZONE_SLOTS ? zone.windows : ZONE_SLOTS));
	starts->push_back({n, row_bytes});
	if (!windows_are_sound(*starts, n, row_bytes, window_bytes))
		return status_make(DEVSORT_DEVICE_FAILED, "the result of %llu rows could not be cut into windows",
						   (unsigned long long) n);
	return status_ok();
}
