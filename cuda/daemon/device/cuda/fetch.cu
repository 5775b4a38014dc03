/*
 * fetch.cu
 *		Returning rows of a job on a GPU, window by window.
 *
 * The windows are known; one that a client asks for from the middle on, or up to the middle, is a part of one
 * of them.  Rows are gathered in order in a lane's memory, and copied to the client's chunk from there.
 * Fetches take turns on DEVICE_FETCHES lanes, so one is gathered while another is being copied; those of one
 * lane follow each other in its stream, whoever asked for them.
 */
#include <algorithm>

#include "daemon/device/cuda/job.h"

/* Where a row of the result begins.  Waits for the device, unless the row is the first of a window. */
DevSortStatus
CudaJob::find_place(uint64_t row, uint64_t *place)
{
	auto start =
		std::lower_bound(windows.begin(), windows.end(), row,
						 [](const WindowStart &window, uint64_t wanted) { return window.row < wanted; });
	LaneAnswer *answer = arena->lanes[0].answer;

	if (start != windows.end() && start->row == row)
	{
		*place = start->place;
		return status_ok();
	}
	CHECK_CUDA(cudaMemcpyAsync(&answer->place, arena->places.as<uint64_t>() + row, sizeof(uint64_t),
							   cudaMemcpyDeviceToHost, arena->stream),
			   "reading where a row begins");
	CHECK_CUDA(cudaStreamSynchronize(arena->stream), "reading where a row begins");
	*place = answer->place;
	return status_ok();
}

/*
 * The rest of the window that has the row at `position`; or the part of the one that has the row before it,
 * up to there.
 */
DevSortStatus
CudaJob::find_window(uint64_t position, bool backward, Window *window)
{
	uint64_t inside = backward ? position - 1 : position;
	auto next =
		std::upper_bound(windows.begin(), windows.end(), inside,
						 [](uint64_t wanted, const WindowStart &start) { return wanted < start.row; });
	uint64_t first = backward ? (next - 1)->row : position;
	uint64_t end = backward ? position : next->row;
	uint64_t first_place;
	uint64_t end_place;

	RETURN_IF_FAILED(find_place(first, &first_place));
	RETURN_IF_FAILED(find_place(end, &end_place));
	*window = {first, end - first, end_place - first_place, 0};
	return status_ok();
}

DevSortStatus
CudaJob::copy_out(Lane *lane, const Window &window, uint8_t *target)
{
	DevSortRowsJob job = rows_job();

	RETURN_IF_FAILED(
		devsort_rows_gather(&job, window.first, window.rows, lane->chunk.as<uint8_t>(), lane->stream));
	CHECK_CUDA(cudaMemcpyAsync(target, lane->chunk.as<uint8_t>(), window.bytes, cudaMemcpyDeviceToHost,
							   lane->stream),
			   "copying rows from the device");
	return status_ok();
}

Outcome
CudaJob::start_fetch(uint64_t position, bool backward, uint8_t *target, Window *window)
{
	std::lock_guard<std::mutex> lock(fetching);
	DevSortStatus status;

	*window = {position, 0, 0, 0};
	if (position == (backward ? 0 : taken.rows))
		return {};
	status = status_from_cuda(cudaSetDevice(arena->device), "choosing the device");
	if (status.code == DEVSORT_OK)
		status = find_window(position, backward, window);
	if (status.code == DEVSORT_OK)
	{
		window->ticket = fetches_started++;
		status = copy_out(&arena->lanes[window->ticket % DEVICE_FETCHES], *window, target);
	}
	return finish(status);
}

Outcome
CudaJob::finish_fetch(uint64_t ticket)
{
	return finish(wait(&arena->lanes[ticket % DEVICE_FETCHES]));
}
