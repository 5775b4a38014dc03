/*
 * result_windows.h
 *		Where the result of a job is cut into windows, each of which fits a chunk.
 *
 * The cuts are found once, when the rows' places are known, so that a window is found later without asking
 * the device.
 */
#ifndef GPUSORTD_RESULT_WINDOWS_H
#define GPUSORTD_RESULT_WINDOWS_H

#include <vector>

#include "base/status.h"

/* A row that a window begins with, and where it begins in the result. */
struct WindowStart
{
	uint64_t row;
	uint64_t place;
};

/* Returns the workspace for finding the windows of row_bytes bytes of rows. */
uint64_t windows_memory(uint64_t row_bytes, uint64_t window_bytes);

/*
 * Finds all windows of n rows, n > 0, whose places are n + 1 ascending numbers; the last of *starts is the
 * end.  Every row fits a window.  Waits for the stream.
 */
DevSortStatus windows_find(const uint64_t *places, uint64_t n, uint64_t row_bytes, uint64_t window_bytes,
						   void *workspace, cudaStream_t stream, std::vector<WindowStart> *starts);

#endif /* GPUSORTD_RESULT_WINDOWS_H */
