/*
 * device_scan.cu
 *		CUB's scan, compiled once.
 */
#include <cub/device/device_scan.cuh>

#include "primitives/device_scan.h"

/* An upper bound of what CUB asks for over the architectures: it must be known without a device. */
void
exclusive_sum_measure(Workspace *workspace, uint64_t n)
{
	workspace_take<char>(workspace, n / 8 + 65536);
}

DevSortStatus
exclusive_sum(const uint32_t *numbers, uint32_t *sums, uint64_t n, const Workspace *workspace,
			  cudaStream_t stream)
{
	Workspace mine = *workspace;
	Workspace measured = workspace_measure();
	size_t bytes = 0;
	char *storage;

	exclusive_sum_measure(&measured, n);
	storage = workspace_take<char>(&mine, measured.used);
	CHECK_CUDA(cub::DeviceScan::ExclusiveSum(NULL, bytes, numbers, sums, (uint32_t) n, stream),
			   "asking CUB for its memory");
	if (bytes > measured.used)
		return status_make(DEVSORT_DEVICE_FAILED,
						   "CUB's scan wants %zu bytes of workspace, more than the %zu expected", bytes,
						   measured.used);
	CHECK_CUDA(cub::DeviceScan::ExclusiveSum(storage, bytes, numbers, sums, (uint32_t) n, stream),
			   "adding up");
	return status_ok();
}
